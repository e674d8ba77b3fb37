// The shapes of the usage API.
import { z } from "@hono/zod-openapi";
import { usageGroups } from "../../db/meter/usage_sums.ts";
import {
  idempotencyKeyCharactersMax,
  usageBatchRecordsMax,
  usageFilterValuesMax,
  usagePropertiesMax,
  usagePropertyNameCharactersMax,
  usagePropertyValueCharactersMax,
  usageTimestampFutureMaxMs,
  usageTimestampPastMaxMs,
  voidReasonCharactersMax,
} from "../../domain/limits.ts";
import { splitQuantity } from "../../domain/meter/quantity.ts";
import { idempotencyKeyForm, slugForm } from "../../domain/meter/usage_record.ts";
import { queryWindows } from "../../domain/meter/usage_window.ts";
import {
  exampleId,
  idOut,
  nameSchema,
  nextCursorSchema,
  optionalTime,
  pageQuerySchema,
  rangeEnd,
  timeOut,
} from "./common.ts";

const dayMs = 24 * 3_600_000;
const slug = z.string()
  .regex(
    slugForm,
    "must be 1 to 64 letters, digits, dots, colons, dashes or underscores, and begin with a letter or digit.",
  );
const quantity = z.number({
  error: (issue) => issue.input === undefined ? "is required." : "must be a number.",
})
  .transform((value, context) => {
    const parts = splitQuantity(value);
    if (parts !== null) return parts;
    context.addIssue({
      code: "custom",
      message: "must be from 0 to 9007199254740991 with at most 6 decimal places.",
    });
    return z.NEVER;
  });

/** An idempotency key, in the body or in the header `Idempotency-Key`. */
export const idempotencyKeySchema = z.string()
  .regex(idempotencyKeyForm, `must be 1 to ${idempotencyKeyCharactersMax} printable ASCII characters.`)
  .openapi({
    description:
      `1 to ${idempotencyKeyCharactersMax} printable ASCII characters, unique within the organization for as long as the ` +
      "record is kept. A repeat changes nothing.",
    example: "invoice-2026-11-21-17",
  });
const productSlug = slug.openapi({ description: "Which product: 1 to 64 characters.", example: "tiles" });
const metric = slug.openapi({ description: "What was used: 1 to 64 characters.", example: "requests" });

/** Several values of one parameter: repeated, or separated by commas. @returns Each once. */
function severalOf<T extends string>(item: z.ZodType<T>) {
  return z.union([z.string(), z.array(z.string())]).transform((given, context): T[] => {
    const texts = [given].flat().flatMap((text) => text.split(",")).map((text) => text.trim());
    const values = new Set<T>();
    for (const text of texts) {
      const { success, data, error } = item.safeParse(text);
      if (success) values.add(data);
      else {
        context.addIssue({ code: "custom", message: error.issues[0]?.message ?? "" });
        return z.NEVER;
      }
    }
    if (values.size <= usageFilterValuesMax) return [...values];
    context.addIssue({ code: "custom", message: `can have at most ${usageFilterValuesMax} values.` });
    return z.NEVER;
  });
}

const severalWords = "Repeat it or separate values with commas.";

/** Which usage to read. */
const filters = {
  productSlug: severalOf(slug).optional().openapi({
    type: "array",
    items: { type: "string", pattern: slugForm.source },
    maxItems: usageFilterValuesMax,
    description: `Only these products. ${severalWords}`,
    example: ["tiles"],
  }),
  metric: severalOf(slug).optional().openapi({
    type: "array",
    items: { type: "string", pattern: slugForm.source },
    maxItems: usageFilterValuesMax,
    description: `Only these metrics. ${severalWords}`,
    example: ["requests"],
  }),
  apiKey: severalOf(z.string().min(1, "must be the id of a key.").max(100, "must be the id of a key."))
    .optional().openapi({
      type: "array",
      items: { type: "string" },
      maxItems: usageFilterValuesMax,
      description: `Only what these keys recorded, by their ids. ${severalWords}`,
      example: [exampleId("key")],
    }),
};

