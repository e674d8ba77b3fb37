// Checks input against a schema. The API and the pages use the same schemas.
import type { z } from "@hono/zod-openapi";
import { AppError, type ErrorDetail, notFoundError, validationError } from "../../domain/errors.ts";
import { errorDetailsMax } from "../../domain/limits.ts";
import { joinPath } from "../../domain/json_bounds.ts";
import { parse } from "./issues.ts";

export type Schema = z.ZodType | undefined;
export type Output<S extends Schema> = S extends z.ZodType ? z.output<S> : undefined;

/**
 * Checks a part of a request. Without a schema, any query parameter is an error.
 *
 * @throws {AppError} `validation_failed` with a detail for each problem; `not_found` for invalid path parameters.
 */
export function check<S extends Schema>(
  schema: S,
  value: unknown,
  part: "query" | "params" | "body",
): Output<S> {
  if (schema === undefined) {
    if (part === "query") requireEmpty(value as Record<string, unknown>);
    return undefined as Output<S>;
  }
  const result = parse(schema, value);
  if (result.success) return result.data as Output<S>;
  // A malformed id is an unknown id.
  if (part === "params") throw notFoundError();
  const faults = firstOfEach(result.error.issues.flatMap(issuesOfUnion)).slice(0, errorDetailsMax).flatMap((
    issue,
  ) =>
    // Only schemas of several values accept a parameter twice.
    part === "query" && Array.isArray(issue.input) && issue.code !== "custom"
      ? [{ path: String(issue.path[0]), message: "is given more than once." }]
      : details(issue)
  );
  throw validationError(faults.slice(0, errorDetailsMax));
}

/**
 * Checks the input of a form. If the first check rejects it, the others run too, so that people see all messages together.
 *
 * @param others Checks of what the schema can't know. After the first check passed, they are left to the verb.
 * @returns The result of the first check.
 * @throws {AppError} `validation_failed` with the details of all checks; any other error of the first.
 */
export async function checkTogether<T>(
  first: () => T | Promise<T>,
  ...others: readonly (() => unknown)[]
): Promise<T> {
  const details: ErrorDetail[] = [];
  for (const run of [first, ...others]) {
    try {
      const result = await run();
      if (run === first) return result as T;
    } catch (error) {
      if (!(error instanceof AppError) || (run === first && error.details === undefined)) throw error;
      details.push(...error.details ?? []);
    }
  }
  throw validationError(details);
}

/** Returns the issues of the alternative whose type the value has, at their own paths. */
function issuesOfUnion(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== "invalid_union") return [issue];
  const fitting = issue.errors.find(([first]) =>
    first !== undefined && (first.path.length > 0 || !["invalid_type", "invalid_value"].includes(first.code))
  );
  return fitting?.map((one) => ({ ...one, path: [...issue.path, ...one.path] })) ?? [issue];
}

/** Returns the first issue of each value. Further ones mislead: Zod also counts the items of a list where a text belongs. */
function firstOfEach(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue[] {
  const paths = new Set<string>();
  return issues.filter(({ path }) => {
    const isFirst = !paths.has(path.join());
    paths.add(path.join());
    return isFirst;
  });
}

function requireEmpty(query: Record<string, unknown>): void {
  const unknown = Object.keys(query).map((path) => ({ path, message: "is not a known parameter." }));
  if (unknown.length > 0) throw validationError(unknown);
}

function details(issue: z.core.$ZodIssue): ErrorDetail[] {
  const path = issue.path.reduce<string>(
    (text, part) => typeof part === "number" ? `${text}[${part}]` : joinPath(text, String(part)),
    "",
  );
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({ path: joinPath(path, key), message: issue.message }));
  }
  return [{ path, message: issue.message }];
}
