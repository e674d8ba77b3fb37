// Writes the audit log as CSV, on the reports thread.
import { type AuditEventRow, type AuditQuery, findAuditEvents } from "../../../db/access/audit.ts";
import type { AuditEvent } from "../../../domain/access/audit.ts";
import { csvLine } from "../../../domain/csv.ts";
import { auditStepEventsMax } from "../../../domain/limits.ts";
import { isoTime } from "../../../domain/time.ts";
import { type JobContext, JobText, type JobTime } from "../../reports/job_context.ts";

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
  context: JobContext,
  { before: newest, ...query }: JobTime & Omit<AuditQuery, "limit">,
): Promise<Uint8Array<ArrayBuffer>> {
  const { isForOperators } = query;
  const text = new JobText(context);
  text.add(csvLine(isForOperators ? [...columns, "organizationId"] : columns));
  for (let before = newest;;) {
    const rows = await findAuditEvents(context.database, { ...query, before, limit: auditStepEventsMax });
    for (const row of rows) {
      const cells = cellsOf(toAuditEvent(row, query));
      text.add(csvLine(isForOperators ? [...cells, row.organizationId ?? ""] : cells));
    }
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

/** Returns an entry for operators or for customers, who don't see which operator acted, or from where. */
export function toAuditEvent(
  row: AuditEventRow,
  { isForOperators }: Pick<AuditQuery, "isForOperators">,
): AuditEvent {
  const { targetId, targetName } = row;
  const event = {
    id: row.id,
    at: isoTime(row.at),
    action: row.action,
    ...(isForOperators && { organizationId: row.organizationId }),
    actor: { type: row.actorType, id: row.actorId, name: row.actorName },
    target: targetId === null && targetName === null ? null : { id: targetId, name: targetName },
    details: JSON.parse(row.details),
    address: row.address,
    userAgent: row.userAgent,
    requestId: row.requestId,
  };
  if (isForOperators || row.actorType !== "operator") return event;
  return { ...event, actor: { type: "operator", id: null, name: null }, address: "", userAgent: "" };
}
