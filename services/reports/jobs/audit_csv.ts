// Writes the audit log as CSV, on the reports thread.
import { type AuditEventRow, type AuditQuery, findAuditEvents } from "../../../db/audit.ts";
import type { AuditEvent } from "../../../domain/audit.ts";
import { csvLine } from "../../../domain/csv.ts";
import { auditStepEventsMax } from "../../../domain/limits.ts";
import { isoTime } from "../../../domain/time.ts";
import {
  type OperatorReportScope,
  type ReportContext,
  type ReportScope,
  ReportText,
} from "../report_context.ts";

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

/** Which entries to write. */
type AuditCsvQuery = Omit<AuditQuery, "limit" | "isForOperators">;

/** Writes a header line, then one line for each entry, newest first. @returns CSV. */
export function auditCsv(context: ReportContext, query: ReportScope & AuditCsvQuery) {
  return writeCsv(context, { ...query, isForOperators: false });
}

/** The same for operators, who also see what operators did, and for which organization. */
export function operatorAuditCsv(
  context: ReportContext,
  { query }: OperatorReportScope & { readonly query: AuditCsvQuery },
) {
  return writeCsv(context, { ...query, isForOperators: true });
}

async function writeCsv(
  context: ReportContext,
  { before: newest, isForOperators, ...query }: AuditCsvQuery & { isForOperators: boolean },
): Promise<Uint8Array<ArrayBuffer>> {
  const text = new ReportText(context);
  text.add(csvLine(isForOperators ? [...columns, "organizationId"] : columns));
  for (let before = newest;;) {
    const page = { ...query, isForOperators, before, limit: auditStepEventsMax };
    const rows = await findAuditEvents(context.database, page);
    for (const row of rows) {
      const cells = cellsOf(isForOperators ? toOperatorAuditEvent(row) : toAuditEvent(row));
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

/** @returns An entry as customers see it: not which operator did something, nor from where. */
export function toAuditEvent(row: AuditEventRow): AuditEvent {
  const { organizationId: _organizationId, ...event } = toOperatorAuditEvent(row);
  if (event.actor.type !== "operator") return event;
  return { ...event, actor: { type: "operator", id: null, name: null }, address: "", userAgent: "" };
}

/** An entry as operators see it. */
export interface OperatorAuditEvent extends AuditEvent {
  /** The organization whose log it is in, or null. */
  readonly organizationId: string | null;
}

/** @returns An entry as operators see it. */
export function toOperatorAuditEvent(row: AuditEventRow): OperatorAuditEvent {
  const { targetId, targetName } = row;
  return {
    id: row.id,
    at: isoTime(row.at),
    action: row.action,
    organizationId: row.organizationId,
    actor: { type: row.actorType, id: row.actorId, name: row.actorName },
    target: targetId === null && targetName === null ? null : { id: targetId, name: targetName },
    details: JSON.parse(row.details),
    address: row.address,
    userAgent: row.userAgent,
    requestId: row.requestId,
  };
}
