// The OpenAPI document, made from the route definitions that validate requests.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { errorStatuses } from "../../../domain/errors.ts";
import type { AppEnv } from "../../env.ts";
import { describe } from "../endpoint.ts";
import { errorMeanings } from "./error_meanings.ts";
import { responseHeaders } from "./response_headers.ts";
import { errorComponent, errorSchema, everywhere } from "./error_responses.ts";
import { exampleOf, type JsonSchema, type JsonSchemas } from "./examples.ts";
import { securitySchemes } from "./security_schemes.ts";
import { tagDescriptions } from "./tags.ts";

/** A body in one type of content. */
export interface Content {
  readonly schema?: JsonSchema;
  example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

/** A header of a response, or a reference to one. */
export interface DocumentedHeader {
  readonly $ref?: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly schema?: JsonSchema;
}

/** The response of an operation with one status. */
export interface DocumentedResponse {
  readonly $ref?: string;
  readonly description: string;
  readonly headers?: Readonly<Record<string, DocumentedHeader>>;
  readonly content?: Readonly<Record<string, Content>>;
}

/** Something in the path, the query or the headers. */
export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

/** One method of one path. */
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

/** The part of an OpenAPI 3.1 document that is used here. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: JsonSchemas;
    readonly responses: Record<string, DocumentedResponse>;
    readonly securitySchemes: Readonly<Record<string, { readonly description: string }>>;
  };
}

/** Where the service is, and its version. */
export interface OpenApiOptions {
  /** The public address. */
  readonly baseUrl: string;
  /** Of the program. */
  readonly version: string;
}

/**
 * Mounts `/api/openapi.json`.
 *
 * @param app With every API route mounted by the time that somebody asks.
 */
export function openApiRoute(app: OpenAPIHono<AppEnv>, options: OpenApiOptions): void {
  const path = "/api/openapi.json";
  app.openAPIRegistry.registerPath(describe({
    method: "get",
    path,
    tag: "Operations",
    operationId: "getOpenApiDocument",
    summary: "This document",
    security: "none",
    responses: {
      200: {
        description: "OpenAPI 3.1.",
        schema: z.looseObject({
          openapi: z.string().openapi({ description: "The version of OpenAPI.", example: "3.1.0" }),
        }),
      },
    },
  }, everywhere));
  for (const [name, scheme] of Object.entries(securitySchemes)) {
    app.openAPIRegistry.registerComponent("securitySchemes", name, scheme);
  }
  for (const [name, header] of Object.entries(responseHeaders)) {
    app.openAPIRegistry.registerComponent("headers", name, header);
  }
  app.openAPIRegistry.register("Error", errorSchema);
  let text: string | undefined;
  app.get(path, (c) => {
    text ??= JSON.stringify(openApiDocument(app, options));
    c.set("responseHeaders", [["Cache-Control", "public, max-age=60"]]);
    return c.body(text, 200, { "Content-Type": "application/json" });
  });
}

/**
 * @param app With every API route mounted.
 * @returns The document, made anew.
 */
export function openApiDocument(app: OpenAPIHono<AppEnv>, options: OpenApiOptions): OpenApiDocument {
  const made = app.getOpenAPI31Document({
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
    ...made,
    components: { ...made.components, responses: {} },
  } as unknown as OpenApiDocument;
  for (const operation of operationsOf(document)) complete(operation, document);
  return document;
}

/** @returns Every operation of a document. */
export function operationsOf(document: OpenApiDocument): Operation[] {
  return Object.values(document.paths).flatMap((methods) => Object.values(methods));
}

/** Adds the shared responses that an operation refers to, and its examples. */
function complete(operation: Operation, { components }: OpenApiDocument): void {
  for (const response of Object.values(operation.responses)) {
    if (response.$ref !== undefined) {
      const { name, component } = errorComponent(response.$ref);
      components.responses[name] ??= component;
    }
    addExamples(response.content, components.schemas);
  }
  addExamples(operation.requestBody?.content, components.schemas);
}

function addExamples(content: Readonly<Record<string, Content>> | undefined, schemas: JsonSchemas): void {
  for (const one of Object.values(content ?? {})) {
    if (one.schema !== undefined && one.examples === undefined) {
      one.example ??= exampleOf(one.schema, schemas);
    }
  }
}

/** What holds for every operation: paragraphs, with code in backticks. */
export const introduction = [
  "Sign-in, API keys and usage metering for the products of one company.",
  "JSON in, JSON out, UTF-8. Times are ISO 8601 with milliseconds, in UTC; those of usage sums have the offset of `timezone`. Fields and query parameters that are not " +
  "known are refused. Lists have `limit` and `cursor`, and `nextCursor` in the answer: null at the end.",
  "An error has a `code` that stays, and a `message` for a person. An address that is not here answers `not_found`; " +
  "one that is here, with another method, `method_not_allowed`.",
] as const;

function description(): string {
  const errors = Object.entries(errorMeanings).map(([code, { when }]) =>
    `| \`${code}\` | ${errorStatuses[code as keyof typeof errorStatuses]} | ${when} |`
  );
  return [...introduction, ["| code | status | when |", "| --- | --- | --- |", ...errors].join("\n")].join(
    "\n\n",
  );
}
