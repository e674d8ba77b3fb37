// Builds examples of whole bodies from the examples of their fields.

/** The parts of JSON Schema that the OpenAPI document uses. */
export interface JsonSchema
  extends
    Readonly<Partial<Record<"$ref" | "description" | "format" | "pattern", string>>>,
    Readonly<Partial<Record<"minimum" | "maximum" | "minItems" | "maxItems" | "maxProperties", number>>>,
    Readonly<Partial<Record<"minLength" | "maxLength", number>>>,
    Readonly<Partial<Record<"allOf" | "anyOf" | "oneOf", readonly JsonSchema[]>>> {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly example?: unknown;
  readonly examples?: readonly unknown[];
  readonly properties?: JsonSchemas;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly propertyNames?: JsonSchema;
}

export type JsonSchemas = Readonly<Record<string, JsonSchema>>;

export function resolved(schema: JsonSchema, schemas: JsonSchemas): JsonSchema {
  if (schema.$ref === undefined) return schema;
  const found = schemas[schema.$ref.slice("#/components/schemas/".length)];
  if (found === undefined) throw new Error(`${schema.$ref} is not in the document`);
  return resolved(found, schemas);
}

export function exampleOf(given: JsonSchema, schemas: JsonSchemas): unknown {
  const schema = resolved(given, schemas);
  const fixed = [schema.example, schema.examples?.[0], schema.const, schema.enum?.[0], schema.default]
    .find((value) => value !== undefined);
  if (fixed !== undefined) return fixed;
  if (schema.allOf !== undefined) {
    return Object.assign({}, ...schema.allOf.map((part) => exampleOf(part, schemas)));
  }
  const choice = (schema.anyOf ?? schema.oneOf)?.find((one) => one.type !== "null");
  if (choice !== undefined) return exampleOf(choice, schemas);
  const types = [schema.type ?? []].flat();
  const type = types.find((one) => one !== "null");
  // Most nullable fields are usually null, such as when a key was revoked.
  if (types.length > 1 && type !== "object") return null;
  if (type === "object") return objectExample(schema, schemas);
  if (type === "array") return schema.items === undefined ? [] : [exampleOf(schema.items, schemas)];
  if (type === "boolean") return true;
  if (type === "integer" || type === "number") return schema.minimum ?? 1;
  return type === "string" ? stringExample(schema) : null;
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
