// Tests of an endpoint: an example of an event, sent once and immediately.
import { hasRoom, insertTestDelivery } from "../../db/outbox/deliveries.ts";
import { insertEvent } from "../../db/outbox/events.ts";
import { isWebhookOf } from "../../db/outbox/webhooks.ts";
import { insertTestEntry } from "../../db/outbox/delivery_list.ts";
import { sql } from "../../db/engine/database.ts";
import { unavailableError, validationError } from "../../domain/errors.ts";
import { newId } from "../../domain/id.ts";
import { type EventType, operatorEventTypes } from "../../domain/outbox/event_types.ts";
import { exampleFacts } from "../../domain/outbox/example_event.ts";
import { type Webhook, webhookName } from "../../domain/outbox/webhook.ts";
import { webhookLeaseMs } from "../../domain/outbox/webhook_limits.ts";
import type { SessionContext } from "../context.ts";
import { actorOf, requireAllowed, subjectOf } from "../access/mod.ts";
import { changingScope, onlyForOperators, type OwnerScope, type WebhookOwner } from "./webhook_owner.ts";
import { getWebhook } from "./webhooks.ts";

/**
 * Sends an example of a type to an endpoint, also to a disabled one, and waits for the response. It is not retried, and a failure
 * doesn't count against the endpoint.
 *
 * @returns The id of the delivery.
 * @throws {AppError} `forbidden`, `proof_required`, `not_found`, `rate_limited`, `unavailable`; `validation_failed` for a type that the owner
 *   doesn't receive.
 */
export async function sendTestEvent(
  context: SessionContext,
  owner: WebhookOwner,
  { id, type = "webhook.test" }: { id: string; type?: EventType | undefined },
): Promise<string> {
  const { organizationId, by } = changingScope(context, owner);
  const webhook = await getWebhook(context, owner, id);
  if (organizationId !== null && operatorEventTypes.has(type)) {
    throw validationError([{ path: "type", message: onlyForOperators }]);
  }
  const { webhookTests, webhookTestsOfPerson, webhookTestsInProgress } = context.rateLimits;
  requireAllowed(webhookTests.take(organizationId ?? "operators"));
  return await webhookTestsOfPerson.during(
    subjectOf(by),
    () =>
      webhookTestsInProgress.during(
        "all",
        () => send(context, { organizationId, by }, webhook, type),
        busyError,
      ),
    busyError,
  );
}

async function send(
  context: SessionContext,
  { organizationId, by }: OwnerScope,
  webhook: Webhook,
  type: EventType,
): Promise<string> {
  const { id } = webhook;
  const now = context.clock();
  const eventId = newId("evt");
  const deliveryId = newId("dlv");
  const endpoint = sql`FROM webhooks w WHERE w.id = ${id} AND ${isWebhookOf(organizationId)}`;
  const event = insertEvent({
    id: eventId,
    type,
    organization: sql`(SELECT w.organization ${endpoint})`,
    at: now,
    facts: exampleFacts(type, id),
    webhook: sql`(SELECT w.number ${endpoint})`,
  }, sql`EXISTS (SELECT 1 ${endpoint} AND ${hasRoom(now)})`);
  const [, inserted] = await context.writeAs(by, [
    event,
    insertTestDelivery({ id: deliveryId, eventId }, { now, leasedUntil: now + webhookLeaseMs }),
    insertTestEntry({ organizationId, webhookId: id }, { type, name: webhookName(webhook) }, {
      by: actorOf(by),
      now,
    }),
  ]);
  if (inserted?.changes !== 1) throw busyError();
  await context.webhooks.sendTest(deliveryId);
  return deliveryId;
}

const busyError = () => unavailableError("Too many requests to endpoints are in progress. Try again later.");
