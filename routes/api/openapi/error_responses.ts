// The error responses of the OpenAPI document.
import { type ErrorCode, errorStatuses } from "../../../domain/errors.ts";
import { required } from "../../schemas/messages.ts";
import { headersOf, responseHeaders } from "./components.ts";
import { errorMeanings } from "./error_meanings.ts";
import { errorMessages, missingName } from "./error_messages.ts";
import type { JsonSchema } from "./examples.ts";

/** Errors of every operation. */
export const commonErrors = ["malformed_request", "uri_too_long", "headers_too_large", "internal"] as const;

const allCodes = Object.keys(errorStatuses) as ErrorCode[];
const separator = "_or_";
const prefix = "#/components/responses/";

/** @returns By status, a reference to the response for those of the codes that have it. Operations share responses. */
export function errorResponses(codes: readonly ErrorCode[]): Record<string, { $ref: string }> {
  const used = allCodes.filter((code) => codes.includes(code));
  const byStatus = Map.groupBy(used, (code) => errorStatuses[code]);
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [String(status), { $ref: prefix + codes.join(separator) }]),
  );
}

/** @returns The codes of a reference that {@linkcode errorResponses} returned. */
export function errorCodesOf(reference: string): ErrorCode[] {
  return reference.slice(prefix.length).split(separator) as ErrorCode[];
}

/** The schemas of errors, by component name. */
export const errorSchemas = {
  ErrorMessage: {
    type: "string",
    description: "One sentence for people.",
    example: errorMessages.validation_failed,
  },
  ErrorDetails: {
    type: "array",
    description: "The invalid fields, at most 100.",
    items: {
      type: "object",
      properties: {
        path: {
          type: "string",
          description: "The field in the body or the query.",
          example: "records[17].quantity",
        },
        message: { type: "string", description: "What is wrong with it.", example: required },
      },
      required: ["path", "message"],
    },
  },
  ErrorLimits: {
    type: "array",
    description: "The hard limits that the usage doesn't fit into, at most 100.",
    items: { $ref: "#/components/schemas/LimitStanding" },
  },
  RequestId: {
    type: "string",
    description: "The same as the header `X-Request-Id`.",
    example: responseHeaders.RequestId.schema.example,
  },
  Error: errorSchemaOf(allCodes),
} as const;

function ref(name: string) {
  return { $ref: `#/components/schemas/${name}` };
}

/** Errors of too many requests and of exceeded limits share a status, and no other has limits. */
function detailsOf(codes: readonly ErrorCode[]) {
  if (!codes.includes("limit_exceeded")) return ref("ErrorDetails");
  const hasOthers = codes.some((code) => errorStatuses[code] !== errorStatuses.limit_exceeded);
  return hasOthers ? { anyOf: [ref("ErrorDetails"), ref("ErrorLimits")] } : ref("ErrorLimits");
}

/** Complete for each set of codes: client generators can't combine a general schema with a narrower one. */
function errorSchemaOf(codes: ErrorCode[]) {
  return {
    type: "object",
    properties: {
      error: {
        type: "object",
        properties: {
          code: { type: "string", enum: codes, description: "A stable name for programs." },
          message: ref("ErrorMessage"),
          details: detailsOf(codes),
        },
        required: ["code", "message"],
      },
      requestId: ref("RequestId"),
    },
    required: ["error", "requestId"],
  } satisfies JsonSchema;
}

/** @returns The component of a reference that {@linkcode errorResponses} returned, and its name. */
export function errorComponent(reference: string) {
  const codes = errorCodesOf(reference);
  const component = {
    description: codes.map((code) => `\`${code}\`: ${errorMeanings[code]}`).join("\n\n"),
    headers: headersOf({ retries: codes.some((code) => [429, 503].includes(errorStatuses[code])) }),
    content: {
      "application/json": {
        schema: errorSchemaOf(codes),
        examples: Object.fromEntries(codes.map((code) => [code, { value: errorExample(code) }])),
      },
    },
  };
  return { name: reference.slice(prefix.length), component };
}

/** @returns The body of an error. */
export function errorExample(code: ErrorCode) {
  const details = code === "validation_failed" ? { details: [missingName] } : {};
  return {
    error: { code, message: errorMessages[code], ...details },
    requestId: responseHeaders.RequestId.schema.example,
  };
}
