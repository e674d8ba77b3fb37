// Deliveries of webhook endpoints: their shapes and their API.
import { z } from "@hono/zod-openapi";
import type { ErrorCode } from "../../domain/errors.ts";
import { deliveryFaults, deliveryStatuses } from "../../domain/outbox/delivery.ts";
import { allEventTypes, type EventType, eventTypesFor } from "../../domain/outbox/event_types.ts";
import {
  deliveryAttemptsMax,
  webhookReplayDeliveriesMax,
  webhookReplayIdsMax,
  webhookWaitingMax,
} from "../../domain/outbox/webhook_limits.ts";
import type { SessionContext } from "../../services/context.ts";
import { deliveries as verbs, sendTestEvent, type WebhookOwner } from "../../services/outbox/mod.ts";
import type { MountRoute } from "../api/endpoint.ts";
import { idOut, idParam, pageOf, pageQuerySchema, rangeEnd, timeOut } from "../schemas/common.ts";
import { atMost } from "../schemas/messages.ts";

const typeSchema = z.enum(allEventTypes);
const code = z.enum(deliveryFaults).nullable();
const codeWords = [
  "`timeout`: no response within 15 seconds.",
  "`tls`: no secure connection.",
  "`refused`: no connection, an unknown name, or no valid HTTP.",
  "`blocked`: an address that may not be reached.",
  "`status`: a response other than 2xx.",
  `\`overflow\`: more than ${webhookWaitingMax} deliveries of the endpoint were waiting.`,
].join(" ");

const schema = z.object({
  id: idOut("dlv", "The delivery's id."),
  eventId: idOut("evt", "The event's id, which is the header `webhook-id` of each attempt."),
  type: typeSchema.describe("The event's type."),
  status: z.enum(deliveryStatuses).describe(
    "`waiting` for its next attempt; `delivered`; `failed` after the last attempt; `held` because the endpoint is disabled.",
  ),
  attemptCount: z.int().describe("Attempts since it was created or replayed."),
  nextAttemptAt: timeOut("When the next attempt is due. Null unless it is waiting.").nullable(),
  code: code.describe(`Why the last attempt failed. ${codeWords}`),
  responseStatus: z.int().nullable().describe("The HTTP status of the last response."),
  createdAt: timeOut("When it was created."),
  endedAt: timeOut("When it was delivered or failed.").nullable(),
}).openapi("WebhookDelivery");
const detailsSchema = schema.extend({
  payload: z.object({
    type: typeSchema.describe("The event's type."),
    timestamp: timeOut("When the event happened."),
    data: z.record(z.string(), z.unknown()).describe(
      "Details at the time of the event. They depend on the type.",
    ),
  }).describe("The body of each attempt."),
  attempts: z.array(
    z.object({
      at: timeOut("When it was made."),
      durationMs: z.int().describe("How long it took, in milliseconds."),
      code: code.describe("Why it failed. Null if it succeeded."),
      responseStatus: z.int().nullable().describe("The HTTP status of the response."),
    }).openapi("WebhookAttempt"),
  ).describe(`Newest first, at most ${deliveryAttemptsMax}. They include those before replays.`),
}).openapi("WebhookDeliveryDetails", { description: "With its payload and attempts." });

const querySchema = (types: readonly EventType[]) =>
  pageQuerySchema.extend({
    status: z.enum(deliveryStatuses).optional().describe("Deliveries with this status."),
    type: z.enum(types).optional().describe("Deliveries of events of this type."),
    from: rangeEnd("The start of the range, inclusive, by the time of creation."),
    to: rangeEnd("The end of the range, exclusive."),
  });
export const replayStatus = z.enum(["failed", "held", "all"]).optional();
const replaySchema = z.strictObject({
  deliveryIds: z.array(z.string().max(100)).min(1, "must have at least one id.")
    .max(webhookReplayIdsMax, atMost(webhookReplayIdsMax, "ids")).optional().openapi({
      description: `1 to ${webhookReplayIdsMax} deliveries of the endpoint.`,
    }),
  from: rangeEnd("The start of a range, inclusive, by the time of creation. Required without `deliveryIds`."),
  to: rangeEnd("The end of the range, exclusive. Defaults to now."),
  status: replayStatus.describe(
    "Of the range: deliveries with this status, or `all` that aren't waiting. By default those that failed or were held.",
  ),
}).superRefine(({ deliveryIds, from, to, status }, context) => {
  const fault = (path: string, message: string) =>
    context.addIssue({ code: "custom", path: [path], message });
  if (deliveryIds === undefined) {
    if (from === undefined) fault("from", "is required, unless “deliveryIds” is given.");
    return;
  }
  for (const [name, value] of Object.entries({ from, to, status })) {
    if (value !== undefined) fault(name, "can't be combined with “deliveryIds”.");
  }
}).openapi("ReplayWebhookDeliveries");
export const testSchema = (types: readonly EventType[]) =>
  z.strictObject({
    type: z.enum(types).optional().describe("The type of the example, `webhook.test` by default."),
  });

