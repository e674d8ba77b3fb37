// The shapes of the usage API.
import { z } from "@hono/zod-openapi";
import { usageGroups } from "../../../db/meter/mod.ts";
import * as limits from "../../../domain/limits.ts";
import { aggregations, mixed, uniqueValuesMax } from "../../../domain/meter/aggregation.ts";
import { splitQuantity } from "../../../domain/meter/quantity.ts";
import { idempotencyKeyForm, slugForm } from "../../../domain/meter/usage_record.ts";
import { queryWindows } from "../../../domain/meter/usage_window.ts";
import { dimensionPropertiesMax } from "../../../domain/meter/dimension.ts";
import {
  isPropertyGroup,
  propertyFilters,
  propertyFilterWords,
  type PropertyGroup,
  propertyGroupForm,
} from "./usage_properties.ts";
import { batchArray } from "../../schemas/batch_array.ts";
import {
  environmentSchema,
  exampleId,
  idOut,
  nameSchema,
  pageOf,
  pageQuerySchema,
  parsed,
  rangeEnd,
  stringSchema,
  timeOut,
  timeSchema,
} from "../../schemas/common.ts";
import { limitStandingSchema } from "./limits.ts";
import { parse } from "../../schemas/issues.ts";
import { atMost, characters } from "../../schemas/messages.ts";

/** The form of products and metrics, in words. */
export const slugWords =
  "1 to 64 letters, digits, dots, colons, hyphens or underscores, starting with a letter or digit";
export const quantityFault = "must be from 0 to 9007199254740991 with at most 6 decimal places.";
export const slugSchema = z.string().regex(slugForm, `must be ${slugWords}.`);
const quantity = parsed(
  z.number(),
  splitQuantity,
  () => quantityFault,
);

export const idempotencyKeySchema = z.string()
  .regex(idempotencyKeyForm, `must be 1 to ${limits.idempotencyKeyCharactersMax} printable ASCII characters.`)
  .openapi({
    description:
      `1 to ${limits.idempotencyKeyCharactersMax} printable ASCII characters, unique within the organization for as long as the ` +
      "record is kept. A repeated request with the same key has no effect.",
    example: "invoice-2026-11-21-17",
  });
const productSlug = slugSchema.openapi({ description: "The product, 1 to 64 characters.", example: "tiles" });
const metric = slugSchema.openapi({
  description: "The metric that was used, 1 to 64 characters.",
  example: "requests",
});

/** Parses several values of one parameter, repeated or separated by commas, into distinct ones. */
function severalOf<T extends string>(item: z.ZodType<T>) {
  return z.union([z.string(), z.array(z.string())]).transform((given, context): T[] => {
    const fail = (message: string) => {
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    };
    const values = new Set<T>();
    for (const text of [given].flat().flatMap((text) => text.split(","))) {
      const { success, data, error } = parse(item, text.trim());
      if (!success) return fail(error.issues[0]?.message ?? "");
      values.add(data);
    }
    return values.size <= limits.usageFilterValuesMax
      ? [...values]
      : fail(atMost(limits.usageFilterValuesMax, "values"));
  });
}

const severalWords = "Repeat the parameter or separate values with commas.";

/** `things`: such as `products`. */
export function filter(
  item: z.ZodType<string>,
  options: { things: string; pattern?: string; example: string },
) {
  const { things, pattern, example } = options;
  return severalOf(item).optional().openapi({
    type: "array",
    items: { type: "string", ...(pattern === undefined ? {} : { pattern }) },
    maxItems: limits.usageFilterValuesMax,
    description: `Only these ${things}. ${severalWords}`,
    example: [example],
  });
}

const keyIdFault = "must be the id of an API key.";
const environment = environmentSchema.optional().openapi({
  description:
    "Only usage of live or of test keys. Without it, usage of the keys that `apiKey` names, whichever they are, and " +
    "otherwise live usage; for a request with a test key, test usage.",
});
const filters = {
  environment,
  productSlug: filter(slugSchema, { things: "products", pattern: slugForm.source, example: "tiles" }),
  metric: filter(slugSchema, { things: "metrics", pattern: slugForm.source, example: "requests" }),
  apiKey: filter(z.string().min(1, keyIdFault).max(100, keyIdFault), {
    things: "API keys, by id",
    example: exampleId("key"),
  }),
};

