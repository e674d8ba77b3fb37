// All SQL of the outbox: emails are written with the change that caused them, and sent afterwards.
import { newId } from "../../domain/id.ts";
import { outboxCountedMax } from "../../domain/limits.ts";
import { type MailFields, type MailKind, mailUrgency, type NewMail } from "../../domain/outbox/mail.ts";
import { isNotice, recipientBudgets } from "../../domain/outbox/mail_budget.ts";
import { type Audited, ifAudited } from "../access/mod.ts";
import { type Database, sql, type Statement } from "../engine/database.ts";
import { hasConfirmedAccount, takeNotice } from "./mail_budgets.ts";

/**
 * Writes an email. A notice to an address that no account has confirmed counts against that recipient's budgets. Otherwise an
 * account with someone else's address could send that person any number of emails by changing things. A confirmed address
 * gets every notice, so no flood of other emails can suppress one.
 */
export function insertMail(mail: NewMail, { now, audited }: Audited): Statement[] {
  const { kind, to, subject = null, wasConfirmed = false, fields } = mail;
  const isLimited = isNotice(kind) && !wasConfirmed;
  const condition = isLimited ? sql`(changes() > 0 OR ${hasConfirmedAccount(to)})` : sql`true`;
  const insert = sql`
    INSERT INTO outbox (id, kind, recipient, subject, fields, created_at, due_at, attempts)
    SELECT ${newId("mail")}, ${kind}, ${to}, ${subject}, ${JSON.stringify(fields)}, ${now}, ${now}, 0
    WHERE ${ifAudited(audited)} AND ${condition}`;
  return isLimited ? [...takeNotice(recipientBudgets(kind, to), to, { now, audited }), insert] : [insert];
}

/** Writes an email to each address that `recipients` selects as `email`. Without `fields`, it selects those of each as `fields`, too. */
export function insertMails<Kind extends MailKind>(
  kind: Kind,
  recipients: Statement,
  { fields, now }: { fields?: MailFields[Kind]; now: number },
): Statement {
  return sql`
    INSERT INTO outbox (id, kind, recipient, subject, fields, created_at, due_at, attempts)
    SELECT 'mail_' || lower(hex(randomblob(16))), ${kind}, r.email, NULL, ${
    fields === undefined ? sql`r.fields` : JSON.stringify(fields)
  }, ${now}, ${now}, 0
    FROM (${recipients}) r`;
}

/** An email that this server may send until the lease ends. `createdAt`: milliseconds since 1970. */
export interface ClaimedMail {
  readonly id: string;
  readonly kind: MailKind;
  readonly recipient: string;
  readonly subject: string | null;
  /** JSON. */
  readonly fields: string;
  readonly createdAt: number;
  /** Counts its claims, including this one, which it distinguishes from later ones. */
  readonly attempts: number;
}

/**
 * Claims emails that are due, as rows of {@linkcode ClaimedMail} in no particular order. After an outage there are many, and a
 * new password reset must not wait for all of them. So the most urgent go first, and the newest of these, because the people
 * who requested them are still waiting. One place in each round is for the email that has been due longest, so that none waits
 * forever. Both are read from the ends of one index, which makes a long queue as fast as a short one.
 *
 * @param kinds Those that this version of the program can send; others are left to newer versions.
 * @param options `leaseMs`: how long no other server gets these emails; `lookedAt`: from how many of the latest the urgent
 *   ones are chosen.
 */
export function claimMails(
  kinds: readonly MailKind[],
  { now, leaseMs, limit, lookedAt }: { now: number; leaseMs: number; limit: number; lookedAt: number },
) {
  const urgencies = JSON.stringify(Object.fromEntries(kinds.map((kind) => [kind, mailUrgency(kind)])));
  const due = sql`FROM outbox WHERE due_at <= ${now} AND kind IN (SELECT key FROM json_each(${urgencies}))`;
  return sql`
    UPDATE outbox SET due_at = ${now + leaseMs}, attempts = attempts + 1 WHERE id IN (
      SELECT id FROM (
        SELECT latest.id, latest.created_at, urgency.value AS urgency
          FROM (SELECT id, kind, created_at ${due} ORDER BY due_at DESC, id DESC LIMIT ${lookedAt}) latest
          JOIN json_each(${urgencies}) urgency ON urgency.key = latest.kind
        UNION ALL
        SELECT id, created_at, -1 FROM (SELECT id, created_at ${due} ORDER BY due_at, id LIMIT 1) longest)
      GROUP BY id ORDER BY min(urgency), max(created_at) DESC, id DESC LIMIT ${limit})
    RETURNING id, kind, recipient, subject, fields, created_at AS createdAt, attempts`;
}

/** Returns the time at which the next email is due, or null. */
export async function findNextMailDue(database: Database, kinds: readonly MailKind[]) {
  const row = await database.readFirst<{ dueAt: number }>(sql`
    SELECT due_at AS dueAt FROM outbox
    WHERE kind IN (SELECT value FROM json_each(${JSON.stringify(kinds)})) ORDER BY due_at LIMIT 1`);
  return row?.dueAt ?? null;
}

export interface OutboxState {
  /** At most {@linkcode outboxCountedMax}. */
  readonly emails: number;
  readonly oldestAt: number | null;
}

export async function findOutboxState(database: Database): Promise<OutboxState> {
  const state = await database.readFirst<OutboxState>(sql`
    SELECT count(*) AS emails, min(created_at) AS oldestAt
    FROM (SELECT created_at FROM outbox ORDER BY due_at LIMIT ${outboxCountedMax})`);
  return state ?? { emails: 0, oldestAt: null };
}

/** Sets when a claimed email is retried, unless it was claimed again. */
export function updateMailDue({ id, attempts }: ClaimedMail, dueAt: number) {
  return sql`UPDATE outbox SET due_at = ${dueAt} WHERE id = ${id} AND attempts = ${attempts}`;
}

/** Makes some emails due that would wait longer than `waitMaxMs`, because the clock was set back. */
export function capMailDelays(
  { now, waitMaxMs, limit }: { now: number; waitMaxMs: number; limit: number },
) {
  return sql`UPDATE outbox SET due_at = ${now} WHERE id IN (
    SELECT id FROM outbox WHERE due_at > ${now + waitMaxMs} LIMIT ${limit})`;
}

export function deleteMails(ids: readonly string[]) {
  return sql`DELETE FROM outbox WHERE id IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`;
}

export function deleteOldMails({ before, limit }: { before: number; limit: number }) {
  // In the order in which they became due, which those of a server without a mail server have never changed.
  return sql`DELETE FROM outbox WHERE created_at < ${before}
    AND id IN (SELECT id FROM outbox ORDER BY due_at LIMIT ${limit})`;
}
