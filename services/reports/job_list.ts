// The jobs of the reports thread by name.
import { auditCsv } from "./jobs/audit_csv.ts";
import { readKeyList, readUnusedKeys } from "./jobs/api_key_list.ts";
import type { JobContext } from "./job_context.ts";
import { readLastUsage, sumKeyUsage } from "./jobs/key_usage.ts";
import { sumLimitCells, sumLimits } from "./jobs/limit_sums.ts";
import { findRemainingExtremes } from "./jobs/remaining_extremes.ts";
import { readOrganizationList } from "./jobs/organization_console_list.ts";
import { organizationCsv, readOrganizationPage } from "./jobs/organization_list.ts";
import { searchLimitsBelowUse } from "./jobs/limits_below_use.ts";
import { findCatalogue } from "./jobs/catalogue.ts";
import { usageCsv, usageJson } from "./jobs/usage_export.ts";
import { readKeyReport } from "./jobs/key_report.ts";
import { readUsageNames, readUsagePage } from "./jobs/usage_page.ts";
import { readUsageRecordPage } from "./jobs/usage_record_list.ts";
import { readUsageRecordView } from "./jobs/usage_record_view.ts";
import { readStatementStep } from "./jobs/statement_charges.ts";
import { readStatementLines, statementCsv } from "./jobs/statement_lines.ts";
import { readOrganizationStatements, readStatementOrganizations } from "./jobs/statement_organizations.ts";
import { readOperatorRecordPage } from "./jobs/operator_usage_records.ts";
import { readUserPage } from "./jobs/user_list.ts";
import { readOperatorUsagePage } from "./jobs/operator_usage_page.ts";
import { readOverview } from "./jobs/operator_overview.ts";
import { readPortalOverview } from "./jobs/portal_overview.ts";
import { readUsageTotals } from "./jobs/metric_totals.ts";
import { search } from "./jobs/search.ts";

const jobs = {
  readPortalOverview,
  readUsageTotals,
  usageJson,
  usageCsv,
  sumKeyUsage,
  readLastUsage,
  readKeyReport,
  findCatalogue,
  readKeyList,
  readUnusedKeys,
  readUsageNames,
  readUsagePage,
  readUsageRecordPage,
  readUsageRecordView,
  findRemainingExtremes,
  sumLimitCells,
  sumLimits,
  auditCsv,
  readUserPage,
  readOrganizationPage,
  readOrganizationList,
  organizationCsv,
  searchLimitsBelowUse,
  readOverview,
  readOperatorUsagePage,
  readStatementStep,
  readStatementLines,
  statementCsv,
  readStatementOrganizations,
  readOrganizationStatements,
  readOperatorRecordPage,
  search,
};

type Jobs = typeof jobs;

export type JobName = keyof Jobs;
export type JobInput<N extends JobName> = Parameters<Jobs[N]>[1];
export type JobResult<N extends JobName> = Awaited<ReturnType<Jobs[N]>>;

export function runJob(
  name: JobName,
  context: JobContext,
  input: JobInput<JobName>,
): Promise<unknown> {
  // The compiler does not see that the name and the input belong together.
  return jobs[name](context, input as never);
}