/** The limits of properties, as JSON Schema and in words. */
export const propertyNameLimits = {
  propertyNames: { minLength: 1, maxLength: limits.usagePropertyNameCharactersMax },
};
export const propertyLimitWords =
  `names of up to ${limits.usagePropertyNameCharactersMax} and values of up to ` +
  `${limits.usagePropertyValueCharactersMax} characters`;
export const propertyFaults = {
  name: `must have a name of 1 to ${limits.usagePropertyNameCharactersMax} characters.`,
  value: characters(limits.usagePropertyValueCharactersMax),
  count: atMost(limits.usagePropertiesMax, "properties"),
} as const;
export const propertyName = z.string().min(1, propertyFaults.name)
  .max(limits.usagePropertyNameCharactersMax, propertyFaults.name);
export const propertyValue = z.string().max(limits.usagePropertyValueCharactersMax, propertyFaults.value);

export function timestampWords(pastMaxMs = limits.usageTimestampPastMaxMs): string {
  return `Defaults to the time of recording. At most ${pastMaxMs / (24 * 3_600_000)} days in the past and ${
    limits.usageTimestampFutureMaxMs / 60_000
  } minutes in the future.`;
}

export function timestampSchema(pastMaxMs?: number) {
  return timeSchema.nullish().openapi({
    type: ["string", "null"],
    format: "date-time",
    description: `When the usage occurred, in ISO 8601 with a UTC offset. ${timestampWords(pastMaxMs)}`,
  });
}

export const usageInputSchema = z.strictObject({
  productSlug,
  metric,
  quantity: quantity.openapi({
    type: "number",
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: "The quantity in the metric's unit, with at most 6 decimal places.",
    example: 1,
  }),
  timestamp: timestampSchema(),
  idempotencyKey: idempotencyKeySchema.nullish(),
  properties: z.record(propertyName, propertyValue)
    .refine((value) => Object.keys(value).length <= limits.usagePropertiesMax, propertyFaults.count)
    .nullish().openapi({
      description:
        `Your own data, stored with the record: up to ${limits.usagePropertiesMax} properties, with ` +
        `${propertyLimitWords}.`,
      maxProperties: limits.usagePropertiesMax,
      ...propertyNameLimits,
      example: { region: "eu-central" },
    }),
}).openapi("UsageInput");

export function batchOf<T extends z.ZodType>(record: T) {
  return z.strictObject({
    records: batchArray(record, "record").describe(`1 to ${limits.usageBatchRecordsMax} records.`),
  });
}

export const usageBatchSchema = batchOf(usageInputSchema).openapi("UsageBatch");

export const usageRecordSchema = z.object({
  id: stringSchema("The record's id.", "use_01a1fde6017c9e3779b97f4b"),
  productSlug: stringSchema("The product.", "tiles"),
  metric: stringSchema("The metric that was used.", "requests"),
  quantity: z.number().describe("The quantity in the metric's unit."),
  timestamp: timeOut("When the usage occurred."),
  recordedAt: timeOut("When the usage was recorded."),
  idempotencyKey: stringSchema("The idempotency key it was recorded with.", "invoice-2026-11-21-17")
    .nullable(),
  properties: z.record(z.string(), z.string()).nullable().openapi({
    description: "The properties it was recorded with.",
    example: { region: "eu-central" },
  }),
  apiKeyId: idOut("key", "The id of the API key that recorded it. Null if an operator recorded it.")
    .nullable(),
  environment: environmentSchema.describe("That of the API key. `live` without one."),
  voidedAt: timeOut("When the record was voided. Null if it counts.").nullable(),
  voidedBy: stringSchema("The id of the API key that voided it, or `operator`.").nullable(),
  voidReason: stringSchema("Why it was voided.").nullable(),
}).openapi("UsageRecord");

