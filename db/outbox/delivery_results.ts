// SQL of the results of attempts, which counts only while the lease of the delivery holds, and of endpoints that are disabled by them.
import { limitMailOperatorsMax, limitMailRecipientsMax } from "../../domain/limits.ts";
import type { MailFields } from "../../domain/outbox/mail.ts";
import { dailyBudget } from "../../domain/outbox/mail_budget.ts";
import {
  deliveryAttemptsMax,
  webhookDisabledMailsPerDayMax,
  webhookFailingMaxMs,
  webhookFailuresMax,
  webhookQuickAttempts,
} from "../../domain/outbox/webhook_limits.ts";
import { type Audited, ifAudited, managersOf } from "../access/mod.ts";
import { takeMail } from "./mail_budgets.ts";
import { insertMails } from "./mails.ts";
import { integer, sql, type Statement } from "../engine/database.ts";
import { dayOf, type LeasedDelivery, nextTurn } from "./deliveries.ts";
import type { AttemptRow } from "./delivery_list.ts";

/** Times are in milliseconds since 1970. */
export interface AttemptResult extends AttemptRow {
  /** Null if it was the last attempt. */
  readonly retryAt: number | null;
  readonly isSlow: boolean;
}

/** A condition: this server's lease has not ended, and nothing else has changed the delivery since. */
const isHeld = ({ number, attempts, leasedUntil }: LeasedDelivery): Statement =>
  sql`EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.number = ${number} AND d.is_leased = 1
    AND d.due_at = ${leasedUntil} AND d.attempts = ${attempts} AND d.status = 'waiting')`;

/** Notes an attempt in the log and, unless it was a test, in the health of the endpoint. */
export function insertAttempt(delivery: LeasedDelivery, result: AttemptResult): Statement[] {
  const { at, durationMs, code, responseStatus, isSlow } = result;
  const holds = isHeld(delivery);
  const attempt = sql`INSERT INTO webhook_attempts (delivery, at, duration_ms, code, response_status)
    SELECT ${delivery.number}, ${at}, ${durationMs}, ${code}, ${responseStatus} WHERE ${holds}
    ON CONFLICT DO NOTHING`;
  const oldest = sql`DELETE FROM webhook_attempts WHERE delivery = ${delivery.number} AND at <= (
    SELECT at FROM webhook_attempts WHERE delivery = ${delivery.number} ORDER BY at DESC LIMIT 1 OFFSET ${
    integer(deliveryAttemptsMax)
  })`;
  if (delivery.testOf !== null) return [attempt, oldest];
  const [succeeded, failed] = code === null ? [1, 0] : [0, 1];
  const health = code === null
    ? sql`failing_since = NULL, failures = 0, last_delivered_at = ${at}`
    : sql`failing_since = coalesce(failing_since, ${at}), failures = failures + 1`;
  return [
    attempt,
    oldest,
    sql`INSERT INTO webhook_days (webhook, day, succeeded, failed)
      SELECT ${delivery.webhook}, ${dayOf(at)}, ${succeeded}, ${failed} WHERE ${holds}
      ON CONFLICT DO UPDATE SET succeeded = succeeded + excluded.succeeded, failed = failed + excluded.failed`,
    sql`UPDATE webhooks SET ${health}, ${
      isSlow
        ? sql`is_slow = 1, quick_attempts = 0`
        : sql`is_slow = is_slow AND quick_attempts + 1 < ${integer(webhookQuickAttempts)},
          quick_attempts = quick_attempts + 1`
    } WHERE number = ${delivery.webhook} AND ${holds}`,
  ];
}

/** Disables an endpoint after {@linkcode insertAttempt}: immediately if it is gone, otherwise if it has failed for too long. */
export function disableFailing(
  delivery: LeasedDelivery,
  { now, reason }: { now: number; reason: "failing" | "gone" },
): Statement {
  const failsTooLong = sql`failures >= ${integer(webhookFailuresMax)}
    AND failing_since <= ${now - webhookFailingMaxMs}`;
  return sql`UPDATE webhooks SET disabled_at = ${now}, disabled_reason = ${reason}, turn_at = NULL
    WHERE number = ${delivery.webhook} AND disabled_at IS NULL AND deleted_at IS NULL AND ${isHeld(delivery)}
      AND ${reason === "gone" ? sql`true` : failsTooLong}`;
}

/**
 * Writes an email about an audited disabling to the owners and admins of the organization, or to operators, unless they got too many
 * today.
 */
export function insertDisabledMails(
  { organizationId }: LeasedDelivery,
  fields: MailFields["webhook_disabled"],
  { now, audited }: Audited,
): Statement[] {
  const budget = dailyBudget(
    "webhook_disabled",
    organizationId ?? "operators",
    webhookDisabledMailsPerDayMax,
  );
  const canGetMail = sql`changes() > 0 AND u.disabled_at IS NULL AND u.email_verified_at IS NOT NULL`;
  const recipients = organizationId === null
    ? sql`users u WHERE u.operator_since IS NOT NULL AND ${canGetMail}
      ORDER BY u.operator_since LIMIT ${limitMailOperatorsMax}`
    : sql`${managersOf(organizationId)} AND ${canGetMail}
      ORDER BY m.created_at LIMIT ${limitMailRecipientsMax}`;
  return [
    takeMail(budget, { now, only: ifAudited(audited) }),
    insertMails("webhook_disabled", sql`SELECT u.email FROM ${recipients}`, { fields, now }),
  ];
}

/** Ends the lease with the result: the delivery has ended, or waits for its next attempt. Last, because the lease is the condition of all. */
export function endAttempt(
  delivery: LeasedDelivery,
  { code, responseStatus, retryAt }: AttemptResult,
  now: number,
): Statement[] {
  const isRetried = code !== null && retryAt !== null;
  const status = isRetried
    ? sql`iif((SELECT disabled_at FROM webhooks WHERE number = ${delivery.webhook}) IS NULL, 'waiting', 'held')`
    : code === null
    ? sql`'delivered'`
    : sql`'failed'`;
  return [
    sql`UPDATE webhook_deliveries SET status = ${status}, attempts = attempts + 1, is_leased = 0,
      due_at = ${retryAt ?? now}, ended_at = ${
      isRetried ? null : now
    }, code = coalesce(${code}, code), response_status = ${responseStatus}
      WHERE number = ${delivery.number} AND ${isHeld(delivery)}`,
    updateTurns(delivery, now),
  ];
}

/** Gives up a lease without an attempt: the delivery is due, and its endpoint's turn is not before `turnAt`. */
export function giveBack(
  delivery: LeasedDelivery,
  { now, turnAt }: { now: number; turnAt: number },
): Statement[] {
  return [
    sql`UPDATE webhook_deliveries SET is_leased = 0, due_at = ${now}
      WHERE number = ${delivery.number} AND ${isHeld(delivery)}`,
    sql`UPDATE webhooks SET turn_at = ${turnAt}
      WHERE number = ${delivery.webhook} AND disabled_at IS NULL AND deleted_at IS NULL`,
  ];
}

/** Its organization has a place again. Endpoints that wait for their turns keep them. */
function updateTurns({ organization }: LeasedDelivery, now: number): Statement {
  return sql`UPDATE webhooks AS w SET turn_at = iif(turn_at <= ${now}, turn_at, ${nextTurn(now)})
    WHERE organization = ${organization} AND deleted_at IS NULL`;
}
