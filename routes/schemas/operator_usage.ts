// The shapes of the operators' API of single usage records.
import { z } from "@hono/zod-openapi";
import { recordTargetKinds } from "../../db/meter/record_targets.ts";
import { externalIdCharactersMax, operatorTimestampPastMaxMs } from "../../domain/limits.ts";
import { exampleId, idOut, nextCursorSchema, stringSchema } from "./common.ts";
import { characters } from "./messages.ts";
import {
  batchOf,
  cursorOrKey,
  filter,
  timestampSchema,
  usageInputSchema,
  usageRecordSchema,
  usageRecordsQuerySchema,
} from "./usage.ts";

const idFault = characters(externalIdCharactersMax, 1);
const id = (description: string, example: string) =>
  z.string().min(1, idFault).max(externalIdCharactersMax, idFault).optional().openapi({
    description,
    example,
  });

/** One record of an operator. */
const operatorUsageInputSchema = z.strictObject({
  organizationId: id("The organization.", exampleId("org")),
  externalId: id("The organization, by its external id.", "customer-4711"),
  apiKeyId: id(
    "The API key, and so its organization. Without one, the record has no key.",
    exampleId("key"),
  ),
  ...usageInputSchema.shape,
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

export const operatorUsageRecordsSchema = z.object({
  usageRecords: z.array(operatorUsageRecordSchema),
  nextCursor: nextCursorSchema,
}).openapi("OperatorUsageRecords");

export const operatorUsageRecordsQuerySchema = z.strictObject({
  ...usageRecordsQuerySchema.shape,
  organizationId: filter(z.string().min(1, idFault).max(externalIdCharactersMax, idFault), {
    things: "organizations, by id",
    example: exampleId("org"),
  }),
}).refine(cursorOrKey.isMet, cursorOrKey).refine(
  ({ idempotencyKey, organizationId }) => idempotencyKey === undefined || organizationId?.length === 1,
  { path: ["idempotencyKey"], message: "requires exactly one “organizationId”, where it is unique." },
);

export const operatorUsageBatchSchema = batchOf(operatorUsageInputSchema).openapi("OperatorUsageBatch");
