// The jobs of the reports thread by name.
import { auditCsv } from "../access/jobs/audit_csv.ts";
import { readKeyList, readUnusedKeys } from "../keys/jobs/api_key_list.ts";
import type { JobContext } from "./job_context.ts";
import { readLastUsage, sumKeyUsage } from "../meter/jobs/key_usage.ts";
import { closestValues, sumLimitCells, sumLimits } from "../meter/jobs/limit_sums.ts";
import { sumOutcomes } from "../meter/jobs/request_outcomes.ts";
import { sumRecentUsage } from "../meter/jobs/recent_usage.ts";
import { findOtherRecords } from "../meter/jobs/other_records.ts";
import { readOrganizationList } from "../console/jobs/organization_console_list.ts";
import { organizationCsv, readOrganizationPage } from "../console/jobs/organization_list.ts";
import { searchLimitsBelowUse } from "../console/jobs/limits_below_use.ts";
import { findCatalogue } from "../meter/jobs/catalogue.ts";
import { usageCsv, usageJson } from "../meter/jobs/usage_export.ts";
import { readKeyReport } from "../meter/jobs/key_report.ts";
import { readUsageNames, readUsagePage } from "../meter/jobs/usage_page.ts";
import { readUsageRecordPage } from "../meter/jobs/usage_record_list.ts";
import { readUsageRecordView } from "../meter/jobs/usage_record_view.ts";
import { readMonthPart } from "../billing/jobs/month_part.ts";
import { readStatementStep } from "../billing/jobs/statement_charges.ts";
import { readStatementLines, statementCsv } from "../billing/jobs/statement_lines.ts";
import {
  readOrganizationStatements,
  readStatementOrganizations,
} from "../billing/jobs/statement_organizations.ts";
import { readOperatorRecordPage } from "../meter/jobs/operator_usage_records.ts";
import { readUserPage } from "../console/jobs/user_list.ts";
import { readOperatorUsagePage } from "../console/jobs/operator_usage_page.ts";
import { readOverview } from "../console/jobs/operator_overview.ts";
import { readPortalOverview } from "../console/jobs/portal_overview.ts";
import { readUsageTotals } from "../meter/jobs/usage_report.ts";
import { search } from "../console/jobs/search.ts";

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
  findOtherRecords,
  sumOutcomes,
  sumRecentUsage,
  sumLimitCells,
  sumLimits,
  closestValues,
  auditCsv,
  readUserPage,
  readOrganizationPage,
  readOrganizationList,
  organizationCsv,
  searchLimitsBelowUse,
  readOverview,
  readOperatorUsagePage,
  readMonthPart,
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
