// The SQL of deliveries as people and callers see them: lists, single ones with their attempts, the health of endpoints, replays.
import type { Actor } from "../../domain/access/actor.ts";
import type { DeliveryAttempt, DeliveryStatus, WebhookDelivery } from "../../domain/outbox/delivery.ts";
import type { StoredEvent } from "../../domain/outbox/event.ts";
import type { EventType } from "../../domain/outbox/event_types.ts";
import { webhookReplayDeliveriesMax, webhookWaitingMax } from "../../domain/outbox/webhook_limits.ts";
import { insertAuditEvents } from "../access/mod.ts";
import { type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import { isWebhookOf } from "./webhooks.ts";

/** An endpoint of an organization, or of operators if that is null. */
export interface WebhookReference {
  readonly organizationId: string | null;
  readonly webhookId: string;
}

export interface DeliveryRow
  extends Pick<WebhookDelivery, "id" | "eventId" | "status" | "code" | "responseStatus"> {
  readonly type: EventType;
  readonly attempts: number;
  readonly dueAt: number;
  readonly createdAt: number;
  readonly endedAt: number | null;
}

/** `from` is inclusive, `to` exclusive. */
export interface DeliveryRange {
  readonly statuses: readonly DeliveryStatus[];
  readonly types: readonly EventType[];
  readonly from: number;
  readonly to: number;
}

const numberOf = ({ organizationId, webhookId }: WebhookReference): Statement =>
  sql`(SELECT w.number FROM webhooks w WHERE w.id = ${webhookId} AND ${isWebhookOf(organizationId)})`;

const columns = sql`d.id, e.id AS eventId, d.type, d.status, d.attempts, d.due_at AS dueAt,
  d.created_at AS createdAt, d.ended_at AS endedAt, d.code, d.response_status AS responseStatus,
  d.number, e.at AS eventAt, e.facts, e.webhook`;

/**
 * Selects numbers of deliveries of an endpoint. Of 300,000 deliveries three may match, so those of each status and type are read from
 * an index in the order of the list, at most `limit` of each.
 */
const inRange = (
  webhook: Statement,
  { statuses, types, from, to }: DeliveryRange,
  { condition, order, limit }: { condition: Statement; order: Statement; limit: Statement },
): Statement =>
  sql`json_each(${JSON.stringify(statuses)}) s CROSS JOIN json_each(${JSON.stringify(types)}) t
    CROSS JOIN webhook_deliveries d ON d.number IN (
      SELECT d.number FROM webhook_deliveries d
      WHERE d.webhook = ${webhook} AND d.status = s.value AND d.type = t.value
        AND d.created_at >= ${from} AND d.created_at < ${to} AND ${condition}
      ORDER BY d.created_at ${order}, d.number ${order} LIMIT ${limit})`;

/** Returns deliveries of an endpoint with their events, newest first. @param page `after`: the delivery before the first of them. */
export function findDeliveries(
  database: DatabaseReader,
  webhook: WebhookReference,
  range: DeliveryRange,
  { after, limit }: { after: Pick<DeliveryWithEventRow, "createdAt" | "number"> | null; limit: number },
): Promise<DeliveryWithEventRow[]> {
  const condition = after === null
    ? sql`true`
    : sql`(d.created_at, d.number) < (${after.createdAt}, ${after.number})`;
  // The index finds the end by the time alone.
  const to = after === null ? range.to : Math.min(range.to, after.createdAt + 1);
  const found = inRange(numberOf(webhook), { ...range, to }, {
    condition,
    order: sql`DESC`,
    limit: sql`${limit}`,
  });
  return database.read(sql`SELECT ${columns} FROM (
      SELECT d.* FROM ${found} ORDER BY d.created_at DESC, d.number DESC LIMIT ${limit}) d
    CROSS JOIN events e ON e.seq = d.event ORDER BY d.created_at DESC, d.number DESC`);
}

export interface DeliveryWithEventRow extends DeliveryRow, Pick<StoredEvent, "facts" | "webhook"> {
  readonly number: number;
  readonly eventAt: number;
}

export function findDelivery(
  database: DatabaseReader,
  webhook: WebhookReference,
  id: string,
): Promise<DeliveryWithEventRow | undefined> {
  return database.readFirst(sql`
    SELECT ${columns} FROM webhook_deliveries d
    JOIN events e ON e.seq = d.event WHERE d.id = ${id} AND d.webhook = ${numberOf(webhook)}`);
}

export interface AttemptRow extends Omit<DeliveryAttempt, "at"> {
  readonly at: number;
}

export function findAttempts(
  database: DatabaseReader,
  delivery: number,
  limit: number,
): Promise<AttemptRow[]> {
  return database.read(sql`SELECT at, duration_ms AS durationMs, code, response_status AS responseStatus
    FROM webhook_attempts WHERE delivery = ${delivery} ORDER BY at DESC LIMIT ${limit}`);
}

/** Attempts on a day of UTC, counted in days since 1970. */
export interface WebhookDayRow {
  readonly day: number;
  readonly succeeded: number;
  readonly failed: number;
}

export function findWebhookDays(
  database: DatabaseReader,
  webhook: WebhookReference,
  from: number,
): Promise<WebhookDayRow[]> {
  return database.read(sql`SELECT day, succeeded, failed FROM webhook_days
    WHERE webhook = ${numberOf(webhook)} AND day >= ${from}`);
}

/** Returns deliveries by their ids, in this order. The number is null for those that the endpoint doesn't have. */
export function findDeliveriesById(
  database: DatabaseReader,
  webhook: WebhookReference,
  ids: readonly string[],
): Promise<{ number: number | null; isTest: 0 | 1 }[]> {
  return database.read(sql`
    SELECT d.number, e.webhook IS NOT NULL AS isTest FROM json_each(${JSON.stringify(ids)}) i
    LEFT JOIN webhook_deliveries d ON d.id = i.value AND d.webhook = ${numberOf(webhook)}
    LEFT JOIN events e ON e.seq = d.event ORDER BY i.key`);
}

/** Tests are only sent again by their id. */
const isNoTest = sql`EXISTS (SELECT 1 FROM events e WHERE e.seq = d.event AND e.webhook IS NULL)`;

/** Counts failed and held deliveries, each up to the maximum of one replay. Tests don't count. */
export async function countReplayable(
  database: DatabaseReader,
  webhook: WebhookReference,
): Promise<{ failed: number; held: number }> {
  const count = (status: DeliveryStatus) =>
    sql`(SELECT count(*) FROM (SELECT 1 FROM webhook_deliveries d WHERE d.webhook = n.number AND d.status = ${status}
      AND ${isNoTest} LIMIT ${integer(webhookReplayDeliveriesMax)}))`;
  const row = await database.readFirst<{ failed: number; held: number }>(sql`
    SELECT ${count("failed")} AS failed, ${count("held")} AS held FROM (SELECT ${
    numberOf(webhook)
  } AS number) n`);
  return row ?? { failed: 0, held: 0 };
}

/** Returns the numbers of the oldest deliveries in a range that are no tests, as many as one replay may have. */
export async function findReplayable(
  database: DatabaseReader,
  webhook: WebhookReference,
  range: DeliveryRange,
): Promise<number[]> {
  const limit = integer(webhookReplayDeliveriesMax);
  const rows = await database.read<{ number: number }>(sql`
    SELECT d.number FROM ${inRange(numberOf(webhook), range, { condition: isNoTest, order: sql`ASC`, limit })}
    ORDER BY d.created_at, d.number LIMIT ${limit}`);
  return rows.map(({ number }) => number);
}

/** Notes a test if the statement before has written its delivery. @param test `name`: that of the endpoint. */
export function insertTestEntry(
  { organizationId, webhookId }: WebhookReference,
  { type, name }: { type: EventType; name: string },
  { by, now }: { by: Actor; now: number },
): Statement {
  return insertAuditEvents(by, "webhook.tested", {
    now,
    rows: sql`SELECT ${organizationId} AS organizationId, ${webhookId} AS targetId, ${name} AS targetName,
      json_object('event', ${type}) AS details WHERE changes() > 0`,
  });
}

/**
 * Lets deliveries with these numbers wait from the first attempt on, due now: those that still have one of the statuses and aren't due
 * or in progress, as many as there is room for, and none of a disabled endpoint. The audit entry has their number.
 */
export function replayDeliveries(
  webhook: WebhookReference,
  { numbers, statuses }: { numbers: readonly number[]; statuses: readonly DeliveryStatus[] },
  { by, name, now }: { by: Actor; name: string; now: number },
): Statement[] {
  const enabled = sql`FROM webhooks w WHERE w.number = ${numberOf(webhook)} AND w.disabled_at IS NULL`;
  const chosen = sql`FROM json_each(${JSON.stringify(numbers)}) n
    CROSS JOIN webhook_deliveries d ON d.number = n.value
    WHERE d.webhook = (SELECT w.number ${enabled}) AND (d.status <> 'waiting' OR (d.is_leased = 0 AND d.due_at > ${now}))
      AND d.status IN (SELECT value FROM json_each(${JSON.stringify(statuses)}))`;
  return [
    sql`UPDATE webhook_deliveries SET status = 'waiting', attempts = 0, due_at = ${now}, is_leased = 0, ended_at = NULL,
        code = NULL, response_status = NULL
      WHERE number IN (SELECT d.number ${chosen} ORDER BY d.status <> 'waiting', n.key
        LIMIT (SELECT count(*) ${chosen} AND d.status = 'waiting')
          + coalesce((SELECT max(0, ${integer(webhookWaitingMax)} - w.waiting) ${enabled}), 0))`,
    insertAuditEvents(by, "webhook.replayed", {
      now,
      rows:
        sql`SELECT ${webhook.organizationId} AS organizationId, ${webhook.webhookId} AS targetId, ${name} AS targetName,
        json_object('deliveries', CAST(changes() AS TEXT)) AS details WHERE changes() > 0`,
    }),
    sql`UPDATE webhooks SET turn_at = ${now} WHERE turn_at > ${now} AND number = (SELECT w.number ${enabled})`,
  ];
}
