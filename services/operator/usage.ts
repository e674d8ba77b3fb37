// Operators read the usage of any organizations, on the reports thread.
import type { OperatorActor } from "../../domain/actor.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import { readLimits } from "../meter/limits.ts";
import { groupsOf } from "../meter/usage.ts";
import type { UsageQuery } from "../reports/jobs/usage_sums.ts";
import type { SessionContext } from "../context.ts";
import { operatorReader } from "../reports/report_reader.ts";
import type { ReportBytes } from "../reports/reports.ts";
import { resolveOrganization } from "../access.ts";

/** Which usage to add up. */
export interface OperatorUsageQuery extends UsageQuery {
  /** Ids, or `external:` and an external id; all organizations if undefined. */
  readonly organizationId?: readonly string[] | undefined;
}

/**
 * Adds up usage. Sums that are neither of certain organizations or keys nor grouped by them include deleted organizations.
 *
 * @param options `signal`: cancels the report.
 * @returns As `sumUsage`. @throws {AppError} `not_found`, `validation_failed`, `range_too_long`, `unavailable`.
 */
export async function sumUsageAsOperator(
  context: Pick<SessionContext, "database" | "reports" | "clock">,
  actor: OperatorActor,
  { query, format, signal }: { query: OperatorUsageQuery; format: "json" | "csv"; signal: AbortSignal },
): Promise<ReportBytes> {
  const input = await operatorUsageInput(context, query);
  const report = format === "json" ? "usageJson" : "usageCsv";
  return await context.reports.bytes(report, input, { reader: operatorReader(actor), signal });
}

/** @returns The report's input. @throws {AppError} `not_found` for an unknown organization. */
export async function operatorUsageInput(
  { database, clock }: Pick<SessionContext, "database" | "clock">,
  { organizationId, ...query }: OperatorUsageQuery,
) {
  const resolve = async (idText: string) => (await resolveOrganization({ database }, idText)).id;
  const organizationIds = organizationId && await Promise.all(organizationId.map(resolve));
  return { ...query, groupBy: groupsOf(query), organizationIds, now: clock() };
}

/** Reads where the limits of an organization stand. @throws {AppError} `not_found`, `unavailable`. */
export async function readLimitsAsOperator(
  context: Pick<SessionContext, "database" | "reports" | "clock">,
  actor: OperatorActor,
  { idText, signal }: { idText: string; signal: AbortSignal },
): Promise<LimitStanding[]> {
  const { id: organizationId } = await resolveOrganization(context, idText);
  return await readLimits(context, { organizationId }, { reader: operatorReader(actor), signal });
}
