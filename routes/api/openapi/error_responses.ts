// Which errors a route can answer, and how the OpenAPI document says so. What follows from what a route takes is worked
// out here, so that definitions name only their own.
import { z } from "@hono/zod-openapi";
import { type ErrorCode, errorStatuses } from "../../../domain/errors.ts";
import { errorMeanings } from "./error_meanings.ts";
import { headersOf } from "./response_headers.ts";
import type { JsonSchema } from "./examples.ts";
import { requiresScheme, type Security } from "./security_schemes.ts";

/** What of a route says which errors it has. */
export interface ErrorSources {
  readonly method: string;
  readonly path: string;
  readonly security: Security;
  readonly body?: unknown;
  readonly params?: unknown;
  readonly errors?: readonly ErrorCode[];
}

/** Errors of every route, whatever it does. */
export const everywhere = ["malformed_request", "uri_too_long", "headers_too_large", "internal"] as const;

/** @returns Every error of a route that `mount` mounts, by status. */
export function endpointErrors(endpoint: ErrorSources): ErrorCode[] {
  const codes = new Set<ErrorCode>([...everywhere, ...endpoint.errors ?? []]);
  const add = (...more: ErrorCode[]) => more.forEach((code) => codes.add(code));
  // A query that is not known is refused everywhere, and nothing is answered without the database.
  add("validation_failed", "unavailable");
  if (endpoint.body !== undefined) {
    add("request_timeout", "body_too_large", "unsupported_media_type");
  }
  if (endpoint.params !== undefined) add("not_found");
  if (requiresScheme(endpoint.security, "session")) add("unauthenticated");
  if (requiresScheme(endpoint.security, "apiKey")) add("invalid_api_key", "rate_limited");
  if (endpoint.method !== "get" && !endpoint.path.startsWith("/api/v1/")) add("cross_site");
  return sorted(codes);
}

function sorted(codes: Iterable<ErrorCode>): ErrorCode[] {
  const order = Object.keys(errorStatuses);
  return [...new Set(codes)].sort((one, other) => order.indexOf(one) - order.indexOf(other));
}

const between = "_or_";
const place = "#/components/responses/";

/** @returns For each status a reference to the answer with these codes: routes share them. */
export function errorResponses(codes: readonly ErrorCode[]): Record<string, { $ref: string }> {
  const statuses = new Map<number, ErrorCode[]>();
  for (const code of sorted(codes)) {
    const status = errorStatuses[code];
    statuses.set(status, [...statuses.get(status) ?? [], code]);
  }
  return Object.fromEntries(
    [...statuses].map(([status, codes]) => [String(status), { $ref: place + codes.join(between) }]),
  );
}

/** @returns The codes of a reference that {@linkcode errorResponses} made. */
export function errorCodesOf(reference: string): ErrorCode[] {
  return reference.slice(place.length).split(between) as ErrorCode[];
}

const messageSchema = z.string().openapi("ErrorMessage", {
  description: "One sentence, for a person.",
  example: "“name”: is required.",
});
const detailsSchema = z.array(z.object({
  path: z.string().openapi({
    description: "Where, in the body or the query.",
    example: "records[17].quantity",
  }),
  message: z.string().openapi({ description: "What is wrong there.", example: "is required." }),
})).openapi("ErrorDetails", { description: "Each fault, 100 at most." });
const requestIdSchema = z.string().openapi("RequestId", {
  description: "The same as the header `X-Request-Id`.",
  example: "req_0199d3c1a2b47c6e8f00000000000001",
});

/** Every error, of every route. */
export const errorSchema = z.object({
  error: z.object({
    code: z.enum(Object.keys(errorStatuses) as [ErrorCode, ...ErrorCode[]]).openapi({
      description: "A stable name, for programs.",
      example: "validation_failed",
    }),
    message: messageSchema,
    details: detailsSchema.optional(),
  }).openapi({ description: "What went wrong." }),
  requestId: requestIdSchema,
}).openapi("Error");

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** @returns The same with some codes only: in one piece, as clients can make little of a part that narrows another. */
function errorSchemaOf(codes: readonly ErrorCode[]): JsonSchema {
  return {
    type: "object",
    properties: {
      error: {
        type: "object",
        properties: {
          code: { type: "string", enum: codes },
          message: ref("ErrorMessage"),
          details: ref("ErrorDetails"),
        },
        required: ["code", "message"],
      },
      requestId: ref("RequestId"),
    },
    required: ["error", "requestId"],
  };
}

/** @returns The component that such a reference names, and its name. */
export function errorComponent(reference: string) {
  const codes = errorCodesOf(reference);
  const name = reference.slice(place.length);
  const retries = codes.some((code) => errorStatuses[code] === 429 || errorStatuses[code] === 503);
  const component = {
    description: codes.map((code) => `\`${code}\`: ${errorMeanings[code].when}`).join("\n\n"),
    headers: {
      ...headersOf("none"),
      ...(retries ? { "Retry-After": { $ref: "#/components/headers/RetryAfter" } } : {}),
    },
    content: {
      "application/json": {
        schema: errorSchemaOf(codes),
        examples: Object.fromEntries(codes.map((code) => [code, { value: errorExample(code) }])),
      },
    },
  };
  return { name, component };
}

function errorExample(code: ErrorCode) {
  const { message } = errorMeanings[code];
  const details = code === "validation_failed"
    ? { details: [{ path: "name", message: "is required." }] }
    : {};
  return {
    error: { code, message, ...details },
    requestId: "req_0199d3c1a2b47c6e8f00000000000001",
  };
}
