// What the page of the API shows, worked out of the OpenAPI document: every operation with its fields as lines, its errors,
// and a command to try it.
import { type ErrorCode, errorStatuses } from "../../../domain/errors.ts";
import type {
  DocsBody,
  DocsContent,
  DocsError,
  DocsField,
  DocsOperation,
} from "../../../views/docs/docs_operation.tsx";
import { sessionCookieName } from "../../cookies.ts";
import { errorMeanings } from "../../api/openapi/error_meanings.ts";
import { errorCodesOf } from "../../api/openapi/error_responses.ts";
import { exampleOf, type JsonSchema, type JsonSchemas, resolved } from "../../api/openapi/examples.ts";
import {
  type Content,
  introduction,
  type OpenApiDocument,
  type Operation,
} from "../../api/openapi/openapi.ts";

/** @returns The content of the page, all of it from the document. */
export function docsContent(document: OpenApiDocument): DocsContent {
  const origin = document.servers[0]?.url ?? "";
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      tag: operation.tags[0],
      shown: shownOperation(operation, { method, path, origin, schemas: document.components.schemas }),
    }))
  );
  return {
    introduction,
    version: document.info.version,
    groups: document.tags.map(({ name, description }) => ({
      id: `group-${name.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`,
      name,
      description,
      operations: operations.filter(({ tag }) => tag === name).map(({ shown }) => shown),
    })).filter(({ operations }) => operations.length > 0),
    errors: Object.entries(errorMeanings).map(([code, { when }]) => ({
      code,
      status: errorStatuses[code as ErrorCode],
      when,
    })),
    error: errorBody(document.components.schemas),
    ways: Object.entries(document.components.securitySchemes).map(([name, { description }]) => ({
      name: wayNames[name] ?? name,
      description,
    })),
  };
}

function errorBody(schemas: JsonSchemas): DocsBody {
  const schema = { $ref: "#/components/schemas/Error" };
  return shownBody(["application/json", { schema, example: exampleOf(schema, schemas) }], schemas);
}

const wayNames: Readonly<Record<string, string>> = {
  session: "Session",
  apiKey: "API key",
  metricsToken: "Metrics token",
};

interface Place {
  readonly method: string;
  readonly path: string;
  readonly origin: string;
  readonly schemas: JsonSchemas;
}

function shownOperation(operation: Operation, place: Place): DocsOperation {
  const { schemas } = place;
  const isForEverybody = operation.security.some((one) => Object.keys(one).length === 0);
  const answers = Object.entries(operation.responses).filter(([, { $ref }]) => $ref === undefined);
  return {
    id: operation.operationId,
    method: place.method.toUpperCase(),
    path: place.path,
    summary: operation.summary,
    description: operation.description ?? null,
    who: isForEverybody ? [] : operation.security.flatMap(Object.keys).map((name) => wayNames[name] ?? name),
    parameters: (operation.parameters ?? []).map((parameter) => ({
      ...shownField(parameter.name, parameter.schema, { schemas, isRequired: parameter.required ?? false }),
      description: parameter.description ?? null,
      place: parameter.in,
    })),
    bodies: Object.entries(operation.requestBody?.content ?? {}).map((body) => shownBody(body, schemas)),
    isBodyRequired: operation.requestBody?.required ?? false,
    answers: answers.map(([status, { description, headers, content }]) => ({
      status: Number(status),
      description,
      headers: Object.entries(headers ?? {}).flatMap(([name, header]) =>
        // References are to those of many answers.
        header.schema === undefined ? [] : [{
          ...shownField(name, header.schema, { schemas, isRequired: false }),
          description: header.description ?? null,
        }]
      ),
      body: Object.entries(content ?? {}).map((body) => shownBody(body, schemas))[0] ?? null,
    })),
    errors: errorsOf(operation),
    curl: curlOf(operation, place),
  };
}

function errorsOf(operation: Operation): DocsError[] {
  return Object.values(operation.responses).flatMap(({ $ref }) =>
    $ref === undefined ? [] : errorCodesOf($ref)
  )
    .map((code) => ({ code, status: errorStatuses[code] }));
}

function shownBody([type, { schema, example }]: [string, Content], schemas: JsonSchemas): DocsBody {
  const isJson = /json/.test(type);
  return {
    type,
    fields: schema === undefined || !isJson ? [] : fieldsOf(schema, { schemas, path: "" }),
    example: example === undefined || !isJson ? null : JSON.stringify(example, null, 2),
  };
}

