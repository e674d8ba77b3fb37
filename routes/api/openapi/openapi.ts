// The OpenAPI document, generated from the route definitions that check requests.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { type ErrorCode, errorStatuses } from "../../../domain/errors.ts";
import type { AppEnv } from "../../env.ts";
import { cloudEventDataSchema } from "../../meter/schemas/cloud_event.ts";
import { documentRoute, registerDocumented } from "../endpoint.ts";
import { responseHeaders, securitySchemes, tagDescriptions } from "./components.ts";
import { errorMeanings } from "./error_meanings.ts";
import { commonErrors, errorComponent, errorSchemas } from "./error_responses.ts";
import { exampleOf, type JsonSchema, type JsonSchemas } from "./examples.ts";

export interface Content {
  readonly schema?: JsonSchema;
  example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

export interface DocumentedResponse {
  readonly $ref?: string;
  readonly description: string;
  readonly headers?: Readonly<Record<string, Partial<Parameter> & { readonly $ref?: string }>>;
  readonly content?: Readonly<Record<string, Content>>;
}

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, DocumentedResponse>>;
}

/** The parts of an OpenAPI 3.1 document that this program uses. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  /** Requests to webhook endpoints, by type of event. */
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: {
    readonly schemas: JsonSchemas;
    readonly responses: Record<string, DocumentedResponse>;
    readonly securitySchemes: Readonly<Record<string, { readonly description: string }>>;
  };
}

interface OpenApiOptions {
  readonly baseUrl: string;
  readonly version: string;
}

/** Mounts `/api/openapi.json`. Every API route must be mounted before the first request. */
export function openApiRoute(app: OpenAPIHono<AppEnv>, options: OpenApiOptions): void {
  const path = "/api/openapi.json";
  documentRoute(app, {
    route: `GET ${path}`,
    tag: "Operations",
    operationId: "getOpenApiDocument",
    summary: "Get this OpenAPI document",
    security: "none",
    responses: {
      200: {
        description: "The document, in OpenAPI 3.1.",
        schema: z.looseObject({
          openapi: z.string().openapi({ description: "The OpenAPI version.", example: "3.1.0" }),
        }),
      },
    },
  }, commonErrors);
  const schemas = { ...errorSchemas, CloudEventData: cloudEventDataSchema };
  const components = { securitySchemes, headers: responseHeaders, schemas };
  for (const [type, parts] of Object.entries(components)) {
    for (const [name, part] of Object.entries(parts)) {
      app.openAPIRegistry.registerComponent(type as keyof typeof components, name, part);
    }
  }
  let text: string | undefined;
  app.get(path, (c) => {
    text ??= JSON.stringify(openApiDocument(app, options));
    c.set("responseHeaders", [["Cache-Control", "public, max-age=60"]]);
    return c.body(text, 200, { "Content-Type": "application/json" });
  });
}

/** Builds the document. Every API route must be mounted. */
export function openApiDocument(app: OpenAPIHono<AppEnv>, options: OpenApiOptions): OpenApiDocument {
  registerDocumented(app);
  const generated = app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Gatehouse",
      version: options.version,
      description: description(),
      license: { name: "MIT", url: "https://opensource.org/license/mit" },
    },
    servers: [{ url: options.baseUrl }],
    tags: Object.entries(tagDescriptions).map(([name, description]) => ({ name, description })),
  });
  const document = {
    ...generated,
    components: { ...generated.components, responses: {} },
  } as unknown as OpenApiDocument;
  for (const operation of operationsOf(document)) complete(operation, document);
  return document;
}

export function operationsOf(document: OpenApiDocument): Operation[] {
  return Object.values(document.paths).flatMap((methods) => Object.values(methods));
}

/** Adds the shared responses that an operation refers to, and examples. */
function complete(operation: Operation, { components }: OpenApiDocument): void {
  for (const { $ref } of Object.values(operation.responses)) {
    if ($ref === undefined) continue;
    const { name, component } = errorComponent($ref);
    components.responses[name] ??= component;
  }
  for (const { content = {} } of [operation.requestBody ?? {}, ...Object.values(operation.responses)]) {
    for (const one of Object.values(content)) {
      if (one.schema !== undefined) one.example ??= exampleOf(one.schema, components.schemas);
    }
  }
}

/** Paragraphs about every operation, with code in backticks. */
export const introduction = [
  "Sign-in, API keys and usage metering for your products.",
  "Requests and responses are JSON in UTF-8. Times are ISO 8601 in UTC with milliseconds; in usage sums they have the UTC " +
  "offset of `timezone`. Unknown fields and query parameters are rejected. Lists take `limit` and `cursor`, and return " +
  "`nextCursor`, which is null on the last page.",
  "Errors have a stable `code` for programs and a `message` for people. Unknown paths return `not_found`; known paths " +
  "return `method_not_allowed` for unsupported methods.",
] as const;

function description(): string {
  const errors = Object.entries(errorMeanings).map(([code, meaning]) =>
    `| \`${code}\` | ${errorStatuses[code as ErrorCode]} | ${meaning} |`
  );
  const table = ["| Code | Status | Meaning |", "| --- | --- | --- |", ...errors].join("\n");
  return [...introduction, table].join("\n\n");
}
