// The headers of answers that the OpenAPI document names: those of every answer, and of answers to API keys.
import type { Security } from "./security_schemes.ts";

/** By the name that references have. */
export const responseHeaders = {
  RequestId: {
    description: "The request's id, which is also in the server's log.",
    schema: { type: "string", example: "req_0199d3c1a2b47c6e8f00000000000001" },
  },
  RetryAfter: {
    description: "After how many seconds to try again.",
    schema: { type: "integer", minimum: 1, example: 1 },
  },
  RateLimit: {
    description: "Requests that the key has left (`r`), and seconds until it has all of them again (`t`).",
    schema: { type: "string", example: '"key";r=999;t=1' },
  },
  RateLimitPolicy: {
    description: "Requests (`q`) that a key may make within so many seconds (`w`). Missing without a limit.",
    schema: { type: "string", example: '"key";q=1000;w=1' },
  },
} as const;

/** A header that one answer has. */
export interface ResponseHeader {
  readonly description: string;
  readonly example: string;
}

const ref = (name: keyof typeof responseHeaders) => ({ $ref: `#/components/headers/${name}` });

/**
 * @param security What the route asks for.
 * @param own Headers of the answer itself, which it always has.
 * @returns All headers of an answer, as the document has them.
 */
export function headersOf(security: Security, own: Readonly<Record<string, ResponseHeader>> = {}) {
  return {
    "X-Request-Id": ref("RequestId"),
    ...(security === "apiKey"
      ? { "RateLimit": ref("RateLimit"), "RateLimit-Policy": ref("RateLimitPolicy") }
      : {}),
    ...Object.fromEntries(
      Object.entries(own).map(([name, { description, example }]) =>
        [name, { description, required: true, schema: { type: "string", example } }] as const
      ),
    ),
  };
}
