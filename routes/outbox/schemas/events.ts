// The shapes of events: their bodies, each with its own data, and how lists have them.
import { z } from "@hono/zod-openapi";
import { limitModes, limitPeriods } from "../../../domain/meter/usage_limit.ts";
import { exampleEvent } from "../../../domain/outbox/example_event.ts";
import {
  allEventTypes,
  type EventType,
  eventTypesFor,
  isEventType,
} from "../../../domain/outbox/event_types.ts";
import { eventKeptMs } from "../../../domain/outbox/webhook_limits.ts";
import {
  idOut,
  pageQuerySchema,
  parsed,
  personNameSchema,
  rangeEnd,
  roleSchema,
  stringSchema,
  timeOut,
} from "../../schemas/common.ts";
import { oneOf } from "../../schemas/messages.ts";
import { organizationFilter } from "../../schemas/organization_reference.ts";

const organization = z.object({
  id: idOut("org", "The organization's id."),
  externalId: stringSchema("Its id in the operator's own systems.", "customer-4711").nullable(),
  name: stringSchema("Its name.", "Northwind Maps"),
}).openapi("EventOrganization");

const actor = z.object({
  type: z.enum(["session", "apiKey", "operator", "system", "anonymous"]).describe(
    "A user or a portal session, an API key, the operator, the service itself, or an unknown person.",
  ),
  id: idOut(
    "usr",
    "The id of the user, the portal session (`pse_`) or the key. Customers don't see which operator it was.",
  ).nullable(),
  name: personNameSchema.nullable(),
}).describe("Who did it.").openapi("EventActor");

const apiKey = z.object({
  id: idOut("key", "The key's id."),
  name: stringSchema("Its name.", "Production"),
});
const keyWithEnd = apiKey.extend({
  expiresAt: timeOut("When it expires; null for never. Of a replaced key, when it ends.").nullable(),
}).openapi("EventApiKey");

/** Data of events: an endpoint of operators that was disabled belongs to no organization. */
const about = {
  organization: organization.optional(),
  test: z.literal(true).optional().describe("Only in examples that test an endpoint: nothing happened."),
};
const byActor = { ...about, actor };

const limit = z.object({
  ...about,
  limit: z.object({
    id: idOut("lim", "The id of the limit or alert."),
    productSlug: stringSchema("The product whose usage counts. Null for all.", "maps").nullable(),
    metric: stringSchema("The metric that counts. Null for all.", "tiles").nullable(),
    per: z.enum(limitPeriods).describe("The length of its windows."),
    by: z.string().optional().describe(
      "The property of a limit per value. Usage is that of a value. Absent for others.",
    ),
    value: z.string().optional().describe(
      "The value, if the metrics in the catalogue that the limit counts list the property in `shareable`, for at most 100 values of a window.",
    ),
    quantity: z.number().openapi({ description: "The quantity it allows in a window.", example: 100_000 }),
    mode: z.enum(limitModes).describe(
      "`hard` rejects usage that doesn't fit. `cutoff` denies requests that ask when nothing is left.",
    ),
  }),
  alert: z.literal(true).optional().describe("It is an alert, which never rejects."),
  apiKey: apiKey.describe("The key whose usage counts, if it is the limit of a key.").optional(),
  percent: z.number().openapi({
    description: "The percentage of `notifyAt` that was reached, or 100 for a rejected request. " +
      "Each has one event in a window, or in a day for limits by the minute or hour; of several at the same time, the highest.",
    example: 80,
  }),
  used: z.number().openapi({ description: "The usage in the window.", example: 80_000 }),
  held: z.number().openapi({
    description: "How much active holds had taken of the window, besides.",
    example: 0,
  }),
  window: z.object({
    start: timeOut("The start, inclusive."),
    end: timeOut("The end, exclusive."),
  }).nullable().describe("The calendar window. Null for `total`."),
}).openapi("LimitEventData");

const reached = limit.extend({
  reason: z.enum(["full", "too_large", "cutoff"]).openapi({
    description:
      "`full`: the limit is used completely. `too_large`: a request needed more than the rest, and smaller ones still fit. " +
      "`cutoff`: nothing is left of a cutoff limit.",
    example: "full",
  }),
}).openapi("LimitReachedEventData");

