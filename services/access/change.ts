// Changes by a signed-in person or an operator. Each is one batch: the change, its audit entry, its consequences, and an email about it.
import { type Audited, insertAuditEvent } from "../../db/access/audit.ts";
import { type Statement, writeNamed, type WriteResult } from "../../db/engine/database.ts";
import type { AuditEntry } from "../../domain/access/audit.ts";
import type { NewMail } from "../../domain/outbox/mail.ts";
import { notFoundError } from "../../domain/errors.ts";
import type { SessionContext } from "../context.ts";
import { actorOf, type Writer } from "./session_writes.ts";

export interface Change {
  /** If it changes no row, nothing is written. */
  readonly statement: Statement;
  readonly entry: AuditEntry;
  /** Returns statements that run after the change, in the same transaction. */
  readonly after?: (audited: Audited) => readonly Statement[];
  readonly email?: NewMail;
}

/** Writes a change. Returns true if it was made. @throws {AppError} As `writeAs`. */
export async function writeChange(context: SessionContext, by: Writer, change: Change): Promise<boolean> {
  return (await writeAndRead(context, by, change)).isMade;
}

/**
 * Writes a change, and reads its result in the same transaction: reading afterwards could fail, and a change that was
 * made would be reported as failed.
 *
 * @param select Reads one row.
 * @returns `row`: returns the row as it is after the change, made or not; throws `not_found` if there is none.
 * @throws {AppError} As `writeAs`.
 */
export async function writeAndRead<Row>(
  { clock, mail, writeAs }: SessionContext,
  by: Writer,
  { statement, entry, after, email }: Change,
  select?: Statement,
): Promise<{ isMade: boolean; row: () => Row }> {
  const now = clock();
  const audit = insertAuditEvent(actorOf(by), entry, { now });
  const audited = { now, audited: audit.id };
  const results = await writeNamed({ write: (batch) => writeAs(by, batch) }, {
    statement,
    audit: audit.statement,
    after: after?.(audited) ?? [],
    email: email === undefined ? [] : mail.outgoing(email, audited),
    select: select === undefined ? [] : [select],
  });
  const isMade = results.audit.rows.length === 1;
  if (isMade && email !== undefined) mail.wake();
  return { isMade, row: () => rowOf<Row>(results.select) };
}

export function changesBatch(by: Writer, changes: readonly Change[], now: number): Statement[] {
  return changes.flatMap(({ statement, entry, after }) => {
    const audit = insertAuditEvent(actorOf(by), entry, { now });
    return [statement, audit.statement, ...(after?.({ now, audited: audit.id }) ?? [])];
  });
}

/** Returns the row that a statement of a batch has read, the last one by default. @throws {AppError} `not_found` if there is none. */
export function rowOf<Row>(results: readonly WriteResult[], at = -1): Row {
  const [row] = results.at(at)?.rows ?? [];
  if (row === undefined) throw notFoundError();
  return row as Row;
}