/** A page is requested by cursor, or one record by its idempotency key. */
export const cursorOrKey = {
  isMet: ({ idempotencyKey, cursor }: { idempotencyKey?: string | undefined; cursor?: string | undefined }) =>
    idempotencyKey === undefined || cursor === undefined,
  path: ["cursor"],
  message: "can't be combined with “idempotencyKey”, which matches at most one record.",
};

export const usageRecordsQuerySchema = pageQuerySchema.extend({
  from: rangeEnd("The start of the range, inclusive. Defaults to the oldest record."),
  to: rangeEnd("The end of the range, exclusive."),
  ...filters,
  properties: propertyFilters.openapi({
    description:
      `Only records with these values of properties, ${propertyFilterWords}. Without \`from\`, rare values may take long to find.`,
  }),
  idempotencyKey: idempotencyKeySchema.optional().describe("Only the record with this idempotency key."),
}).refine(cursorOrKey.isMet, cursorOrKey);

export const usageRecordsSchema = pageOf("usageRecords", usageRecordSchema).openapi("UsageRecords");

export const voidWords =
  "The record no longer counts toward sums, counts, minimums and maximums. It stays in lists, and its idempotency key " +
  "stays in use. Voiding a record again has no effect.";

export const voidUsageSchema = z.strictObject({
  reason: nameSchema("Why the record is voided", {
    charactersMax: limits.voidReasonCharactersMax,
    example: "Sent twice after a timeout.",
  }),
}).openapi("VoidUsage");

const limitsOut = z.array(limitStandingSchema).optional().describe(
  "Every limit that applies to these products and metrics, in the current window. Absent if none does. A soft or cutoff limit is missing until " +
    "its earlier usage is added up, shortly after it was set.",
);

export const recordedUsageSchema = z.object({
  usageRecord: usageRecordSchema,
  duplicate: z.literal(true).optional().describe("Present if the usage had already been recorded."),
  limits: limitsOut,
}).openapi("RecordedUsage");

export const recordedBatchSchema = z.object({
  accepted: z.number().int().describe("The number of new records."),
  duplicates: z.number().int().describe("The number of records that already existed."),
  limits: limitsOut,
}).openapi("RecordedBatch");

const timeInZone = "An ISO 8601 time with a UTC offset, or a date, which means its start in `timezone`. " +
  "The range is widened to full quarters of an hour.";

export function groupBySchema<const T extends string>(groups: readonly T[]) {
  const isGroup = (text: string): text is T | PropertyGroup =>
    groups.some((group) => group === text) || isPropertyGroup(text);
  const group = z.string().refine(
    isGroup,
    `must be one or more of ${groups.join(", ")}, and properties such as properties.region.`,
  );
  return severalOf(group as z.ZodType<T | PropertyGroup>).optional()
    .openapi({
      type: "array",
      items: {
        anyOf: [{ type: "string", enum: [...groups] }, { type: "string", pattern: propertyGroupForm.source }],
      },
      maxItems: groups.length + dimensionPropertiesMax,
      description:
        "Returns a sum for each combination of these. Different metrics are never added up: each row names its metric " +
        `unless you filter by exactly one. Any of ${
          groups.join(", ")
        }, and properties of a dimension, such as ` +
        `\`properties.region\`: its rows add up to the sum of its metric. ${severalWords}`,
      example: ["productSlug", "metric"],
    });
}

export const usageQuerySchema = z.strictObject({
  from: z.string().optional().openapi({
    description: `The start of the range, inclusive. Defaults to the start of this month. ${timeInZone}`,
    example: "2026-11-01",
  }),
  to: z.string().optional().openapi({
    description: `The end of the range, exclusive. Defaults to the end of this month. ${timeInZone}`,
    example: "2026-12-01",
  }),
  window: z.enum(queryWindows).optional()
    .openapi({
      description:
        "The windows to sum by, in `timezone`. Weeks start on Monday. `total` is one window for the whole range.",
      default: "day",
    }),
  ...filters,
  properties: propertyFilters,
  groupBy: groupBySchema(usageGroups),
  include: severalOf(z.enum(["amount"], { error: "must be amount." })).optional().openapi({
    type: "array",
    items: { type: "string", enum: ["amount"] },
    maxItems: 1,
    description:
      "`amount` adds the amount of each row at the prices of now. A metric whose values have prices can then only be " +
      "filtered and grouped by the properties of their dimension.",
    example: ["amount"],
  }),
  mergeRotations: z.enum(["true", "false"], { error: "must be true or false." }).optional()
    .transform((text) => text === "true").openapi({
      type: "boolean",
      description:
        "`true` counts a key and the keys that it replaced or that replaced it as one: that of the newest that works. " +
        "`apiKey` then includes all of them.",
      default: false,
    }),
  timezone: z.string().max(64).optional().openapi({
    description: "The IANA name of the time zone of the windows, at most 64 characters.",
    default: "UTC",
  }),
});

