// The SQL of emails about limits: each notice that the recorder wrote becomes emails once, also with several servers.
import { managersOf } from "../access/mod.ts";
import type { LimitMailReach } from "../../domain/outbox/limit_mail_reach.ts";
import type { MailFields } from "../../domain/outbox/mail.ts";
import {
  limitMailOperatorsMax,
  limitMailRecipientsMax,
  operatorLimitMailsPerDayMax,
} from "../../domain/limits.ts";
import { alertMailsPerDayMax } from "../../domain/outbox/webhook_limits.ts";
import { mailBudgetSubject } from "../../domain/outbox/mail_budget.ts";
import type { LimitMode, LimitPeriod } from "../../domain/meter/usage_limit.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { insertMails, takeMail } from "../outbox/mod.ts";

export interface WaitingNotice {
  readonly usageLimit: number;
  readonly organization: number;
  readonly windowNumber: number;
  readonly percent: number;
  readonly isRefusal: 0 | 1;
  readonly isAlert: 0 | 1;
  /** The name of the key whose usage an alert counts. */
  readonly keyName: string | null;
  /** A time in the window, and when the notice was written. */
  readonly at: number;
  readonly notedAt: number;
  /** Null if the organization was deleted. */
  readonly organizationId: string | null;
  readonly organizationName: string;
  readonly timezone: string;
  /** Null if the limit was removed, or has no quantity anymore. */
  readonly whole: number | null;
  readonly micro: number;
  /** Empty for all. */
  readonly productSlug: string;
  /** Empty for all. */
  readonly metric: string;
  readonly per: LimitPeriod;
  readonly mode: LimitMode;
}

/** Returns the oldest notices without emails. */
export function findWaitingNotices(database: DatabaseReader, limit: number): Promise<WaitingNotice[]> {
  return database.read(sql`
    SELECT n.usage_limit AS usageLimit, n.organization, n.window_number AS windowNumber, n.percent,
      n.is_refusal AS isRefusal, l.alert_of IS NOT NULL AS isAlert,
      (SELECT k.name FROM api_keys k WHERE k.lineage = l.alert_lineage ORDER BY k.number DESC LIMIT 1) AS keyName,
      n.at, n.noted_at AS notedAt, o.id AS organizationId, o.name AS organizationName, o.timezone, iif(l.quantity_whole IS NULL, NULL, coalesce(n.quantity_whole, l.quantity_whole)) AS whole,
      coalesce(n.quantity_micro, l.quantity_micro) AS micro, l.product_slug AS productSlug, l.metric, l.per, l.mode
    FROM limit_notices n LEFT JOIN usage_limits l ON l.number = n.usage_limit
    LEFT JOIN organizations o ON o.number = n.organization AND o.deleted_at IS NULL
    WHERE n.mailed_at IS NULL ORDER BY n.noted_at LIMIT ${limit}`);
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

const isNotice = ({ usageLimit, organization, windowNumber, percent }: WaitingNotice): Statement =>
  sql`n.usage_limit = ${usageLimit} AND n.organization = ${organization} AND n.window_number = ${windowNumber}
    AND n.percent = ${percent} AND n.mailed_at IS NULL`;

/**
 * A condition: no server has written the emails of a notice, and no higher percentage of the window makes them needless. A request that
 * was rejected earlier doesn't.
 */
const isDue = (notice: WaitingNotice): Statement =>
  sql`EXISTS (SELECT 1 FROM limit_notices n WHERE ${isNotice(notice)} AND NOT EXISTS (
      SELECT 1 FROM limit_notices x WHERE x.usage_limit = n.usage_limit AND x.organization = n.organization
        AND x.window_number = n.window_number AND x.percent > n.percent
        AND (x.is_refusal = 0 OR x.noted_at >= n.noted_at)))`;

/** Returns a row of {@linkcode LimitMailReach} if the notice is due. */
export function selectNoticeReach(notice: WaitingNotice): Statement {
  return sql`SELECT r.* FROM (${selectReach(notice.organizationId)}) r WHERE ${isDue(notice)}`;
}

/** Writes an email to the owners and admins of an organization, if the notice is due, and about alerts unless they got too many today. */
export function insertLimitMails(
  notice: WaitingNotice,
  kind: "limit_near" | "limit_reached",
  mail: { fields: MailFields["limit_reached"]; now: number },
): Statement[] {
  const budget = {
    subject: mailBudgetSubject("alert", notice.organizationId ?? ""),
    mailsMax: alertMailsPerDayMax,
    windowMs: 24 * 3_600_000,
  };
  const isAlert = notice.isAlert === 1;
  const condition = isAlert ? sql`changes() > 0` : isDue(notice);
  const managers = sql`SELECT u.email FROM ${managersOf(notice.organizationId)}
    AND ${getsLimitMails} AND ${condition} ORDER BY m.created_at LIMIT ${limitMailRecipientsMax}`;
  return [
    ...isAlert ? [takeMail(budget, { now: mail.now, only: isDue(notice) })] : [],
    insertMails(kind, managers, mail),
  ];
}

/** Writes an email to an operator, if the notice is due and they didn't get too many, a fifth of them about one organization. */
export function insertOperatorLimitMail(
  notice: WaitingNotice,
  to: string,
  mail: { fields: MailFields["operator_limit_reached"]; now: number },
): Statement[] {
  const { now } = mail;
  const budget = (name: string, mailsMax: number) => ({
    subject: mailBudgetSubject(name, to),
    mailsMax,
    windowMs: 24 * 3_600_000,
  });
  const ofCustomer = budget(`operator_limit ${notice.organizationId}`, operatorLimitMailsPerDayMax / 5);
  const ofAll = budget("operator_limit", operatorLimitMailsPerDayMax);
  return [
    takeMail(ofCustomer, { now, only: isDue(notice) }),
    takeMail(ofAll, { now, only: sql`changes() > 0` }),
    insertMails("operator_limit_reached", sql`SELECT ${to} AS email WHERE changes() > 0`, mail),
  ];
}

/** Notes that the emails of a notice are written. After them, in the same batch. */
export function markNoticeMailed(notice: WaitingNotice, now: number): Statement {
  return sql`UPDATE limit_notices AS n SET mailed_at = ${now} WHERE ${isNotice(notice)}`;
}
