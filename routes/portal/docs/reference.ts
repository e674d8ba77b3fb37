// The API reference, generated from the OpenAPI document: a page for each operation, each group of them, and every error.
import { type ErrorCode, errorStatuses } from "../../../domain/errors.ts";
import type {
  DocsBody,
  DocsErrors,
  DocsEvent,
  DocsField,
  DocsGroup,
  DocsOperation,
} from "../../../views/docs/reference.tsx";
import { securitySchemeNames } from "../../api/openapi/components.ts";
import { errorMeanings } from "../../api/openapi/error_meanings.ts";
import { errorCodesOf } from "../../api/openapi/error_responses.ts";
import { type JsonSchema, type JsonSchemas, resolved } from "../../api/openapi/examples.ts";
import type { Content, OpenApiDocument, Operation } from "../../api/openapi/openapi.ts";
import { codeSamples, type OperationContext } from "./code_samples.ts";

export function referenceGroups(document: OpenApiDocument): DocsGroup[] {
  const { schemas } = document.components;
  const origin = document.servers[0]?.url ?? "";
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation }))
  );
  return document.tags.map(({ name, description }) => ({
    path: `/docs/reference/${name.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`,
    name,
    description,
    operations: operations.filter(({ operation }) => operation.tags[0] === name).map((
      { method, path, operation },
    ) => ({
      id: operation.operationId,
      method: method.toUpperCase(),
      path,
      summary: operation.summary,
      read: () => operationDocs(operation, { method, path, origin, schemas }),
    })),
  })).filter(({ operations }) => operations.length > 0);
}

export function referenceErrors({ components: { schemas } }: OpenApiDocument): DocsErrors {
  return {
    fields: fieldsOf({ $ref: "#/components/schemas/Error" }, { schemas, path: "" }),
    codes: Object.entries(errorMeanings).map(([code, meaning]) => ({
      code,
      status: errorStatuses[code as ErrorCode],
      meaning,
    })),
  };
}

/** Returns what endpoints get, by type of event. */
export function referenceEvents({ webhooks, components: { schemas } }: OpenApiDocument): DocsEvent[] {
  return Object.entries(webhooks).flatMap(([type, { post: { summary, description, requestBody } }]) =>
    Object.entries(requestBody?.content ?? {}).map((body) => ({
      type,
      meaning: [summary, ...description === undefined ? [] : [description]],
      body: bodyDocs(body, schemas),
    }))
  );
}

/** Headers of CloudEvents in binary mode, which callers that send JSON don't need. */
const otherHeader = /^ce-/;

function operationDocs(operation: Operation, context: OperationContext): DocsOperation {
  const { schemas } = context;
  const isPublic = operation.security.some((one) => Object.keys(one).length === 0);
  const optional = (field: DocsField) => ({ ...field, isRequired: false });
  const bodies = Object.entries(operation.requestBody?.content ?? {}).map((body) => bodyDocs(body, schemas));
  const parameters = (operation.parameters ?? []).map((
    { name, in: location, required, description, schema },
  ) => ({
    name,
    type: `in the ${location}, ${typeWords(schema, schemas)}`,
    isRequired: required ?? false,
    description: description ?? null,
  }));
  const description = operation.description?.split("\n\n") ?? [];
  // After the first paragraph, the description of an operation with several formats is about the others.
  const own = bodies.length > 1 ? description.slice(0, 1) : description;
  return {
    description: own,
    schemes: isPublic
      ? []
      : operation.security.flatMap(Object.keys).map((name) => securitySchemeNames[name] ?? name),
    parameters: parameters.filter(({ name }) => !otherHeader.test(name)),
    body: bodies[0] ?? null,
    isBodyRequired: operation.requestBody?.required ?? false,
    others: bodies.length <= 1 ? null : {
      description: description.slice(1),
      parameters: parameters.filter(({ name }) => otherHeader.test(name)),
      bodies: bodies.slice(1),
    },
    responses: Object.entries(operation.responses).filter(([, { $ref }]) => $ref === undefined)
      .map(([status, { description, headers = {}, content = {} }]) => {
        const [body] = Object.entries(content).map((body) => bodyDocs(body, schemas));
        return {
          status: Number(status),
          description,
          // Headers of many responses are references, which are left out.
          headers: Object.entries(headers).flatMap(([name, { schema, description = null }]) =>
            schema === undefined
              ? []
              : [{ name, type: typeWords(schema, schemas), isRequired: false, description }]
          ),
          body: body === undefined ? null : { ...body, fields: body.fields.map(optional) },
        };
      }).toSorted((a, b) => Number(b.status === 201) - Number(a.status === 201)),
    errors: Object.values(operation.responses)
      .flatMap(({ $ref }) => $ref === undefined ? [] : errorCodesOf($ref))
      .map((code) => ({ code, status: errorStatuses[code] })),
    samples: codeSamples(operation, context),
  };
}

