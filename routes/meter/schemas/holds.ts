// The shapes of holds.
import { z } from "@hono/zod-openapi";
import { grantReasonCharactersMax } from "../../../domain/meter/usage_grant.ts";
import {
  expiryActions,
  holdRecordsMax,
  holdSecondsDefault,
  holdSecondsMax,
  holdStatuses,
} from "../../../domain/meter/hold.ts";
import {
  exampleId,
  idOut,
  idParam,
  nameSchema,
  pageOf,
  pageQuerySchema,
  stringSchema,
  timeOut,
} from "../../schemas/common.ts";
import { organizationFilter } from "../../schemas/organization_reference.ts";
import { atMost } from "../../schemas/messages.ts";
import { limitStandingSchema } from "./limits.ts";
import { targetId } from "./operator_usage.ts";
import { idempotencyKeySchema, usageInputSchema, usageRecordSchema } from "./usage.ts";

const recordIn = usageInputSchema.omit({ timestamp: true, idempotencyKey: true }).openapi("HoldRecordInput");
const recordsIn = (description: string) =>
  z.array(recordIn).max(holdRecordsMax, atMost(holdRecordsMax, "records")).openapi({ description });

const secondsFault = `must be a whole number from 1 to ${holdSecondsMax}.`;
const seconds = z.number()
  .refine((value) => Number.isInteger(value) && value >= 1 && value <= holdSecondsMax, secondsFault)
  .openapi({ type: "integer", minimum: 1, maximum: holdSecondsMax, example: holdSecondsDefault });

/** The fields of a new hold besides its records. */
export const holdTerms = {
  expiresIn: seconds.default(holdSecondsDefault).openapi({
    description: "After how many seconds the hold ends by itself.",
    default: holdSecondsDefault,
  }),
  onExpiry: z.enum(expiryActions).default("release").openapi({
    description: "`release` gives the room back when the hold expires. `record` records all of it.",
  }),
  idempotencyKey: idempotencyKeySchema.nullish().describe(
    "Makes one hold however often the request is sent. Unique among the holds of the organization and environment while they are kept.",
  ),
};
const newHold = {
  records: recordsIn(`The most that may be used: 1 to ${holdRecordsMax} records.`)
    .min(1, `must have 1 to ${holdRecordsMax} records.`),
  ...holdTerms,
};
export const createHoldSchema = z.strictObject(newHold).openapi("CreateHold");
const targets = {
  organizationId: targetId("The organization.", exampleId("org")),
  externalId: targetId("The organization, by its external id.", "customer-4711"),
  apiKeyId: targetId("The API key, and so its organization.", exampleId("key")),
};
export const createHoldForSchema = z.strictObject({ ...targets, ...newHold }).openapi("CreateHoldFor");

export const settleHoldSchema = z.strictObject({
  records: recordsIn(
    "The records that were used: up to 8, which may differ from those of the hold. Empty for nothing.",
  ),
}).openapi("SettleHold");
export const releaseHoldSchema = z.strictObject({
  reason: nameSchema("Why the hold of an API key is released", {
    charactersMax: grantReasonCharactersMax,
    example: "The job was lost.",
  }).optional(),
}).openapi("ReleaseHold");
export const noBodySchema = z.strictObject({}).openapi("ReleaseOwnHold");
export const extendHoldSchema = z.strictObject({
  expiresIn: seconds.describe("The hold expires this many seconds from now, unless that is earlier."),
}).openapi("ExtendHold");

export const holdSchema = z.object({
  id: idOut("hld", "The hold's id."),
  status: z.enum(holdStatuses).describe("Only active holds take room in limits."),
  records: z.array(z.object({
    productSlug: stringSchema("The product.", "tiles"),
    metric: stringSchema("The metric.", "requests"),
    quantity: z.number().describe("How much is held."),
    properties: z.record(z.string(), z.string()).nullable().describe("The properties of the record."),
  })).describe("The records that are held."),
  apiKeyId: idOut("key", "The API key that it is held for. Null for an organization without a key.")
    .nullable(),
  heldBy: z.enum(["key", "operator"]).describe(
    "Who made the hold. Only operators can end those of operators.",
  ),
  onExpiry: z.enum(expiryActions).describe(
    "The action when it expires: `release` frees its room, `record` records all of it.",
  ),
  createdAt: timeOut("When it was made. It counts in the windows of this time."),
  expiresAt: timeOut("When it ends by itself."),
  endedAt: timeOut("When it ended. Null if it is active.").nullable(),
  usageRecordIds: z.array(z.string()).describe(
    "The usage records that it was settled with, or that were recorded.",
  ),
}).openapi("Hold");
export const oneHoldSchema = z.object({ hold: holdSchema });
export const holdsSchema = pageOf("holds", holdSchema).openapi("Holds");

const limits = z.array(limitStandingSchema).describe(
  "Every limit that applies to these products and metrics, in the current window.",
);
export const heldSchema = z.object({
  hold: holdSchema,
  duplicate: z.literal(true).optional().describe("Present if the hold had already been made."),
  limits,
}).openapi("HeldRoom");
export const settledSchema = z.object({
  hold: holdSchema,
  usageRecords: z.array(usageRecordSchema).describe("The records, in the order of the request."),
  beyond: z.array(z.object({
    limitId: idOut("lim", "A limit that rejects usage."),
    quantity: z.number().describe(
      "How much is used and held beyond it, at most the quantity of the settlement.",
    ),
  })).describe("Limits that are exceeded now."),
  limits,
}).openapi("SettledHold");

export const holdsQuerySchema = pageQuerySchema.extend({
  status: z.enum(holdStatuses).optional().describe("Only holds with this status."),
  apiKey: z.string().max(100).optional().describe("Only holds of this API key, by id."),
});
export const operatorHoldsQuerySchema = holdsQuerySchema.extend({
  organizationId: organizationFilter("By default, holds of all."),
});
export const holdParamsSchema = z.object({ id: idParam("hld", "The hold's id.") });