export function timeOutInZone(description: string) {
  return z.string().openapi({
    format: "date-time",
    description: `${description} ISO 8601 with milliseconds and the UTC offset of \`timezone\` (Z for UTC).`,
    example: "2026-11-01T00:00:00.000Z",
  });
}

const unknownExtreme =
  "Null if unknown: the record that had it was voided after older records of the same quarter of an hour had been " +
  "deleted by retention.";

export const usageSumsOf = <T extends z.ZodType>(sum: T) =>
  z.object({
    from: timeOutInZone("The start of the range, inclusive."),
    to: timeOutInZone("The end of the range, exclusive."),
    window: z.enum(queryWindows).openapi({ description: "The requested windows.", example: "day" }),
    currency: stringSchema("Only with amounts: their currency, the setting `CURRENCY`.", "EUR").nullable()
      .optional(),
    overflow: z.boolean().optional().describe(
      "Only for sums by properties. `true` if a month has too many values to list them all; the others count as `(other)`.",
    ),
    completeSince: timeOut(
      "Only for sums by properties. Sums before it lack usage from before the dimension was declared. Null if all are complete.",
    ).nullable().optional(),
    data: z.array(sum).describe("One row for each window and group. Windows without records are omitted."),
  });

export const usageSumSchema = z.object({
  start: timeOutInZone("The start of the window, inclusive."),
  end: timeOutInZone("The end of the window, exclusive."),
  productSlug: stringSchema("The product, if grouped by product.", "tiles").optional(),
  metric: stringSchema(
    "The metric. Absent only if you filter by exactly one metric and don't group by it.",
    "requests",
  ).optional(),
  apiKey: stringSchema("The API key's id, if grouped by API key. Null for usage recorded by an operator.")
    .nullable()
    .optional(),
  properties: z.record(z.string(), z.string()).optional().openapi({
    description: "The values of the properties, if grouped by any.",
    example: { region: "eu-central" },
  }),
  sum: z.number().describe("The sum of the quantities. Exact up to 2^53−1, rounded beyond."),
  aggregation: z.enum([...aggregations, mixed]).optional().openapi({
    description:
      "How `value` is counted, if the aggregation in the catalogue isn't `sum`; `mixed` if the row adds up products whose metrics " +
      "are counted differently.",
    example: "max",
  }),
  value: z.number().nullable().optional().describe(
    "The value of the usage, if that isn't `sum`. Values of API keys and organizations are added up; distinct values count once in an " +
      "organization. Null for `mixed` rows, for `last` and `unique` by properties, and if it is unknown: before usage of a new aggregation " +
      "is counted, or if it depends on records that were deleted.",
  ),
  capped: z.literal(true).optional().describe(
    `\`true\` if there are more distinct values: ${uniqueValuesMax} of an organization and calendar month are counted.`,
  ),
  count: z.number().int().describe("The number of records."),
  min: z.number().nullable().describe(`The smallest quantity. ${unknownExtreme}`),
  max: z.number().nullable().describe(`The largest quantity. ${unknownExtreme}`),
  amount: stringSchema(
    "Only with `include=amount`: the exact amount at the prices of now. Usage of which the value isn't known, such as that from before a " +
      "dimension was declared, has the price of all other values. Null without a price, and if the value of the usage is unknown.",
    "12.0425",
  ).nullable().optional(),
}).openapi("UsageSum");

export const usageSumsSchema = usageSumsOf(usageSumSchema).openapi("UsageSums");
