// Deliveries of an endpoint, written as the worker would have.
import { type Database, sql } from "../../../db/engine/database.ts";
import { newId } from "../../../domain/id.ts";
import { isoTime } from "../../../domain/time.ts";
import type { DeliveryAttempt, DeliveryFault, DeliveryStatus } from "../../../domain/outbox/delivery.ts";
import type { EventType } from "../../../domain/outbox/event_types.ts";
import { exampleFacts } from "../../../domain/outbox/example_event.ts";

/** A delivery to write. Times are in milliseconds since 1970. */
export interface NewDelivery {
  readonly type: EventType;
  readonly status: DeliveryStatus;
  readonly createdAt: number;
  readonly dueAt?: number;
  readonly isLeased?: boolean;
  readonly isTest?: boolean;
  readonly endedAt?: number;
  readonly attempts?: readonly (Omit<DeliveryAttempt, "at"> & { readonly at: number })[];
  readonly code?: DeliveryFault;
}

/** Writes deliveries with their events and attempts, and counts the attempts by day. @returns Their ids. */
export async function addDeliveries(
  database: Database,
  webhookId: string,
  deliveries: readonly NewDelivery[],
): Promise<string[]> {
  const rows = deliveries.map((delivery) => {
    const { type, createdAt, attempts = [], code = attempts.at(-1)?.code ?? null } = delivery;
    const { endedAt = null, dueAt = createdAt, isLeased = false } = delivery;
    return {
      ...delivery,
      ...{
        id: newId("dlv"),
        event: newId("evt"),
        facts: exampleFacts(type, webhookId),
        attempts,
        code,
        endedAt,
        dueAt,
      },
      isLeased: Number(isLeased),
      response: attempts.at(-1)?.responseStatus ?? null,
    };
  });
  const json = JSON.stringify(rows);
  const webhook = sql`(SELECT number FROM webhooks WHERE id = ${webhookId})`;
  const attempts =
    sql`webhook_deliveries d JOIN json_each(${json}) r ON d.id = r.value ->> 'id', json_each(r.value, '$.attempts') a`;
  await database.write([
    sql`INSERT INTO events (id, type, organization, at, facts, webhook)
      SELECT r.value ->> 'event', r.value ->> 'type', o.number, r.value ->> 'createdAt', json_set(r.value -> 'facts', '$.organization',
        CASE WHEN o.number IS NULL THEN NULL ELSE json_object('id', o.id, 'externalId', o.external_id, 'name', o.name) END), iif(r.value ->> 'isTest', ${webhook}, NULL)
      FROM json_each(${json}) r LEFT JOIN organizations o ON o.number = (SELECT organization FROM webhooks WHERE id = ${webhookId})
      ORDER BY r.key`,
    sql`INSERT INTO webhook_deliveries (id, webhook, event, type, status, attempts, due_at, is_leased, created_at, ended_at, code, response_status)
      SELECT r.value ->> 'id', ${webhook}, e.seq, r.value ->> 'type', r.value ->> 'status', json_array_length(r.value, '$.attempts'),
        r.value ->> 'dueAt', r.value ->> 'isLeased', r.value ->> 'createdAt', r.value ->> 'endedAt', r.value ->> 'code',
        r.value ->> 'response'
      FROM json_each(${json}) r JOIN events e ON e.id = r.value ->> 'event' ORDER BY r.key`,
    sql`INSERT INTO webhook_attempts (delivery, at, duration_ms, code, response_status)
      SELECT d.number, a.value ->> 'at', a.value ->> 'durationMs', a.value ->> 'code', a.value ->> 'responseStatus' FROM ${attempts}`,
    sql`INSERT INTO webhook_days (webhook, day, succeeded, failed)
      SELECT ${webhook}, (a.value ->> 'at') / 86400000, sum(a.value ->> 'code' IS NULL), sum(a.value ->> 'code' IS NOT NULL)
      FROM ${attempts} GROUP BY 2
      ON CONFLICT DO UPDATE SET succeeded = succeeded + excluded.succeeded, failed = failed + excluded.failed`,
    sql`UPDATE event_cursor SET delivered_seq = (SELECT max(seq) FROM events)`,
  ]);
  return rows.map(({ id }) => id);
}

/** Attempts at these times, of which the last succeeded or all failed. */
export function attemptsAt(
  times: readonly number[],
  last: Pick<DeliveryAttempt, "code" | "responseStatus">,
  failed: Pick<DeliveryAttempt, "code" | "responseStatus"> = { code: "status", responseStatus: 500 },
) {
  return times.map((at, index) => ({
    at,
    ...(index === times.length - 1 ? last : failed),
  })).map((attempt) => ({
    ...attempt,
    durationMs: attempt.code === "timeout" ? 15_000 : 40 + Number(isoTime(attempt.at).slice(-4, -1)) % 300,
  }));
}
