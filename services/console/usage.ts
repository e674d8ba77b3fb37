// What operators read across organizations, on the reports thread.
import { findPlanReference } from "../../db/billing/mod.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { notFoundError } from "../../domain/errors.ts";
import { resolveOrganization } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { type GivenUsageQuery, groupsOf } from "../meter/mod.ts";
import type { JobTime } from "../reports/job_context.ts";
import type { JobInput, JobResult } from "../reports/job_list.ts";
import { operatorReader } from "../reports/job_reader.ts";
import type { JobBytes } from "../reports/reports.ts";

interface OperatorUsageQuery extends GivenUsageQuery {
  /** Ids, or `external:` and an external id; all organizations if undefined. */
  readonly organizationId?: readonly string[] | undefined;
  readonly planId?: string | undefined;
}

/**
 * Adds up usage. Sums that are neither of certain organizations or keys nor grouped by them include deleted organizations.
 *
 * @returns As `sumUsage`. @throws {AppError} `not_found`, `validation_failed`, `range_too_long`, `dimension_unknown`, `amount_unknown`, `unavailable`.
 */
export async function sumUsageOfOrganizations(
  context: Pick<SessionContext, "database" | "reports" | "clock" | "config">,
  actor: OperatorActor,
  { query, format, signal }: { query: OperatorUsageQuery; format: "json" | "csv"; signal: AbortSignal },
): Promise<JobBytes> {
  const { currency } = context.config;
  const input = { ...await operatorUsageInput(context, query), currency };
  return await context.reports.bytes(format === "json" ? "usageJson" : "usageCsv", input, {
    reader: operatorReader(actor),
    signal,
  });
}

/**
 * Returns a query with the ids of its organizations and the current time.
 *
 * @throws {AppError} `not_found` for an unknown organization or plan.
 */
export async function operatorUsageInput(
  { database, clock }: Pick<SessionContext, "database" | "clock">,
  { organizationId, ...query }: OperatorUsageQuery,
) {
  const { planId } = query;
  if (planId !== undefined && await findPlanReference(database, { id: planId }) === undefined) {
    throw notFoundError();
  }
  const resolve = async (idText: string) => (await resolveOrganization({ database }, idText)).id;
  const organizationIds = organizationId && await Promise.all(organizationId.map(resolve));
  return { ...query, ...groupsOf(query), organizationIds, now: clock() };
}

/** The jobs for pages of the console, and for their lists in the API. */
type ConsoleJob =
  | "readOperatorRecordPage"
  | "readOperatorUsagePage"
  | "readOrganizationList"
  | "readOrganizationPage"
  | "readOverview"
  | "readUserPage"
  | "search"
  | "searchLimitsBelowUse";

/** Runs a job for an operator. @throws {AppError} As the job throws; `unavailable`. */
export async function readForOperator<Job extends ConsoleJob>(
  { reports, clock }: SessionContext,
  actor: OperatorActor,
  { job, signal, ...query }:
    & { readonly job: Job; readonly signal?: AbortSignal | undefined }
    & Omit<JobInput<Job>, keyof JobTime>,
): Promise<JobResult<Job>> {
  const input = { ...query, now: clock() } as unknown as JobInput<Job>;
  return await reports.read(job, input, { reader: operatorReader(actor), signal });
}
