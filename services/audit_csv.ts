// Writes the audit log as CSV, on the reports thread.
import { type AuditEventRow, type AuditQuery, findAuditEvents } from "../db/audit.ts";
import type { AuditEvent } from "../domain/audit.ts";
import { csvLine } from "../domain/csv.ts";
import { auditStepEventsMax } from "../domain/limits.ts";
import { isoTime } from "../domain/time.ts";
import { type ReportContext, type ReportScope, ReportText } from "./reports/report_context.ts";

const columns = [
  "at",
  "action",
  "actor",
  "actorId",
  "target",
  "targetId",
  "details",
  "address",
  "userAgent",
  "requestId",
];

/** Writes a header line, then one line for each entry, newest first. @returns CSV. */
export async function auditCsv(
  context: ReportContext,
  { before: newest, ...query }: ReportScope & Omit<AuditQuery, "limit">,
): Promise<Uint8Array<ArrayBuffer>> {
  const text = new ReportText(context);
  text.add(csvLine(columns));
  for (let before = newest;;) {
    const rows = await findAuditEvents(context.database, { ...query, before, limit: auditStepEventsMax });
    for (const row of rows) text.add(csvLine(cellsOf(toAuditEvent(row))));
    const last = rows.at(-1);
    if (last === undefined || rows.length < auditStepEventsMax) return text.takeBytes();
    before = last;
    await text.flush();
    await context.pause();
  }
}

function cellsOf({ actor, target, details, ...event }: AuditEvent): string[] {
  return [
    event.at,
    event.action,
    actor.name ?? (actor.type === "session" ? "" : actor.type),
    actor.id ?? "",
    target?.name ?? "",
    target?.id ?? "",
    Object.keys(details).length === 0 ? "" : JSON.stringify(details),
    event.address,
    event.userAgent,
    event.requestId ?? "",
  ];
}

/** @returns The public form of an entry. */
export function toAuditEvent(row: AuditEventRow): AuditEvent {
  const { targetId, targetName } = row;
  return {
    id: row.id,
    at: isoTime(row.at),
    action: row.action,
    actor: { type: row.actorType, id: row.actorId, name: row.actorName },
    target: targetId === null && targetName === null ? null : { id: targetId, name: targetName },
    details: JSON.parse(row.details),
    address: row.address,
    userAgent: row.userAgent,
    requestId: row.requestId,
  };
}
