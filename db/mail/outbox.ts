// All SQL of the outbox: mails are written with the change that caused them, and sent afterwards.
import { newId } from "../../domain/id.ts";
import { outboxCountedMax } from "../../domain/limits.ts";
import { type MailKind, mailUrgency, type NewMail } from "../../domain/mail/mail.ts";
import { mailBudget, mailBudgetSubject, noticeBudget } from "../../domain/mail/mail_budget.ts";
import { ifAudited } from "../audit.ts";
import { type Database, sql, type Statement } from "../engine/database.ts";
import { takeMail } from "./mail_budgets.ts";

const hasConfirmedAccount = (email: string) =>
  sql`EXISTS (SELECT 1 FROM users WHERE email = ${email} AND email_verified_at IS NOT NULL)`;

/**
 * A notice to an address that no account has confirmed takes from that recipient's budget: an account with someone else's
 * address could otherwise send that person any number by changing things. To a confirmed address every notice is written, so
 * no flood of other emails can suppress one.
 *
 * @param options `now`: milliseconds since 1970. `audited`: the id of the audit entry about the change; without that
 *   entry nothing is written.
 * @returns Statements that put an email into the outbox.
 */
export function insertMail(mail: NewMail, options: { now: number; audited: string }): Statement[] {
  const { kind, to, subject = null, wasConfirmed = false, fields } = mail;
  const { now, audited } = options;
  const isLimited = mailBudget(kind) === null && !wasConfirmed;
  const condition = isLimited ? sql`(changes() > 0 OR ${hasConfirmedAccount(to)})` : sql`true`;
  const insert = sql`
    INSERT INTO outbox (id, kind, recipient, subject, fields, created_at, due_at, attempts)
    SELECT ${newId("mail")}, ${kind}, ${to}, ${subject}, ${JSON.stringify(fields)}, ${now}, ${now}, 0
    WHERE ${ifAudited(audited)} AND ${condition}`;
  if (!isLimited) return [insert];
  const { name, mailsMax, windowMs } = noticeBudget;
  const only = sql`${ifAudited(audited)} AND NOT ${hasConfirmedAccount(to)}`;
  return [takeMail({ subject: mailBudgetSubject(name, to), mailsMax, windowMs }, { now, only }), insert];
}

/** A mail that is this instance's to send until its lease ends. */
export interface ClaimedMail {
  readonly id: string;
  readonly kind: MailKind;
  readonly recipient: string;
  readonly subject: string | null;
  /** JSON. */
  readonly fields: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** How often it was claimed, this time included. It tells this claim from later ones. */
  readonly attempts: number;
}

/**
 * After an outage many are due, and whoever asks for a reset then must not wait for all of them. So the most urgent go
 * first, and among these the newest: whoever asked an hour ago has gone away or asked anew, whoever asked just now is
 * waiting. One place of each round is for the mail that is due longest, whatever it is: so each comes to its turn, however
 * many urgent ones there are. Both are read from the ends of one index, so that a long queue costs no more than a short one.
 *
 * @param kinds Those that this version of the program can write; others are left to newer ones.
 * @param options `now` in milliseconds since 1970; `leaseMs`: how long nobody else gets these mails; `limit`: how many;
 *   `lookedAt`: among how many, the last that came due, the urgent ones are chosen.
 * @returns A statement that claims mails that are due, and returns them ({@linkcode ClaimedMail}) in no order.
 */
export function claimMails(
  kinds: readonly MailKind[],
  options: { now: number; leaseMs: number; limit: number; lookedAt: number },
): Statement {
  const urgencies = Object.fromEntries(kinds.map((kind) => [kind, mailUrgency(kind)]));
  const isDue = "due_at <= ?2 AND kind IN (SELECT key FROM json_each(?3))";
  return sql(
    `UPDATE outbox SET due_at = ?1, attempts = attempts + 1 WHERE id IN (
       SELECT id FROM (
         SELECT latest.id, latest.created_at, urgency.value AS urgency
           FROM (SELECT id, kind, created_at FROM outbox WHERE ${isDue} ORDER BY due_at DESC, id DESC LIMIT ?4) latest
           JOIN json_each(?3) urgency ON urgency.key = latest.kind
         UNION ALL
         SELECT id, created_at, -1
           FROM (SELECT id, created_at FROM outbox WHERE ${isDue} ORDER BY due_at, id LIMIT 1) longest)
       GROUP BY id ORDER BY min(urgency), max(created_at) DESC, id DESC LIMIT ?5)
     RETURNING id, kind, recipient, subject, fields, created_at AS createdAt, attempts`,
    options.now + options.leaseMs,
    options.now,
    JSON.stringify(urgencies),
    options.lookedAt,
    options.limit,
  );
}

/** @returns When the next mail is due, in milliseconds since 1970; null without one. @throws {DatabaseError} */
export async function findNextMailDue(
  database: Database,
  kinds: readonly MailKind[],
): Promise<number | null> {
  const row = await database.readFirst<{ dueAt: number }>(
    sql`SELECT due_at AS dueAt FROM outbox WHERE kind IN (SELECT value FROM json_each(${
      JSON.stringify(kinds)
    })) ORDER BY due_at LIMIT 1`,
  );
  return row?.dueAt ?? null;
}

/** How much is waiting to be sent. */
export interface OutboxState {
  /** No more than {@linkcode outboxCountedMax} are counted. */
  readonly emails: number;
  /** When the oldest of these was written, in milliseconds since 1970. */
  readonly oldestAt: number | null;
}

/** @returns What is waiting in the outbox. @throws {DatabaseError} */
export async function findOutboxState(database: Database): Promise<OutboxState> {
  const state = await database.readFirst<OutboxState>(
    sql`SELECT count(*) AS emails, min(created_at) AS oldestAt
     FROM (SELECT created_at FROM outbox ORDER BY due_at LIMIT ${outboxCountedMax})`,
  );
  return state ?? { emails: 0, oldestAt: null };
}

/** @returns A statement that sets when a claimed mail is tried again; it leaves alone what was claimed anew meanwhile. */
export function updateMailDue(
  { id, attempts }: Pick<ClaimedMail, "id" | "attempts">,
  dueAt: number,
): Statement {
  return sql`UPDATE outbox SET due_at = ${dueAt} WHERE id = ${id} AND attempts = ${attempts}`;
}

/** @returns A statement that makes mails due whose time is further away than any wait: the clock was set back since then. */
export function hastenMails({ now, waitMaxMs }: { now: number; waitMaxMs: number }): Statement {
  return sql`UPDATE outbox SET due_at = ${now} WHERE due_at > ${now} + ${waitMaxMs}`;
}

/** @returns A statement that takes mails out of the outbox. */
export function deleteMails(ids: readonly string[]): Statement {
  return sql`DELETE FROM outbox WHERE id IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`;
}

/** @returns A statement that takes mails out of the outbox that were written before a time, in milliseconds since 1970. */
export function deleteOldMails(before: number): Statement {
  return sql`DELETE FROM outbox WHERE created_at < ${before}`;
}
