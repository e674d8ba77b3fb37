// The SQL of emails about limits: each event that the recorder wrote becomes emails once, also with several servers.
import { managersOf } from "../access/mod.ts";
import type { LimitMailReach } from "../../domain/outbox/limit_mail_reach.ts";
import type { MailFields } from "../../domain/outbox/mail.ts";
import {
  limitMailOperatorsMax,
  limitMailRecipientsMax,
  operatorLimitMailsPerDayMax,
} from "../../domain/limits.ts";
import { alertMailsPerDayMax } from "../../domain/outbox/webhook_limits.ts";
import { dailyBudget } from "../../domain/outbox/mail_budget.ts";
import type { EventFacts, LimitFacts } from "../../domain/outbox/event.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { type EventRow, insertMails, isUnmailed, takeMail } from "../outbox/mod.ts";

/** An event about a limit that was used or exceeded. */
export interface LimitEvent extends EventRow {
  readonly limit: LimitFacts;
  readonly organization: NonNullable<EventFacts["organization"]>;
}

const wantsLimitMails = sql`u.limit_emails = 1 AND u.disabled_at IS NULL`;
const getsLimitMails = sql`${wantsLimitMails} AND u.email_verified_at IS NOT NULL`;
const selectReach = (organizationId: string | null, readerId: string | null = null): Statement =>
  sql`SELECT count(*) AS managers, count(*) FILTER (WHERE ${getsLimitMails}) AS recipients,
    count(*) FILTER (WHERE ${wantsLimitMails} AND u.email_verified_at IS NULL) AS unconfirmed,
    count(*) FILTER (WHERE ${wantsLimitMails} AND u.email_verified_at IS NULL AND u.id = ${readerId}) AS isOwn
  FROM ${managersOf(organizationId)}`;

/** @param readerId Null for operators. */
export async function findLimitMailReach(
  database: DatabaseReader,
  { organizationId, readerId }: { organizationId: string; readerId: string | null },
): Promise<LimitMailReach> {
  const reach = await database.readFirst<LimitMailReach>(selectReach(organizationId, readerId));
  return reach ?? { managers: 0, recipients: 0, unconfirmed: 0, isOwn: 0 };
}

/** Returns the email addresses of operators who want emails about limits. */
export async function findLimitMailOperators(database: DatabaseReader): Promise<string[]> {
  const rows = await database.read<{ email: string }>(sql`
    SELECT u.email FROM users u WHERE u.operator_since IS NOT NULL AND ${getsLimitMails}
    ORDER BY u.operator_since LIMIT ${limitMailOperatorsMax}`);
  return rows.map(({ email }) => email);
}

/**
 * A condition: no server has written the emails of an event, its limit still has a quantity, and its notice is still there. No higher
 * percentage of the window makes the emails needless, and no other value of it has caused them. A request that was rejected earlier doesn't.
 */
const isDue = (event: LimitEvent): Statement =>
  sql`${isUnmailed(event)} AND EXISTS (SELECT 1 FROM usage_limits l
    CROSS JOIN organizations o ON o.id = ${event.organization.id} AND o.deleted_at IS NULL
    CROSS JOIN limit_notices n ON n.organization = o.number AND n.noted_at = ${event.at} AND n.usage_limit = l.number
      AND n.percent = ${event.limit.percent} AND n.at = ${event.limit.usedAt}
      AND n.value = ${event.limit.limit.value ?? ""} AND n.is_quiet = 0
    WHERE l.id = ${event.limit.limit.id} AND l.quantity_whole IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM limit_notices x WHERE x.usage_limit = n.usage_limit AND x.organization = n.organization
        AND x.window_number = n.window_number AND x.percent > n.percent
        AND (x.is_refusal = 0 OR x.noted_at >= n.noted_at)))`;

/** Returns a row of {@linkcode LimitMailReach} if the event is due. */
export function selectMailReach(event: LimitEvent): Statement {
  return sql`SELECT r.* FROM (${selectReach(event.organization.id)}) r WHERE ${isDue(event)}`;
}

/** Writes an email to the owners and admins of an organization, if the event is due, and about alerts unless they got too many today. */
export function insertLimitMails(
  event: LimitEvent,
  kind: "limit_near" | "limit_reached",
  mail: { fields: MailFields["limit_reached"]; now: number },
): Statement[] {
  const budget = dailyBudget("alert", event.organization.id, alertMailsPerDayMax);
  const isAlert = event.limit.limit.isAlert === 1;
  const condition = isAlert ? sql`changes() > 0` : isDue(event);
  const managers = sql`SELECT u.email FROM ${managersOf(event.organization.id)}
    AND ${getsLimitMails} AND ${condition} ORDER BY m.created_at LIMIT ${limitMailRecipientsMax}`;
  return [
    ...isAlert ? [takeMail(budget, { now: mail.now, only: isDue(event) })] : [],
    insertMails(kind, managers, mail),
  ];
}

/** Writes an email to an operator, if the event is due and they didn't get too many, a fifth of them about one organization. */
export function insertOperatorLimitMail(
  event: LimitEvent,
  to: string,
  mail: { fields: MailFields["operator_limit_reached"]; now: number },
): Statement[] {
  const { now } = mail;
  const name = "operator_limit";
  const ofCustomer = dailyBudget(`${name} ${event.organization.id}`, to, operatorLimitMailsPerDayMax / 5);
  const ofAll = dailyBudget(name, to, operatorLimitMailsPerDayMax);
  return [
    takeMail(ofCustomer, { now, only: isDue(event) }),
    takeMail(ofAll, { now, only: sql`changes() > 0` }),
    insertMails("operator_limit_reached", sql`SELECT ${to} AS email WHERE changes() > 0`, mail),
  ];
}
