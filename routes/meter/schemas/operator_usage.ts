// The shapes of the operators' API of single usage records.
import { z } from "@hono/zod-openapi";
import { operatorUsageGroups, recordTargetKinds } from "../../../db/meter/mod.ts";
import { externalIdCharactersMax, operatorTimestampPastMaxMs } from "../../../domain/limits.ts";
import { isId } from "../../../domain/id.ts";
import { externalIdPrefix } from "../../../domain/console/organization.ts";
import { decimalForm } from "../../../domain/meter/quantity.ts";
import { quantityOf } from "./cloud_event.ts";
import { exampleId, idOut, pageOf, parsed, stringSchema } from "../../schemas/common.ts";
import { characters, required } from "../../schemas/messages.ts";
import {
  batchOf,
  cursorOrKey,
  filter,
  groupBySchema,
  quantityFault,
  timestampSchema,
  usageInputSchema,
  usageQuerySchema,
  usageRecordSchema,
  usageRecordsQuerySchema,
  usageSumSchema,
  usageSumsOf,
} from "./usage.ts";

const idFault = characters(externalIdCharactersMax, 1);
/** The id of the object of a batch's item. */
export const targetId = (description: string, example: string) =>
  z.string().min(1, idFault).max(externalIdCharactersMax, idFault).optional().openapi({
    description,
    example,
  });

/** A JSON number can't hold all digits of every quantity. */
export const exactQuantitySchema = parsed(
  z.union([z.number(), z.string()], {
    error: ({ input }) => input === undefined ? required : "must be a number, or a string of decimal digits.",
  }),
  quantityOf,
  () => quantityFault,
).openapi({
  type: ["number", "string"],
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  pattern: decimalForm.source,
  description:
    "The quantity in the metric's unit, with at most 6 decimal places, as a number or a string of decimal digits. A number with " +
    "more than 15 digits may lose the last ones; a string doesn't.",
  example: 1,
});

const operatorUsageInputSchema = z.strictObject({
  organizationId: targetId("The organization.", exampleId("org")),
  externalId: targetId("The organization, by its external id.", "customer-4711"),
  apiKeyId: targetId(
    "The API key, and so its organization. Without one, the record has no key.",
    exampleId("key"),
  ),
  ...usageInputSchema.shape,
  quantity: exactQuantitySchema,
  timestamp: timestampSchema(operatorTimestampPastMaxMs),
}).refine(
  (input) => recordTargetKinds.filter((kind) => input[kind] !== undefined).length === 1,
  "must have exactly one of organizationId, externalId and apiKeyId.",
).openapi("OperatorUsageInput", {
  description: "Exactly one of `organizationId`, `externalId` and `apiKeyId` is required.",
  example: {
    externalId: "customer-4711",
    productSlug: "tiles",
    metric: "requests",
    quantity: 12_000,
    timestamp: "2026-11-01T00:00:00.000Z",
    idempotencyKey: "4711/2026-10-31",
  },
});

export const operatorUsageRecordSchema = z.object({
  ...usageRecordSchema.shape,
  organizationId: idOut("org", "The id of the organization."),
  voidedBy: stringSchema("The id of the API key, user or operator token that voided it.").nullable(),
}).openapi("OperatorUsageRecord");

export const operatorUsageRecordsSchema = pageOf("usageRecords", operatorUsageRecordSchema)
  .openapi("OperatorUsageRecords");

const organizationFault = "must be the id of an organization, or external: and its external id.";
const organizationIds = filter(
  z.string().min(1, organizationFault).max(
    externalIdCharactersMax + externalIdPrefix.length,
    organizationFault,
  ),
  { things: "organizations, by id or as `external:` with an external id", example: exampleId("org") },
);

export const operatorUsageRecordsQuerySchema = z.strictObject({
  ...usageRecordsQuerySchema.shape,
  organizationId: organizationIds,
}).refine(cursorOrKey.isMet, cursorOrKey).refine(
  ({ idempotencyKey, organizationId }) => idempotencyKey === undefined || organizationId?.length === 1,
  { path: ["idempotencyKey"], message: "requires exactly one “organizationId”, where it is unique." },
);

export const operatorUsageBatchSchema = batchOf(operatorUsageInputSchema).openapi("OperatorUsageBatch");

const planFault = "must be the id of a plan.";

export const operatorUsageQuerySchema = usageQuerySchema.extend({
  organizationId: organizationIds,
  planId: z.string().refine((id) => isId("plan", id), planFault).optional().openapi({
    description: "Only organizations on this plan.",
    example: exampleId("plan"),
  }),
  groupBy: groupBySchema(operatorUsageGroups),
});

export const operatorUsageSumsSchema = usageSumsOf(
  usageSumSchema.extend({
    organizationId: stringSchema("The organization, if grouped by organization.", exampleId("org"))
      .optional(),
    organizationName: stringSchema("Its name, if grouped by organization.", "Northwind Maps").optional(),
    externalId: stringSchema("Its external id, if grouped by organization.", "customer-4711").nullable()
      .optional(),
  }).openapi("OperatorUsageSum"),
).openapi("OperatorUsageSums");