const properties = z.record(
  z.string().min(1, "must have a name.").max(
    usagePropertyNameCharactersMax,
    `may have names of ${usagePropertyNameCharactersMax} characters at most.`,
  ),
  z.string().max(
    usagePropertyValueCharactersMax,
    `may have ${usagePropertyValueCharactersMax} characters at most.`,
  ),
).refine(
  (value) => Object.keys(value).length <= usagePropertiesMax,
  `may have ${usagePropertiesMax} values at most.`,
);

/** As JSON Schema, for the OpenAPI document. */
export const propertyNameLimits = {
  propertyNames: { minLength: 1, maxLength: usagePropertyNameCharactersMax },
};

/** One record. */
export const usageInputSchema = z.strictObject({
  productSlug,
  metric,
  quantity: quantity.openapi({
    type: "number",
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: "In the metric's own unit; at most 6 decimal places.",
    example: 1,
  }),
  timestamp: optionalTime(
    `When it was used; the time of recording when left out. At most ${
      usageTimestampPastMaxMs / dayMs
    } days ` +
      `back and ${usageTimestampFutureMaxMs / 60_000} minutes ahead.`,
  ),
  idempotencyKey: idempotencyKeySchema.nullish(),
  properties: properties.nullish().openapi({
    description: `Whatever you want to keep with it: ${usagePropertiesMax} values at most, names to ` +
      `${usagePropertyNameCharactersMax} and values to ${usagePropertyValueCharactersMax} characters.`,
    maxProperties: usagePropertiesMax,
    ...propertyNameLimits,
    example: { region: "eu-central" },
  }),
}).openapi("UsageInput");

export const usageBatchSchema = z.strictObject({
  records: z.array(usageInputSchema).min(1, "must have at least one record.").max(
    usageBatchRecordsMax,
    `may have ${usageBatchRecordsMax} records at most.`,
  ).openapi({ description: `1 to ${usageBatchRecordsMax} records.` }),
}).openapi("UsageBatch");

export const usageRecordSchema = z.object({
  id: z.string().openapi({ description: "The record's id.", example: "use_01a1fde6017c9e3779b97f4b" }),
  productSlug: z.string().openapi({ description: "Which product.", example: "tiles" }),
  metric: z.string().openapi({ description: "What was used.", example: "requests" }),
  quantity: z.number().openapi({ description: "How much, in the metric's own unit." }),
  timestamp: timeOut("When it was used."),
  recordedAt: timeOut("When it was recorded."),
  idempotencyKey: z.string().nullable().openapi({
    description: "As it was given.",
    example: "invoice-2026-11-21-17",
  }),
  properties: z.record(z.string(), z.string()).nullable().openapi({
    description: "As they were given.",
    example: { region: "eu-central" },
  }),
  apiKeyId: idOut("key", "The key that recorded it."),
  voidedAt: timeOut("Since when it does not count any more; null for a record that counts.").nullable(),
  voidedBy: z.string().nullable().openapi({ description: "The id of the API key that voided it." }),
  voidReason: z.string().nullable().openapi({ description: "Why it was voided." }),
}).openapi("UsageRecord");

/** Which records to list. */
export const usageRecordsQuerySchema = pageQuerySchema.extend({
  from: rangeEnd("Included; by default the oldest record that is kept."),
  to: rangeEnd("Not included."),
  ...filters,
  idempotencyKey: idempotencyKeySchema.optional().openapi({
    description: "Only the record with this idempotency key.",
  }),
}).refine(({ idempotencyKey, cursor }) => idempotencyKey === undefined || cursor === undefined, {
  path: ["cursor"],
  message: "can't be combined with “idempotencyKey”, which at most one record has.",
});

export const usageRecordsSchema = z.object({
  usageRecords: z.array(usageRecordSchema),
  nextCursor: nextCursorSchema,
}).openapi("UsageRecords");