const params = z.object({ id: idParam("whk", "The endpoint's id.") });

/** Mounts the routes below an endpoint. @param path That of the list of endpoints. @param idOf Returns the id of an operation. */
export function deliveryRoutes(
  services: SessionContext,
  route: MountRoute<WebhookOwner>,
  { path, idOf, errors, isForOperators }: {
    path: `/api/${string}`;
    idOf: (name: string) => string;
    errors: readonly ErrorCode[];
    isForOperators: boolean;
  },
): void {
  const types = eventTypesFor({ isForOperators });
  route(
    {
      route: `GET ${path}/{id}/deliveries`,
      operationId: idOf("listWebhookDeliveries"),
      summary: "List deliveries of a webhook endpoint",
      description: "Newest first. Deliveries are kept for 30 days.",
      params,
      query: querySchema(types),
      responses: { 200: { description: "A page of deliveries.", schema: pageOf("deliveries", schema) } },
    },
    async (_c, { params: { id: webhookId }, query }, owner) => {
      const { deliveries, nextCursor } = await verbs.listDeliveries(services, owner, { webhookId, ...query });
      return { deliveries: deliveries.map(({ subject: _, ...delivery }) => delivery), nextCursor };
    },
  );
  route({
    route: `GET ${path}/{id}/deliveries/{deliveryId}`,
    operationId: idOf("getWebhookDelivery"),
    summary: "Get a delivery with its payload and attempts",
    params: params.extend({ deliveryId: idParam("dlv", "The delivery's id.") }),
    responses: { 200: { description: "The delivery.", schema: z.object({ delivery: detailsSchema }) } },
  }, async (_c, { params: { id: webhookId, deliveryId: id } }, owner) => ({
    delivery: await verbs.getDelivery(services, owner, { webhookId, id }),
  }));
  route({
    route: `POST ${path}/{id}/replay`,
    operationId: idOf("replayWebhookDeliveries"),
    summary: "Send deliveries again",
    description:
      `Sends deliveries again from the first attempt on, each with the id of its event. Those that wait for a later attempt are sent now if you name them; those in progress aren't changed. ` +
      `Of a range, the oldest are sent, at most ${webhookReplayDeliveriesMax}, and no more than may wait for an endpoint: ` +
      `${webhookWaitingMax}, with those that are waiting already. If there are more, repeat the request later.`,
    params,
    body: replaySchema,
    responses: {
      202: {
        description: "The deliveries are waiting, due now.",
        schema: z.object({ replayed: z.int().describe("The number of deliveries that are sent again.") }),
      },
    },
    errors: [...errors, "rate_limited", "webhook_disabled"],
  }, async (_c, { params: { id }, body: { deliveryIds, ...range } }, owner) => {
    const input = deliveryIds === undefined ? range : { deliveryIds };
    return { replayed: await verbs.replayDeliveries(services, owner, id, input) };
  });
  route({
    route: `POST ${path}/{id}/test`,
    operationId: idOf("testWebhook"),
    summary: "Send a test event",
    description:
      "Sends an example once, now, also to a disabled endpoint, and waits for the response for up to 15 seconds. It isn't retried.",
    params,
    body: testSchema(types).openapi(isForOperators ? "TestOperatorWebhook" : "TestWebhook"),
    bodyOptional: true,
    responses: {
      200: { description: "The delivery with its result.", schema: z.object({ delivery: detailsSchema }) },
    },
    errors: [...errors, "rate_limited", "unavailable"],
  }, async (_c, { params: { id: webhookId }, body: { type } }, owner) => {
    const id = await sendTestEvent(services, owner, { id: webhookId, type });
    return { delivery: await verbs.getDelivery(services, owner, { webhookId, id }) };
  });
}
