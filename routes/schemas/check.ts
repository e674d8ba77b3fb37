// Checks what came with a request against a schema. The API and the pages use the same schemas.
import type { z } from "@hono/zod-openapi";
import { type ErrorDetail, notFoundError, validationError } from "../../domain/errors.ts";
import { errorDetailsMax } from "../../domain/limits.ts";
import { joinPath } from "../json_bounds.ts";

/** A schema, or none. */
export type Schema = z.ZodType | undefined;
/** What a schema returns. */
export type Output<S extends Schema> = S extends z.ZodType ? z.output<S> : undefined;

/**
 * @returns The checked value; for no schema, undefined, and then no query parameter may be there either.
 * @throws {AppError} `validation_failed` with a line for each fault.
 */
export function check<S extends Schema>(
  schema: S,
  value: unknown,
  part: "query" | "params" | "body",
): Output<S> {
  if (schema === undefined) {
    if (part === "query") requireNothing(value as Record<string, unknown>);
    return undefined as Output<S>;
  }
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data as Output<S>;
  // An id in a path that has not the form of one is unknown, like any other.
  if (part === "params") throw notFoundError();
  const faults = result.error.issues.slice(0, errorDetailsMax).flatMap((issue) =>
    // Only a schema of several values takes a parameter twice.
    part === "query" && Array.isArray(issue.input) && issue.code !== "custom"
      ? [{ path: String(issue.path[0]), message: "is given more than once." }]
      : details(issue)
  );
  throw validationError(faults.slice(0, errorDetailsMax));
}

function requireNothing(query: Record<string, unknown>): void {
  const unknown = Object.keys(query).map((path) => ({ path, message: "is not a known parameter." }));
  if (unknown.length > 0) throw validationError(unknown);
}

function details(issue: z.core.$ZodIssue): ErrorDetail[] {
  const path = issue.path.reduce<string>(
    (text, part) => typeof part === "number" ? `${text}[${part}]` : joinPath(text, String(part)),
    "",
  );
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({ path: joinPath(path, key), message: "is not a known field." }));
  }
  return [{ path, message: message(issue) }];
}

function message(issue: z.core.$ZodIssue): string {
  // Zod's own words, where the schema has none.
  if (issue.code !== "invalid_type" || !issue.message.startsWith("Invalid input")) return issue.message;
  return issue.input === undefined ? "is required." : `must be ${article(issue.expected)}.`;
}

function article(expected: string): string {
  const type = expected === "record" ? "object" : expected;
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`;
}
