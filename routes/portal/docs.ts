// The API reference, generated from the OpenAPI document: every operation with its fields, errors and an example command.
import { type ErrorCode, errorStatuses } from "../../domain/errors.ts";
import {
  type DocsBody,
  type DocsContent,
  type DocsField,
  type DocsOperation,
  docsPage,
} from "../../views/docs.tsx";
import type { Assets } from "../../views/layout.tsx";
import { securitySchemeNames } from "../api/openapi/components.ts";
import { errorMeanings } from "../api/openapi/error_meanings.ts";
import { errorCodesOf, errorExample } from "../api/openapi/error_responses.ts";
import { exampleOf, type JsonSchema, type JsonSchemas, resolved } from "../api/openapi/examples.ts";
import { type Content, introduction, type OpenApiDocument, type Operation } from "../api/openapi/openapi.ts";
import { sessionCookieName } from "../cookies.ts";
import type { App } from "../env.ts";

/**
 * Mounts `/docs`. The page is public and the same for everyone: it is rendered on the first request and kept.
 *
 * @param options `document`: builds the OpenAPI document.
 */
export function docsRoutes(
  app: App,
  { assets, document }: { assets: Assets; document: () => OpenApiDocument },
): void {
  let page: Promise<string> | undefined;
  app.get("/docs", async (c) => {
    page ??= Promise.resolve(docsPage({ assets, content: docsContent(document()) })).then(String);
    c.set("responseHeaders", [["cache-control", "public, max-age=60"]]);
    return c.html(await page);
  });
}

/** @returns The content of the page. */
export function docsContent(document: OpenApiDocument): DocsContent {
  const { schemas, securitySchemes } = document.components;
  const origin = document.servers[0]?.url ?? "";
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      tag: operation.tags[0],
      docs: operationDocs(operation, { method, path, origin, schemas }),
    }))
  );
  const error = {
    schema: { $ref: "#/components/schemas/Error" },
    example: errorExample("validation_failed"),
  };
  return {
    introduction,
    version: document.info.version,
    groups: document.tags.map(({ name, description }) => ({
      id: `group-${name.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`,
      name,
      description,
      operations: operations.filter(({ tag }) => tag === name).map(({ docs }) => docs),
    })).filter(({ operations }) => operations.length > 0),
    errors: Object.entries(errorMeanings).map(([code, meaning]) => ({
      code,
      status: errorStatuses[code as ErrorCode],
      meaning,
    })),
    error: bodyDocs(["application/json", error], schemas),
    schemes: Object.entries(securitySchemes).map(([name, { description }]) => ({
      name: securitySchemeNames[name] ?? name,
      description,
    })),
  };
}

interface OperationContext {
  readonly method: string;
  readonly path: string;
  readonly origin: string;
  readonly schemas: JsonSchemas;
}

function operationDocs(operation: Operation, context: OperationContext): DocsOperation {
  const { schemas } = context;
  const isPublic = operation.security.some((one) => Object.keys(one).length === 0);
  const optional = (field: DocsField) => ({ ...field, isRequired: false });
  return {
    id: operation.operationId,
    method: context.method.toUpperCase(),
    path: context.path,
    summary: operation.summary,
    description: operation.description ?? null,
    schemes: isPublic
      ? []
      : operation.security.flatMap(Object.keys).map((name) => securitySchemeNames[name] ?? name),
    parameters: (operation.parameters ?? []).map(({ name, in: location, required, description, schema }) => ({
      name,
      type: `in the ${location}, ${typeWords(schema, schemas)}`,
      isRequired: required ?? false,
      description: description ?? null,
    })),
    bodies: Object.entries(operation.requestBody?.content ?? {}).map((body) => bodyDocs(body, schemas)),
    isBodyRequired: operation.requestBody?.required ?? false,
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
      }),
    errors: Object.values(operation.responses)
      .flatMap(({ $ref }) => $ref === undefined ? [] : errorCodesOf($ref))
      .map((code) => ({ code, status: errorStatuses[code] })),
    curl: curlOf(operation, context),
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

/** @returns All fields, including those of nested objects. */
function fieldsOf(given: JsonSchema, { schemas, path }: { schemas: JsonSchemas; path: string }): DocsField[] {
  const schema = resolved(given, schemas);
  if (schema.items !== undefined) return fieldsOf(schema.items, { schemas, path: `${path}[]` });
  if (schema.properties === undefined) {
    return [...schema.allOf ?? [], ...schema.anyOf ?? [], ...schema.oneOf ?? []]
      .flatMap((part) => fieldsOf(part, { schemas, path }));
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

/** @returns Such as “string, 1 to 100 characters, or null”. */
function typeWords(given: JsonSchema, schemas: JsonSchemas): string {
  const schema = resolved(given, schemas);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map((one) => typeWords(one, schemas)).join(" or ");
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

/** @returns A command for a shell, with variables for secrets. */
function curlOf(operation: Operation, { method, path, origin, schemas }: OperationContext): string {
  // Most callers use the first scheme.
  const uses = (scheme: string) => scheme in (operation.security[0] ?? {});
  const address = (operation.parameters ?? []).filter((one) => one.in === "path").reduce(
    (text, one) => text.replace(`{${one.name}}`, encodeURIComponent(String(exampleOf(one.schema, schemas)))),
    origin + path,
  );
  const lines = [`curl ${method === "get" ? "" : `-X ${method.toUpperCase()} `}${quoted(address)}`];
  if (uses("apiKey")) lines.push(`-H "Authorization: Bearer $API_KEY"`);
  if (uses("metricsToken")) lines.push(`-H "Authorization: Bearer $METRICS_TOKEN"`);
  if (uses("session")) lines.push(`-b "${sessionCookieName}=$ACCESS_TOKEN"`);
  const body = operation.requestBody?.content["application/json"]?.example;
  // The content type is required even without a body: see the middleware against cross-site requests.
  const isPost = method === "post" && !path.startsWith("/api/v1/");
  if (body !== undefined || isPost) lines.push(`-H "Content-Type: application/json"`);
  if (body !== undefined) lines.push(`-d ${quoted(JSON.stringify(body, null, 2))}`);
  return lines.join(" \\\n  ");
}

/** Quotes a text for a shell. */
function quoted(text: string): string {
  return /^[\w:/.-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