/** Why a record is voided. */
export const voidUsageSchema = z.strictObject({
  reason: nameSchema(voidReasonCharactersMax).openapi({
    description: `For those who read it later, 1 to ${voidReasonCharactersMax} characters.`,
    example: "Sent twice after a time-out.",
  }),
}).openapi("VoidUsage");

export const recordedUsageSchema = z.object({
  usageRecord: usageRecordSchema,
  duplicate: z.literal(true).optional().openapi({ description: "The record was there already." }),
}).openapi("RecordedUsage");

export const recordedBatchSchema = z.object({
  accepted: z.number().int().openapi({ description: "Records that are new." }),
  duplicates: z.number().int().openapi({ description: "Records that were there already." }),
}).openapi("RecordedBatch");

const timeInZone =
  "A time in ISO 8601 with its offset, or a date, which means its first moment in `timezone`. " +
  "A time between two quarters of an hour is widened to the quarter that contains it.";

export const usageQuerySchema = z.strictObject({
  from: z.string().optional().openapi({
    description: `Included; by default the start of the current month. ${timeInZone}`,
    example: "2026-11-01",
  }),
  to: z.string().optional().openapi({
    description: `Not included; by default the end of the current month. ${timeInZone}`,
    example: "2026-12-01",
  }),
  window: z.enum(queryWindows, { error: `must be one of ${queryWindows.join(", ")}.` }).optional()
    .openapi({
      description:
        "Calendar windows of the time zone, in which weeks start on Monday, or `total`: one window " +
        "for the whole range.",
      default: "day",
    }),
  ...filters,
  groupBy: severalOf(z.enum(usageGroups, { error: `must be some of ${usageGroups.join(", ")}.` }))
    .optional().openapi({
      type: "array",
      items: { type: "string", enum: [...usageGroups] },
      maxItems: usageGroups.length,
      description:
        "A sum for each value of these. Sums of different metrics are never added up: unless only one " +
        `metric is asked for, every row names its metric. ${severalWords}`,
      example: ["productSlug", "metric"],
    }),
  timezone: z.string().max(64).optional().openapi({
    description: "The IANA name of the time zone of the windows, 64 characters at most.",
    default: "UTC",
  }),
});

/** A time on the clock of the query's time zone. @param description Of what. */
function timeOutInZone(description: string) {
  return z.string().openapi({
    format: "date-time",
    description: `${description} ISO 8601 with milliseconds and the offset of \`timezone\`; Z for UTC.`,
    example: "2026-11-01T00:00:00.000Z",
  });
}

const unknownExtreme =
  "Null when it is no longer known: the record that had it was voided after older records of the same quarter of an hour " +
  "had been deleted by retention.";

export const usageSumsSchema = z.object({
  from: timeOutInZone("Start of the range that was summed, included."),
  to: timeOutInZone("End of the range that was summed, not included."),
  window: z.enum(queryWindows).openapi({ description: "The windows that were asked for.", example: "day" }),
  data: z.array(z.object({
    start: timeOutInZone("Start of the window, included."),
    end: timeOutInZone("End of the window, not included."),
    productSlug: z.string().optional().openapi({ description: "When grouped by it.", example: "tiles" }),
    metric: z.string().optional().openapi({
      description: "Always, unless only one metric is asked for and it is not in `groupBy`.",
      example: "requests",
    }),
    apiKey: z.string().optional().openapi({ description: "The key's id, when grouped by it." }),
    sum: z.number().openapi({ description: "Exact to 2^53−1; beyond that the nearest number." }),
    count: z.number().int().openapi({ description: "How many records." }),
    min: z.number().nullable().openapi({ description: `The smallest quantity. ${unknownExtreme}` }),
    max: z.number().nullable().openapi({ description: `The largest quantity. ${unknownExtreme}` }),
  })).openapi({ description: "Windows without records are left out." }),
}).openapi("UsageSums");