/** @returns A line for each field, those of the objects in it too. */
function fieldsOf(given: JsonSchema, { schemas, path }: { schemas: JsonSchemas; path: string }): DocsField[] {
  const schema = resolved(given, schemas);
  const inner = (part: JsonSchema) => fieldsOf(part, { schemas, path });
  if (schema.items !== undefined) return fieldsOf(schema.items, { schemas, path: `${path}[]` });
  if (schema.properties === undefined) {
    return [...schema.allOf ?? [], ...schema.anyOf ?? [], ...schema.oneOf ?? []].flatMap(inner);
  }
  return Object.entries(schema.properties).flatMap(([name, property]) => {
    const at = path === "" ? name : `${path}.${name}`;
    const isRequired = schema.required?.includes(name) ?? false;
    return [shownField(at, property, { schemas, isRequired }), ...fieldsOf(property, { schemas, path: at })];
  });
}

function shownField(
  name: string,
  given: JsonSchema,
  { schemas, isRequired }: { schemas: JsonSchemas; isRequired: boolean },
): DocsField {
  const schema = resolved(given, schemas);
  return {
    name,
    type: typeWords(given, schemas),
    isRequired,
    description: given.description ?? schema.description ?? null,
    place: null,
  };
}

/** @returns Such as “string, 1 to 100 characters, or null”. */
function typeWords(given: JsonSchema, schemas: JsonSchemas): string {
  const schema = resolved(given, schemas);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map((one) => typeWords(one, schemas)).join(" or ");
  const types = typeof schema.type === "string" ? [schema.type] : schema.type ?? ["object"];
  const words = types.filter((type) => type !== "null").map((type) =>
    schema.format === "date-time" ? "time" : schema.format ?? (type === "array" ? "list" : type)
  );
  const limits = limitWords(schema);
  const few = schema.enum !== undefined && schema.enum.length <= 6
    ? schema.enum.filter((one) => one !== null)
    : [];
  return [
    few.length > 0
      ? `one of ${few.join(", ")}`
      : schema.const !== undefined
      ? String(schema.const)
      : words.join(" or "),
    ...(limits === null ? [] : [limits]),
    ...(schema.default === undefined ? [] : [`${String(schema.default)} when left out`]),
    ...(types.includes("null") && types.length > 1 ? ["or null"] : []),
  ].join(", ");
}

function limitWords(schema: JsonSchema): string | null {
  const { minLength: min, maxLength: max, minimum, maximum, minItems, maxItems, maxProperties } = schema;
  if (maxProperties !== undefined) return `${maxProperties} fields at most`;
  if (max !== undefined) {
    return min === undefined ? `${max} characters at most` : `${min} to ${max} characters`;
  }
  if (maxItems !== undefined) return `${minItems ?? 0} to ${maxItems} items`;
  if (minimum !== undefined && maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER) {
    return `${minimum} to ${maximum}`;
  }
  return null;
}

/** @returns A command for a terminal; secrets are variables of the shell. */
function curlOf(operation: Operation, { method, path, origin, schemas }: Place): string {
  // Of several ways the first: it is what most callers have.
  const uses = (name: string) => name in (operation.security[0] ?? {});
  const address = (operation.parameters ?? []).filter((one) => one.in === "path").reduce(
    (text, one) => text.replace(`{${one.name}}`, encodeURIComponent(String(exampleOf(one.schema, schemas)))),
    origin + path,
  );
  const lines = [`curl ${method === "get" ? "" : `-X ${method.toUpperCase()} `}${quoted(address)}`];
  if (uses("apiKey")) lines.push(`-H "Authorization: Bearer $API_KEY"`);
  if (uses("metricsToken")) lines.push(`-H "Authorization: Bearer $METRICS_TOKEN"`);
  if (uses("session")) lines.push(`-b "${sessionCookieName}=$ACCESS_TOKEN"`);
  const body = operation.requestBody?.content["application/json"]?.example;
  // A POST without a body has one too: other sites' pages could send it otherwise.
  const isPost = method === "post" && !path.startsWith("/api/v1/");
  if (body !== undefined || isPost) lines.push(`-H "Content-Type: application/json"`);
  if (body !== undefined) lines.push(`-d ${quoted(JSON.stringify(body, null, 2))}`);
  return lines.join(" \\\n  ");
}

/** @returns A text as a shell takes it literally. */
function quoted(text: string): string {
  return /^[\w:/.-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
