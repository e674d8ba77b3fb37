// Changes of how a person signs in. Each is one batch: the change, its audit entry, what follows from it, and an email about it.
import { insertAuditEvent } from "../../db/audit.ts";
import type { Statement } from "../../db/engine/database.ts";
import type { SessionActor } from "../../domain/actor.ts";
import type { AuditEntry } from "../../domain/audit.ts";
import type { NewMail } from "../../domain/mail/mail.ts";
import type { SessionContext } from "../context.ts";

/** A change of how a person signs in. */
export interface SecurityChange {
  /** If it changes no row, nothing is written. */
  readonly statement: Statement;
  readonly entry: AuditEntry;
  /** What follows from the change. @param audited The time of the change, and the id of its audit entry. */
  readonly after?: (audited: { now: number; audited: string }) => readonly Statement[];
  readonly email: NewMail;
}

/** Writes a change of how a person signs in, with its email. @returns Whether it was made. @throws {AppError} */
export async function writeSecurityChange(
  { clock, mail, writeAs }: SessionContext,
  actor: SessionActor,
  { statement, entry, after, email }: SecurityChange,
): Promise<boolean> {
  const now = clock();
  const audit = insertAuditEvent(actor, entry, { now });
  const audited = { now, audited: audit.id };
  const [, written] = await writeAs(actor, [
    statement,
    audit.statement,
    ...(after?.(audited) ?? []),
    ...mail.outgoing(email, audited),
  ]);
  if (written?.rows.length !== 1) return false;
  mail.wake();
  return true;
}