const cleared = limit.omit({ percent: true }).extend({
  limit: limit.shape.limit.extend({
    quantity: limit.shape.limit.shape.quantity.nullable().openapi({
      description: "The quantity it allows in a window now. Null if it was removed or doesn't apply anymore.",
    }),
  }),
}).openapi("LimitClearedEventData", { description: "Limits by the minute or hour are never cleared." });

const key = z.object({ ...byActor, apiKey: keyWithEnd }).openapi("ApiKeyEventData");
const member = z.object({
  ...byActor,
  member: z.object({
    id: idOut("usr", "The user's id."),
    name: personNameSchema.nullable(),
    role: roleSchema.optional(),
  }),
}).openapi("MemberEventData");
const ofOrganization = z.object(byActor).openapi("OrganizationEventData");

const data: Readonly<Record<EventType, z.ZodType>> = {
  "limit.approaching": limit,
  "limit.reached": reached,
  "limit.exceeded": limit,
  "limit.cleared": cleared,
  "api_key.created": key,
  "api_key.rotated": z.object({
    ...byActor,
    apiKey: keyWithEnd,
    replacedBy: idOut("key", "The id of the new key."),
  }).openapi("ApiKeyRotatedEventData"),
  "api_key.revoked": key,
  "api_key.expiring": z.object({
    ...about,
    apiKey: keyWithEnd,
    days: z.union([z.literal(7), z.literal(1)]).openapi({ description: "Until it expires.", example: 7 }),
  }).openapi("ApiKeyExpiringEventData"),
  "api_key.leaked": key.extend({
    revoked: z.boolean().describe(
      "The service revoked the key. Otherwise it only notified, and the key still works.",
    ),
  }).openapi("ApiKeyLeakedEventData"),
  "member.added": member,
  "member.removed": member,
  "organization.created": ofOrganization,
  "organization.plan_changed": z.object({
    ...byActor,
    plan: z.object({
      id: idOut("plan", "The new plan's id."),
      name: stringSchema("Its name.", "Business"),
    }),
  }).openapi("PlanChangedEventData"),
  "organization.suspended": ofOrganization,
  "organization.resumed": ofOrganization,
  "organization.deleted": ofOrganization,
  "statement.closed": z.object({
    statement: z.object({
      id: idOut("stm", "The statement's id."),
      period: stringSchema("The month.", "2026-10"),
    }),
    actor,
    test: about.test,
  }).openapi("StatementClosedEventData"),
  "webhook.disabled": z.object({
    ...about,
    webhook: z.object({
      id: idOut("whk", "The endpoint's id."),
      reason: z.enum(["failing", "gone"]).describe("It failed for days, or responded with 410."),
    }),
  }).openapi("WebhookDisabledEventData"),
  "webhook.test": z.object({
    ...about,
    webhook: z.object({ id: idOut("whk", "The endpoint's id.") }),
  }).openapi("WebhookTestEventData"),
};

const timestamp = timeOut("When it happened.");

export function eventBodySchema(type: EventType) {
  return z.object({ type: z.literal(type).describe("The type."), timestamp, data: data[type] });
}

export const eventSchema = z.object({
  id: idOut("evt", "The event's id, which endpoints get as `webhook-id`."),
  type: z.enum(allEventTypes).openapi({ description: "The type.", example: "limit.approaching" }),
  timestamp,
  data: z.union([...new Set(Object.values(data))]).openapi({
    description: "As in the body for this type.",
    example: exampleEvent("limit.approaching").data,
  }),
}).openapi("Event");

const keptDays = eventKeptMs / 86_400_000;
export const eventsKept = `Events are kept for ${keptDays} days.`;

const typeSchema = (types: readonly string[]) =>
  parsed(
    z.string(),
    (text) => isEventType(text) && types.includes(text) ? text : null,
    () => oneOf(types),
  ).optional().openapi({ type: "string", enum: [...types], description: "Only events of this type." });

export const eventQuerySchema = pageQuerySchema.extend({
  from: rangeEnd("The start of the range, inclusive. Defaults to the oldest event."),
  to: rangeEnd("The end of the range, exclusive. Defaults to now."),
  type: typeSchema(eventTypesFor({ isForOperators: false })),
});

export const operatorEventQuerySchema = eventQuerySchema.extend({
  type: typeSchema(allEventTypes),
  organizationId: organizationFilter("By default, events of all."),
});
