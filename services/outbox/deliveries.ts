// Deliveries of webhook endpoints: list, read one with its payload and attempts, send again; and the health of an endpoint.
import {
  countReplayable as count,
  type DeliveryRange,
  type DeliveryRow,
  type DeliveryWithEventRow,
  findAttempts,
  findDeliveries,
  findDeliveriesById,
  findDelivery,
  findReplayable,
  findWebhookDays,
  replayDeliveries as replay,
  type WebhookReference,
} from "../../db/outbox/delivery_list.ts";
import { selectWebhook, type WebhookRow } from "../../db/outbox/webhooks.ts";
import { notFoundError, validationError, webhookDisabledError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import { isoTime } from "../../domain/time.ts";
import {
  type DeliveryStatus,
  deliveryStatuses,
  type ListedDelivery,
  type WebhookDelivery,
  type WebhookDeliveryDetails,
} from "../../domain/outbox/delivery.ts";
import { eventPayload, eventSubject } from "../../domain/outbox/event.ts";
import { allEventTypes, type EventType } from "../../domain/outbox/event_types.ts";
import { webhookName } from "../../domain/outbox/webhook.ts";
import {
  deliveryAttemptsMax,
  webhookHealthDays,
  webhookReplayStepMax,
} from "../../domain/outbox/webhook_limits.ts";
import { actorOf, requireAllowed, rowOf } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { type PageInput, readPage, requireIdCursor } from "../pages.ts";
import { changingScope, ownerScope, type WebhookOwner } from "./webhook_owner.ts";
import { getWebhook } from "./webhooks.ts";

/** All deliveries by default. `from` is inclusive, `to` exclusive. */
export interface DeliveryFilter {
  readonly status?: DeliveryStatus | undefined;
  readonly type?: EventType | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** Deliveries by id, also those that wait, or those of a range that failed or were held, or `all` that don't wait. */
export type ReplayInput = { readonly deliveryIds: readonly string[] } | ReplayRange;

interface ReplayRange extends Pick<DeliveryFilter, "from" | "to"> {
  readonly status?: "failed" | "held" | "all" | undefined;
}

/** Lists deliveries of an endpoint, newest first. @throws {AppError} `forbidden`, `not_found`, `validation_failed`. */
export async function listDeliveries(
  context: SessionContext,
  owner: WebhookOwner,
  { webhookId, limit, cursor, ...filter }: { readonly webhookId: string } & DeliveryFilter & PageInput,
): Promise<{ deliveries: ListedDelivery[]; nextCursor: string | null }> {
  const { database } = context;
  requireIdCursor(cursor, "dlv");
  const range = rangeOf(filter);
  await getWebhook(context, owner, webhookId);
  const webhook = referenceOf(owner, webhookId);
  const after = cursor === undefined ? null : await findDelivery(database, webhook, cursor);
  // The delivery of the cursor has been deleted, and with it all that are older.
  if (after === undefined) return { deliveries: [], nextCursor: null };
  const { rows, nextCursor } = await readPage(
    (limit) => findDeliveries(database, webhook, range, { after, limit }),
    { limit, cursorOf: ({ id }) => id },
  );
  const deliveries = rows.map((row) => ({
    ...toDelivery(row),
    subject: eventSubject(payloadOf(row, webhook)),
  }));
  return { deliveries, nextCursor };
}

/** @throws {AppError} `forbidden`, `not_found`. */
export async function getDelivery(
  { database }: SessionContext,
  owner: WebhookOwner,
  { webhookId, id }: { readonly webhookId: string; readonly id: string },
): Promise<WebhookDeliveryDetails> {
  const webhook = referenceOf(owner, webhookId);
  const row = isId("dlv", id) ? await findDelivery(database, webhook, id) : undefined;
  if (row === undefined) throw notFoundError();
  const attempts = await findAttempts(database, row.number, deliveryAttemptsMax);
  return {
    ...toDelivery(row),
    payload: { ...payloadOf(row, webhook) },
    attempts: attempts.map(({ at, ...attempt }) => ({ at: isoTime(at), ...attempt })),
  };
}

function payloadOf(row: DeliveryWithEventRow, { organizationId }: WebhookReference) {
  const event = { ...row, id: row.eventId, at: row.eventAt };
  return eventPayload(event, { isForOperators: organizationId === null });
}

/** Counts failed and held deliveries, each up to `webhookReplayDeliveriesMax`. @throws {AppError} `forbidden`. */
export function countReplayable({ database }: SessionContext, owner: WebhookOwner, webhookId: string) {
  return count(database, referenceOf(owner, webhookId));
}

/** Returns the attempts of the last days of UTC, such as `2026-11-20`, the oldest first. @throws {AppError} `forbidden`. */
export async function readWebhookHealth(
  { database, clock }: SessionContext,
  owner: WebhookOwner,
  webhookId: string,
) {
  const first = Math.floor(clock() / dayMs) - webhookHealthDays + 1;
  const rows = await findWebhookDays(database, referenceOf(owner, webhookId), first);
  return Array.from({ length: webhookHealthDays }, (_, index) => {
    const day = first + index;
    const { succeeded, failed } = rows.find((row) => row.day === day) ?? { succeeded: 0, failed: 0 };
    return { day: isoTime(day * dayMs).slice(0, 10), succeeded, failed };
  });
}

const dayMs = 24 * 3_600_000;

/**
 * Sends deliveries again, from the first attempt on, with the ids of their events. Those that are being sent don't change.
 *
 * @returns Their number; of a range the oldest, as many as may wait for an endpoint. Many are written in steps: after an error, those of
 *   the steps before are sent, and the audit log says how many.
 * @throws {AppError} `forbidden`, `proof_required`, `not_found`, `validation_failed`, `rate_limited`, `webhook_disabled`.
 */
export async function replayDeliveries(
  context: SessionContext,
  owner: WebhookOwner,
  webhookId: string,
  input: ReplayInput,
): Promise<number> {
  const { organizationId, by } = changingScope(context, owner);
  const webhook = await getWebhook(context, owner, webhookId);
  const reference = { organizationId, webhookId };
  const limited = organizationId ?? "operators";
  const { webhookReplays, webhookReplayed } = context.rateLimits;
  requireAllowed(webhookReplays.take(limited));
  const { numbers, statuses } = await chosenDeliveries(context, reference, input);
  requireAllowed(webhookReplayed.takeMany(limited, numbers.length));
  const audited = { by: actorOf(by), name: webhookName(webhook), now: context.clock() };
  let replayed = 0;
  try {
    // At least one step, which finds out whether the endpoint is disabled.
    for (let at = 0; at === 0 || at < numbers.length; at += webhookReplayStepMax) {
      const step = { numbers: numbers.slice(at, at + webhookReplayStepMax), statuses };
      const results = await context.writeAs(by, [
        ...replay(reference, step, audited),
        selectWebhook(organizationId, webhookId),
      ]);
      if (rowOf<WebhookRow>(results, -1).disabledAt !== null) throw webhookDisabledError();
      replayed += results[0]?.changes ?? 0;
      context.webhooks.wake();
    }
  } finally {
    webhookReplayed.giveBack(limited, numbers.length - replayed);
  }
  return replayed;
}

/** @throws {AppError} `validation_failed`, `rate_limited` for too many tests. */
async function chosenDeliveries(
  { database, rateLimits }: SessionContext,
  webhook: WebhookReference,
  input: ReplayInput,
): Promise<{ numbers: readonly number[]; statuses: readonly DeliveryStatus[] }> {
  if (!("deliveryIds" in input)) {
    const range = replayRange(input);
    return { numbers: await findReplayable(database, webhook, range), statuses: range.statuses };
  }
  const found = await findDeliveriesById(database, webhook, input.deliveryIds);
  const message = "is not a delivery of this endpoint.";
  const unknown = found.flatMap(({ number }, at) =>
    number === null ? [{ path: `deliveryIds[${at}]`, message }] : []
  );
  if (unknown.length > 0) throw validationError(unknown);
  const tests = found.filter(({ isTest }) => isTest === 1);
  for (const _ of tests) requireAllowed(rateLimits.webhookTests.take(webhook.organizationId ?? "operators"));
  const numbers = found.map(({ number }) => number).filter((number) => number !== null);
  return { numbers, statuses: [...replayable, "waiting"] };
}

const replayable: readonly DeliveryStatus[] = ["delivered", "failed", "held"];

function replayRange({ status, ...range }: ReplayRange): DeliveryRange {
  const statuses: readonly DeliveryStatus[] = status === undefined
    ? ["failed", "held"]
    : status === "all"
    ? replayable
    : [status];
  return { ...rangeOf(range), statuses, types: allEventTypes };
}

/** @throws {AppError} `validation_failed` for a range that ends before it starts. */
function rangeOf({ status, type, from = 0, to = Number.MAX_SAFE_INTEGER }: DeliveryFilter): DeliveryRange {
  if (to <= from) throw validationError([{ path: "to", message: "must be after “from”." }]);
  return {
    statuses: status === undefined ? deliveryStatuses : [status],
    types: type === undefined ? allEventTypes : [type],
    from,
    to,
  };
}

function referenceOf(owner: WebhookOwner, webhookId: string): WebhookReference {
  const { organizationId } = ownerScope(owner, "webhooks.read");
  return { organizationId, webhookId };
}

function toDelivery(row: DeliveryRow): WebhookDelivery {
  const { id, eventId, type, status, attempts, dueAt, createdAt, endedAt, code, responseStatus } = row;
  return {
    id,
    eventId,
    type,
    status,
    attemptCount: attempts,
    nextAttemptAt: status === "waiting" ? isoTime(dueAt) : null,
    code,
    responseStatus,
    createdAt: isoTime(createdAt),
    endedAt: isoTime(endedAt),
  };
}
