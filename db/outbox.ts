// All SQL of the outbox: mails are written with the change that caused them, and sent afterwards.
import type { NewMail } from "../domain/mail.ts";
import { newId } from "../domain/id.ts";
import { ifAudited } from "./audit.ts";
import { sql, type Statement } from "./database.ts";

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
