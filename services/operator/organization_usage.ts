// The usage of any organization, for its page in the console.
import type { SessionContext } from "../context.ts";
import type { UsageOverview, UsageOverviewQuery } from "../meter/usage_overview.ts";

/** @param options `signal`: cancels the report. @returns What a page shows of an organization's usage. @throws {AppError} `unavailable`. */
export async function readOrganizationUsage(
  { reports, clock }: SessionContext,
  organizationId: string,
  { query, signal }: { query: UsageOverviewQuery; signal: AbortSignal },
): Promise<UsageOverview> {
  return await reports.read("readUsageOverview", { ...query, organizationId, now: clock() }, signal);
}
