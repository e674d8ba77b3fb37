// Builds examples of whole bodies from the examples of their fields.

/** The parts of JSON Schema that the OpenAPI document uses. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly example?: unknown;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly allOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly propertyNames?: JsonSchema;
}

/** The schemas of the document, by name. */
export type JsonSchemas = Readonly<Record<string, JsonSchema>>;

/** Follows references. */
export function resolved(schema: JsonSchema, schemas: JsonSchemas): JsonSchema {
  if (schema.$ref === undefined) return schema;
  const found = schemas[schema.$ref.slice("#/components/schemas/".length)];
  if (found === undefined) throw new Error(`${schema.$ref} is not in the document`);
  return resolved(found, schemas);
}

/** @returns The example of a schema, or one built from its parts. */
export function exampleOf(given: JsonSchema, schemas: JsonSchemas): unknown {
  const schema = resolved(given, schemas);
  if (schema.example !== undefined) return schema.example;
  if (schema.examples !== undefined) return schema.examples[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.default !== undefined) return schema.default;
  if (schema.allOf !== undefined) {
    return Object.assign({}, ...schema.allOf.map((part) => exampleOf(part, schemas)));
  }
  const choice = (schema.anyOf ?? schema.oneOf)?.find((one) => one.type !== "null");
  if (choice !== undefined) return exampleOf(choice, schemas);
  const types = typeof schema.type === "string" ? [schema.type] : schema.type ?? [];
  const type = types.find((one) => one !== "null");
  // Most nullable fields are usually null, such as when a key was revoked.
  if (types.length > 1 && type !== "object") return null;
  switch (type) {
    case "object":
      return objectExample(schema, schemas);
    case "array":
      return schema.items === undefined ? [] : [exampleOf(schema.items, schemas)];
    case "boolean":
      return true;
    case "integer":
    case "number":
      return schema.minimum ?? 1;
    case "string":
      return stringExample(schema);
    default:
      return null;
  }
}

function objectExample(schema: JsonSchema, schemas: JsonSchemas): Record<string, unknown> {
  // Optional fields are left out, unless they have an example.
  const included = Object.entries(schema.properties ?? {}).filter(([name, property]) =>
    schema.required?.includes(name) || resolved(property, schemas).example !== undefined
  );
  return Object.fromEntries(included.map(([name, property]) => [name, exampleOf(property, schemas)]));
}

function stringExample({ format }: JsonSchema): string {
  if (format === "date-time") return "2026-11-21T14:03:11.250Z";
  return format === "email" ? "ada@example.com" : "text";
}
