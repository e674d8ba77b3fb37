// The audit log as operators read it: what operators did, or everything in the log of one organization.
import type { OperatorActor } from "../../domain/actor.ts";
import type { SessionContext } from "../context.ts";
import { type AuditFilter, rangeOf, readAuditPage } from "../audit.ts";
import { type OperatorAuditEvent, toOperatorAuditEvent } from "../reports/jobs/audit_csv.ts";
import type { PageInput } from "../pages.ts";
import { operatorReader } from "../reports/report_reader.ts";
import type { ReportBytes } from "../reports/reports.ts";
import { resolveOrganization } from "../access.ts";

export interface OperatorAuditFilter extends AuditFilter {
  /** An organization's id, or `external:` and its external id. By default, all that operators did. */
  readonly organization?: string | undefined;
}

/** Lists entries, newest first. @throws {AppError} `not_found`; `validation_failed` for an invalid cursor or range. */
export async function listOperatorAudit(
  context: SessionContext,
  { organization, limit, ...filter }: OperatorAuditFilter & PageInput,
): Promise<{ events: OperatorAuditEvent[]; nextCursor: string | null }> {
  const organizationId = await logOf(context, organization);
  const query = { organizationId, isForOperators: true, ...rangeOf(filter), limit };
  const { rows, nextCursor } = await readAuditPage(context.database, query);
  return { events: rows.map(toOperatorAuditEvent), nextCursor };
}

/** Returns all matching entries as CSV. @throws {AppError} As {@linkcode listOperatorAudit}; `unavailable`. */
export async function readOperatorAuditCsv(
  context: SessionContext,
  actor: OperatorActor,
  { organization, signal, ...filter }: OperatorAuditFilter & { signal: AbortSignal },
): Promise<ReportBytes> {
  const query = { organizationId: await logOf(context, organization), ...rangeOf(filter) };
  return await context.reports.bytes("operatorAuditCsv", { query, now: context.clock() }, {
    reader: operatorReader(actor),
    signal,
  });
}

async function logOf(context: SessionContext, organization: string | undefined): Promise<string | null> {
  return organization === undefined ? null : (await resolveOrganization(context, organization)).id;
}
