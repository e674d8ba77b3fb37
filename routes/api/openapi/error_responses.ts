// The error responses of the OpenAPI document.
import { STATUS_CODES } from "node:http";
import { type ErrorCode, errorStatuses } from "../../../domain/errors.ts";
import { holdStatuses } from "../../../domain/meter/hold.ts";
import { required } from "../../schemas/messages.ts";
import { headersOf, responseHeaders } from "./components.ts";
import { errorMeanings } from "./error_meanings.ts";
import { errorMessages, missingName } from "./error_messages.ts";
import type { JsonSchema } from "./examples.ts";

export const commonErrors = ["malformed_request", "uri_too_long", "headers_too_large", "internal"] as const;

const allCodes = Object.keys(errorStatuses) as ErrorCode[];
const separator = "_or_";
const prefix = "#/components/responses/";

const problemPrefix = "problem_";

/** Returns references to shared responses by status. `areProblems`: the errors are also problem details (RFC 9457). */
export function errorResponses(
  codes: readonly ErrorCode[],
  areProblems = false,
): Record<string, { $ref: string }> {
  const used = allCodes.filter((code) => codes.includes(code));
  const byStatus = Map.groupBy(used, (code) => errorStatuses[code]);
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      String(status),
      { $ref: prefix + (areProblems ? problemPrefix : "") + codes.join(separator) },
    ]),
  );
}

/** Returns the codes of a reference that {@linkcode errorResponses} returned. */
export function errorCodesOf(reference: string): ErrorCode[] {
  const name = reference.slice(prefix.length);
  const codes = name.startsWith(problemPrefix) ? name.slice(problemPrefix.length) : name;
  return codes.split(separator) as ErrorCode[];
}

export const errorSchemas = {
  ErrorCode: { type: "string", enum: allCodes, description: "A stable name for programs." },
  ErrorDetail: {
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
  EndedHold: {
    type: "object",
    properties: {
      holdId: { type: "string", description: "The hold's id." },
      status: { type: "string", enum: holdStatuses, description: "How it ended." },
      usageRecordIds: {
        type: "array",
        items: { type: "string" },
        description: "The usage records that it was settled with, or that were recorded when it expired.",
      },
    },
    required: ["holdId", "status", "usageRecordIds"],
  },
  Error: {
    type: "object",
    description: "The body of every error.",
    properties: {
      error: errorOf(allCodes, ref("ErrorCode")),
      requestId: {
        type: "string",
        description: "The same as the header `X-Request-Id`.",
        example: responseHeaders.RequestId.schema.example,
      },
    },
    required: ["error", "requestId"],
  },
  Problem: {
    description: "An error that is also problem details (RFC 9457).",
    allOf: [ref("Error"), {
      type: "object",
      properties: {
        type: { type: "string", description: "Always `about:blank`.", example: "about:blank" },
        title: { type: "string", description: "The meaning of the status.", example: "Unprocessable Entity" },
        status: {
          type: "integer",
          description: "The status of the response.",
          example: errorStatuses.validation_failed,
        },
        detail: {
          type: "string",
          description: "The error's message, and the first of several faults.",
          example: errorMessages.validation_failed,
        },
      },
      required: ["type", "title", "status", "detail"],
    }],
  },
} as const;

function ref(name: string) {
  return { $ref: `#/components/schemas/${name}` };
}

/** Complete for each set of codes, because some generators override fields instead of combining them. */
function errorOf(codes: readonly ErrorCode[], code: JsonSchema) {
  return {
    type: "object",
    properties: {
      code,
      message: {
        type: "string",
        description: "One sentence for people.",
        example: errorMessages.validation_failed,
      },
      details: detailsOf(codes),
    },
    required: ["code", "message"],
  } satisfies JsonSchema;
}

/** Errors of too many requests and of exceeded limits share a status, and no other has limits. */
function detailsOf(codes: readonly ErrorCode[]): JsonSchema {
  const fields = {
    type: "array",
    description: "The invalid fields, at most 100.",
    items: ref("ErrorDetail"),
  };
  const limits = {
    type: "array",
    description: "The hard and cutoff limits that the usage doesn't fit into, at most 100.",
    items: ref("LimitStanding"),
  };
  const hasLimits = codes.includes("limit_exceeded");
  const hasOthers = codes.some((code) => errorStatuses[code] !== errorStatuses.limit_exceeded);
  const holds = { type: "array", description: "The hold that has ended.", items: ref("EndedHold") };
  const kinds = [
    ...(hasOthers || !hasLimits ? [fields] : []),
    ...(hasLimits ? [limits] : []),
    ...(codes.includes("hold_ended") ? [holds] : []),
  ];
  return kinds.length === 1 ? kinds[0] ?? fields : { anyOf: kinds };
}

/** `Error` or `Problem` with some of its codes, which generators turn into an intersection of types. */
function errorSchemaOf(codes: ErrorCode[], { isProblem }: { isProblem: boolean }) {
  const error = errorOf(codes, { type: "string", enum: codes });
  return {
    allOf: [
      ref(isProblem ? "Problem" : "Error"),
      { type: "object", properties: { error }, required: ["error"] },
    ],
  } satisfies JsonSchema;
}

/** Returns the component of a reference that {@linkcode errorResponses} returned, and its name. */
export function errorComponent(reference: string) {
  const codes = errorCodesOf(reference);
  const name = reference.slice(prefix.length);
  const isProblem = name.startsWith(problemPrefix);
  const component = {
    description: codes.map((code) => `\`${code}\`: ${errorMeanings[code]}`).join("\n\n"),
    headers: headersOf({ retries: codes.some((code) => [429, 503].includes(errorStatuses[code])) }),
    content: {
      [isProblem ? "application/problem+json" : "application/json"]: {
        schema: errorSchemaOf(codes, { isProblem }),
        examples: Object.fromEntries(
          codes.map((code) => [code, { value: isProblem ? problemExample(code) : errorExample(code) }]),
        ),
      },
    },
  };
  return { name, component };
}

export function errorExample(code: ErrorCode) {
  const details = code === "validation_failed" ? { details: [missingName] } : {};
  return {
    error: { code, message: errorMessages[code], ...details },
    requestId: responseHeaders.RequestId.schema.example,
  };
}

function problemExample(code: ErrorCode) {
  const status = errorStatuses[code];
  const problem = { type: "about:blank", title: STATUS_CODES[status], status, detail: errorMessages[code] };
  return { ...problem, ...errorExample(code) };
}
