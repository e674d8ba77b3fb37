// The building blocks of the API's schemas: names, roles, times, ids and pages.
import { z } from "@hono/zod-openapi";
import { environments } from "../../domain/environment.ts";
import { parseTime, parseTimestamp, timeFault } from "../../domain/time.ts";
import type { IdPrefix } from "../../domain/id.ts";
import { nameFault } from "../../domain/name.ts";
import { roles } from "../../domain/access/session.ts";
import { nameCharactersMax, pageItemsDefault, pageItemsMax } from "../../domain/limits.ts";
import { characters } from "./messages.ts";

/** Creates a schema whose values are parsed. `parse` returns null for an invalid value. */
export function parsed<In, Out>(
  schema: z.ZodType<In>,
  parse: (value: In) => Out | null,
  message: (value: In) => string,
) {
  return schema.transform((given, context): Out => {
    const value = parse(given);
    if (value !== null) return value;
    context.addIssue({ code: "custom", message: message(given) });
    return z.NEVER;
  });
}

/** That of an API key, and so of its usage. */
export const environmentSchema = z.enum(environments).openapi({ example: "live" });

/** Trimmed, counted in characters, and visible. @param description The beginning, such as `Your name`. */
export function nameSchema(
  description: string,
  { charactersMax = nameCharactersMax, charactersMin = 1, ...more }: {
    charactersMax?: number;
    charactersMin?: 0 | 1;
    example?: string;
  } = {},
) {
  const message = characters(charactersMax, charactersMin);
  return z.string().trim().min(charactersMin, message)
    .refine((text) => text.length <= charactersMax || [...text].length <= charactersMax, message)
    .superRefine((text, context) => {
      const message = nameFault(text);
      if (message !== null) context.addIssue({ code: "custom", message });
    })
    .openapi({
      minLength: charactersMin,
      maxLength: charactersMax,
      description: `${description}, ${charactersMin} to ${charactersMax} characters.`,
      ...more,
    });
}

/** A point in time. Dates are invalid. @returns Milliseconds since 1970. */
export const timeSchema = parsed(
  z.string(),
  parseTimestamp,
  () => "must be a time such as 2026-11-21T14:03:11.000Z.",
).openapi({
  type: "string",
  format: "date-time",
  description: "ISO 8601 with a UTC offset, such as 2027-01-31T00:00:00.000Z.",
});

/** A time, or a date, which means its start in UTC. @returns Milliseconds since 1970. */
const timeOrDateSchema = parsed(z.string(), (text) => parseTime(text), timeFault);

export function rangeEnd(description: string) {
  return timeOrDateSchema.optional().openapi({ type: "string", ...timeWords(description, "2026-11-01") });
}

/** A time, a date, `now` for immediately, or null. */
export function optionalEndOrNow(description: string) {
  const parse = (text: string) => text === "now" ? text : parseTime(text);
  const fault = (text: string) => timeFault(text).replace("must be ", "must be now, ");
  return parsed(z.string(), parse, fault).nullish()
    .openapi({ type: ["string", "null"], ...timeWords(description, "2027-01-31T00:00:00.000Z") });
}

export function optionalEnd(description: string) {
  return timeOrDateSchema.nullish()
    .openapi({ type: ["string", "null"], ...timeWords(description, "2027-01-31") });
}

function timeWords(description: string, example: string) {
  return {
    description:
      `${description} An ISO 8601 time with a UTC offset, or a date, which means its start in UTC.`,
    example,
  };
}

export function timeOut(description: string) {
  return z.string().openapi({
    format: "date-time",
    description: `${description} ISO 8601 in UTC, with milliseconds.`,
  });
}

export function stringSchema(description: string, example?: string) {
  return z.string().openapi({ description, ...(example === undefined ? {} : { example }) });
}

export function idOut(prefix: IdPrefix, description: string) {
  return stringSchema(description, exampleId(prefix));
}

export function idParam(prefix: IdPrefix, description: string) {
  return z.string().max(100).openapi({ description, example: exampleId(prefix) });
}

export function exampleId(prefix: IdPrefix): string {
  return `${prefix}_0199d3c1a2b47c6e8f00112233445566`;
}

export const pageQuerySchema = z.strictObject({
  limit: z.string().regex(/^\d{1,3}$/, "must be a whole number.").transform(Number)
    .refine((n) => n >= 1 && n <= pageItemsMax, `must be from 1 to ${pageItemsMax}.`)
    .default(pageItemsDefault)
    .openapi({
      type: "integer",
      minimum: 1,
      maximum: pageItemsMax,
      default: pageItemsDefault,
      description: `The maximum number of items to return, from 1 to ${pageItemsMax}.`,
    }),
  cursor: z.string().max(200).optional().describe("The `nextCursor` of the previous page."),
});

export const nextCursorSchema = stringSchema("The `cursor` of the next page. Null on the last page.")
  .nullable();

/** A page of items. @param name The name of the list, such as `apiKeys`. */
export function pageOf(name: string, item: z.ZodType) {
  return z.object({ [name]: z.array(item), nextCursor: nextCursorSchema });
}

export const personNameSchema = stringSchema("The user's name.", "Ada Lovelace");

/** In descriptions of sensitive operations. */
export const recentWords = "Requires authentication within the last 10 minutes.";

export const addressSchema = stringSchema("The user's email address.", "ada@example.com");

export const roleSchema = z.enum(roles).describe(
  "The role in the organization. OWNER has every permission, MEMBER the fewest.",
);
