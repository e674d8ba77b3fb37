// All SQL of the outbox: mails are written with the change that caused them, and sent afterwards.
import type { MailKind, NewMail } from "../domain/mail.ts";
import { newId } from "../domain/id.ts";
import { ifAudited } from "./audit.ts";
import { type Database, sql, type Statement } from "./database.ts";

/**
 * @param options `now`: milliseconds since 1970. `audited`: the id of the audit entry about the change; without that
 *   entry nothing is written.
 * @returns A statement that puts a mail into the outbox.
 */
export function insertMail(mail: NewMail, options: { now: number; audited: string }): Statement {
  return sql(
    `INSERT INTO outbox (id, kind, recipient, subject, fields, created_at, due_at, attempts)
     SELECT ?, ?, ?, ?, ?, ?, ?, 0 WHERE ${ifAudited}`,
    newId("mail"),
    mail.kind,
    mail.to,
    mail.subject ?? null,
    JSON.stringify(mail.fields),
    options.now,
    options.now,
    options.audited,
  );
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
 * @param kinds Those that this version of the program can write; others are left to newer ones.
 * @param options `now` in milliseconds since 1970; `leaseMs`: how long nobody else gets these mails; `limit`: how many.
 * @returns A statement that claims mails that are due, oldest first, and returns them ({@linkcode ClaimedMail}) in no order.
 */
export function claimMails(
  kinds: readonly MailKind[],
  options: { now: number; leaseMs: number; limit: number },
): Statement {
  return sql(
    `UPDATE outbox SET due_at = ?, attempts = attempts + 1
     WHERE id IN (SELECT id FROM outbox WHERE due_at <= ? AND kind IN (SELECT value FROM json_each(?))
       ORDER BY due_at, id LIMIT ?)
     RETURNING id, kind, recipient, subject, fields, created_at AS createdAt, attempts`,
    options.now + options.leaseMs,
    options.now,
    JSON.stringify(kinds),
    options.limit,
  );
}

/** @returns When the next mail is due, in milliseconds since 1970; null without one. @throws {DatabaseError} */
export async function findNextMailDue(
  database: Database,
  kinds: readonly MailKind[],
): Promise<number | null> {
  const row = await database.readFirst<{ dueAt: number }>(sql(
    `SELECT due_at AS dueAt FROM outbox WHERE kind IN (SELECT value FROM json_each(?)) ORDER BY due_at LIMIT 1`,
    JSON.stringify(kinds),
  ));
  return row?.dueAt ?? null;
}

/** @returns A statement that sets when a claimed mail is tried again; it leaves alone what was claimed anew meanwhile. */
export function updateMailDue(
  { id, attempts }: Pick<ClaimedMail, "id" | "attempts">,
  dueAt: number,
): Statement {
  return sql("UPDATE outbox SET due_at = ? WHERE id = ? AND attempts = ?", dueAt, id, attempts);
}

/** @returns A statement that takes mails out of the outbox. */
export function deleteMails(ids: readonly string[]): Statement {
  return sql("DELETE FROM outbox WHERE id IN (SELECT value FROM json_each(?))", JSON.stringify(ids));
}

/** @returns A statement that takes mails out of the outbox that were written before a time, in milliseconds since 1970. */
export function deleteOldMails(before: number): Statement {
  return sql("DELETE FROM outbox WHERE created_at < ?", before);
}
