// Says in our own words what is wrong with a value, for every kind of problem that Zod finds.
import type { z } from "@hono/zod-openapi";
import { mustBe, oneOf, required } from "./messages.ts";

/** Our names of types that Zod names in its own way. */
const typeNames: Readonly<Record<string, string>> = {
  int: "whole number",
  record: "object",
  tuple: "array",
  nan: "NaN",
};
/** Types without a value in JSON. */
const neverTypes: ReadonlySet<string> = new Set(["never", "undefined", "void"]);
const sizeUnits: Readonly<Record<string, string>> = {
  array: "items",
  set: "items",
  map: "entries",
  file: "bytes",
};
const formatNames: Readonly<Record<string, string>> = {
  email: "email address",
  url: "URL",
  uuid: "UUID",
  datetime: "time such as 2026-11-21T14:03:11.000Z",
  date: "date such as 2026-11-21",
  time: "time such as 14:03:11",
  ipv4: "IPv4 address",
  ipv6: "IPv6 address",
};

/** Checks a value. The messages of problems are the schema's own, or else those of {@linkcode issueMessage}. */
export function parse<S extends z.ZodType>(schema: S, value: unknown) {
  return schema.safeParse(value, { reportInput: true, error: issueMessage });
}

/** Returns a message that follows the name of the field, for a schema that doesn't set one. */
function issueMessage(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? required : typeMessage(issue.expected);
    case "invalid_value":
      return issue.input === undefined ? required : oneOf(issue.values.map(String));
    case "invalid_union":
      return issue.input === undefined ? required : unionMessage(issue);
    case "too_big":
      return boundMessage(issue, issue.maximum, ["at most", "less than"]);
    case "too_small":
      return boundMessage(issue, issue.minimum, ["at least", "more than"]);
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}.`;
    case "invalid_format":
      return formatMessage(issue);
    case "unrecognized_keys":
      return "is not a known field.";
    case "invalid_key":
    case "invalid_element":
      return issue.issues[0]?.message ?? "is invalid.";
    default:
      return "is invalid.";
  }
}

function typeMessage(expected: string): string {
  if (neverTypes.has(expected)) return "is not allowed.";
  return expected === "null" ? "must be null." : mustBe(typeNames[expected] ?? expected);
}

function unionMessage(issue: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidUnion>): string {
  if (Array.isArray(issue.options)) return oneOf(issue.options.map(String));
  const [firsts, types] = [issue.errors.map(([first]) => first), new Set<string>()];
  for (const first of firsts) {
    // The value has the type of this alternative, so its other problems say more.
    if (first !== undefined && (first.code !== "invalid_type" || first.path.length > 0)) return first.message;
    if (first?.code === "invalid_type") types.add(typeMessage(first.expected).slice("must be ".length, -1));
  }
  return types.size === 0 ? "has more than one accepted form." : `must be ${[...types].join(" or ")}.`;
}

function boundMessage(
  { origin, inclusive, exact }: { origin: string; inclusive?: boolean; exact?: boolean },
  bound: number | bigint,
  [within, beyond]: readonly [string, string],
): string {
  const amount = `${exact ? "exactly" : inclusive === false ? beyond : within} ${bound}`;
  const plural = (units: string) => bound === 1 && units !== "entries" ? units.slice(0, -1) : units;
  if (origin === "string") return `must be ${amount} ${plural("characters")}.`;
  const units = sizeUnits[origin];
  return units === undefined ? `must be ${amount}.` : `must have ${amount} ${plural(units)}.`;
}

function formatMessage(issue: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidStringFormat>): string {
  const { format, prefix, suffix, includes } = issue;
  if (format === "starts_with") return `must start with ${prefix}.`;
  if (format === "ends_with") return `must end with ${suffix}.`;
  if (format === "includes") return `must contain ${includes}.`;
  return format === "regex" ? "has an invalid format." : mustBe(formatNames[format] ?? `valid ${format}`);
}
