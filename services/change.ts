// Changes by a signed-in person or an operator. Each is one batch: the change, its audit entry, what follows from it, and an email about it.
import { type Audited, insertAuditEvent } from "../db/audit.ts";
import type { Statement } from "../db/engine/database.ts";
import type { AuditEntry } from "../domain/audit.ts";
import type { NewMail } from "../domain/mail/mail.ts";
import type { SessionContext } from "./context.ts";
import { actorOf, type Writer } from "./sign_in/session_writes.ts";

/** A change. */
export interface Change {
  /** If it changes no row, nothing is written. */
  readonly statement: Statement;
  readonly entry: AuditEntry;
  /** What follows from the change. @param audited The time of the change, and the id of its audit entry. */
  readonly after?: (audited: Audited) => readonly Statement[];
  readonly email?: NewMail;
}

/** Writes a change. @param by As for `writeAs`. @returns Whether it was made. @throws {AppError} As `writeAs`. */
export async function writeChange(
  { clock, mail, writeAs }: SessionContext,
  by: Writer,
  { statement, entry, after, email }: Change,
): Promise<boolean> {
  const now = clock();
  const audit = insertAuditEvent(actorOf(by), entry, { now });
  const audited = { now, audited: audit.id };
  const [, written] = await writeAs(by, [
    statement,
    audit.statement,
    ...(after?.(audited) ?? []),
    ...(email === undefined ? [] : mail.outgoing(email, audited)),
  ]);
  if (written?.rows.length !== 1) return false;
  if (email !== undefined) mail.wake();
  return true;
}
