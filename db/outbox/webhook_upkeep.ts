// SQL that deletes old events and deliveries, and the data of deleted endpoints, some rows at a time.
import { sql, type Statement } from "../engine/database.ts";
import { dayOf } from "./deliveries.ts";

const rowsOfStepMax = 500;
const attemptsOfStepMax = 5_000;

const deleteDeliveries = (which: Statement): Statement[] => [
  sql`DELETE FROM webhook_attempts WHERE (delivery, at) IN (
    SELECT delivery, at FROM webhook_attempts WHERE delivery IN (SELECT number ${which}) LIMIT ${attemptsOfStepMax})`,
  sql`DELETE FROM webhook_deliveries WHERE number IN (SELECT number ${which})
    AND NOT EXISTS (SELECT 1 FROM webhook_attempts a WHERE a.delivery = webhook_deliveries.number)`,
];

/** The batch has deleted everything unless one of its statements changed this many rows. */
export const upkeepRowsMax = rowsOfStepMax;

/**
 * Makes deliveries due that would wait longer than `waitMaxMs`, because the clock was set back, and erases old secrets that no longer
 * sign.
 */
export function capWebhookTimes({ now, waitMaxMs }: { now: number; waitMaxMs: number }): Statement[] {
  const latest = now + waitMaxMs;
  const late = sql`is_slow IN (0, 1) AND turn_at > ${latest}`;
  return [
    sql`UPDATE webhook_deliveries SET due_at = ${now}, is_leased = 0 WHERE number IN (
      SELECT d.number FROM (SELECT number FROM webhooks WHERE ${late} LIMIT ${rowsOfStepMax}) w
        CROSS JOIN webhook_deliveries d ON d.webhook = w.number AND d.status = 'waiting' AND d.due_at > ${latest}
      LIMIT ${rowsOfStepMax})`,
    sql`UPDATE webhooks SET turn_at = ${now}
      WHERE number IN (SELECT number FROM webhooks WHERE ${late} LIMIT ${rowsOfStepMax})`,
    sql`UPDATE webhooks SET old_secret = NULL, old_secret_until = NULL WHERE number IN (
      SELECT number FROM webhooks WHERE old_secret_until <= ${now} LIMIT ${rowsOfStepMax})`,
  ];
}

/** Deletes events, deliveries and days from before a time, and rows of an endpoint that was deleted; at last, the endpoint. */
export function deleteOldWebhookData(before: number): Statement[] {
  // Events and deliveries are numbered in the order of their creation.
  const old =
    sql`FROM (SELECT number, created_at FROM webhook_deliveries ORDER BY number LIMIT ${rowsOfStepMax})
    WHERE created_at < ${before}`;
  const deleted = sql`(SELECT number FROM webhooks WHERE deleted_at IS NOT NULL ORDER BY number LIMIT 1)`;
  const ofDeleted = sql`FROM (SELECT number FROM webhook_deliveries WHERE webhook = ${deleted}
    LIMIT ${rowsOfStepMax})`;
  return [
    sql`DELETE FROM events
      WHERE at < ${before} AND seq IN (SELECT seq FROM events ORDER BY seq LIMIT ${rowsOfStepMax})`,
    ...deleteDeliveries(old),
    sql`DELETE FROM webhook_days WHERE (webhook, day) IN (
      SELECT webhook, day FROM webhook_days WHERE day < ${dayOf(before)} LIMIT ${rowsOfStepMax})`,
    ...deleteDeliveries(ofDeleted),
    sql`DELETE FROM webhook_days WHERE webhook = ${deleted}`,
    sql`DELETE FROM webhooks WHERE number = ${deleted}
      AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.webhook = webhooks.number)`,
  ];
}