function bodyDocs([type, { schema, example }]: [string, Content], schemas: JsonSchemas): DocsBody {
  if (schema === undefined || !/json/.test(type)) return { type, fields: [], example: null };
  return {
    type,
    fields: fieldsOf(schema, { schemas, path: "" }),
    example: example === undefined ? null : JSON.stringify(example, null, 2),
  };
}

function fieldsOf(given: JsonSchema, { schemas, path }: { schemas: JsonSchemas; path: string }): DocsField[] {
  const schema = resolved(given, schemas);
  if (schema.items !== undefined) return fieldsOf(schema.items, { schemas, path: `${path}[]` });
  if (schema.properties === undefined) {
    const fields = [...schema.allOf ?? [], ...schema.anyOf ?? [], ...schema.oneOf ?? []]
      .flatMap((part) => fieldsOf(part, { schemas, path }));
    return [...Map.groupBy(fields, ({ name }) => name).values()].map(([field]) => field!);
  }
  return Object.entries(schema.properties).flatMap(([key, property]) => {
    const name = path === "" ? key : `${path}.${key}`;
    return [{
      name,
      type: typeWords(property, schemas),
      isRequired: schema.required?.includes(key) ?? false,
      description: property.description ?? resolved(property, schemas).description ?? null,
    }, ...fieldsOf(property, { schemas, path: name })];
  });
}

/** Describes a type: “string, 1 to 100 characters, or null”. */
function typeWords(given: JsonSchema, schemas: JsonSchemas): string {
  const schema = resolved(given, schemas);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) {
    const words = choices.filter(({ type }) => type !== "null").map((one) => typeWords(one, schemas));
    const isNullable = words.length < choices.length;
    return [...new Set(words)].join(" or ") + (isNullable ? ", or null" : "");
  }
  const types = [schema.type ?? "object"].flat();
  const names = types.filter((type) => type !== "null").map((type) =>
    schema.format === "date-time" ? "time" : schema.format ?? (type === "array" ? "list" : type)
  );
  const values = schema.enum?.filter((one) => one !== null) ?? [];
  const limits = limitWords(schema);
  return [
    values.length > 0 && values.length <= 6
      ? `one of ${values.join(", ")}`
      : String(schema.const ?? names.join(" or ")),
    ...(limits === null ? [] : [limits]),
    ...(schema.default === undefined ? [] : [`default ${String(schema.default)}`]),
    ...(types.includes("null") && types.length > 1 ? ["or null"] : []),
  ].join(", ");
}

function limitWords(schema: JsonSchema): string | null {
  const { minLength, maxLength, minimum, maximum, minItems, maxItems, maxProperties } = schema;
  const range = (min: number | undefined, max: number) =>
    min === undefined ? `up to ${max}` : `${min} to ${max}`;
  if (maxProperties !== undefined) return `up to ${maxProperties} fields`;
  if (maxLength !== undefined) return `${range(minLength, maxLength)} characters`;
  if (maxItems !== undefined) return `${range(minItems, maxItems)} items`;
  return maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER ? null : range(minimum, maximum);
}
