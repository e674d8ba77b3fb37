// The reports that the reports thread runs, by name.
import { auditCsv } from "./jobs/audit_csv.ts";
import { readKeyList, readUnusedKeys } from "./jobs/api_key_list.ts";
import type { ReportContext } from "./report_context.ts";
import { readKeyUsage } from "./jobs/key_usage.ts";
import { sumLimitCells, sumLimits } from "./jobs/limit_sums.ts";
import { findRemainingExtremes } from "./jobs/remaining_extremes.ts";
import { readOrganizationPage } from "./jobs/organization_list.ts";
import { searchLimitsBelowUse } from "./jobs/limits_below_use.ts";
import { readCatalogue } from "./jobs/catalogue.ts";
import { usageCsv, usageJson } from "./jobs/usage_export.ts";
import { readKeyReport } from "./jobs/key_report.ts";
import { readMetricTotals } from "./jobs/metric_totals.ts";
import { readUsageNames, readUsageOverview } from "./jobs/usage_overview.ts";
import { readUsageRecordPage } from "./jobs/usage_record_list.ts";
import { readUsageRecordView } from "./jobs/usage_record_view.ts";
import { readStatementLines, readStatementStep, statementCsv } from "./jobs/statement_lines.ts";
import { readUsageSums } from "./jobs/usage_sums.ts";
import { readOperatorRecordPage } from "./jobs/operator_usage_records.ts";
import { readUserPage } from "./jobs/user_list.ts";
import { readOperatorUsage } from "./jobs/operator_usage.ts";
import { readOverview } from "./jobs/operator_overview.ts";
import { readPortalOverview } from "./jobs/portal_overview.ts";

const reports = {
  readPortalOverview,
  usageJson,
  usageCsv,
  readKeyUsage,
  readUsageSums,
  readMetricTotals,
  readKeyReport,
  readCatalogue,
  readKeyList,
  readUnusedKeys,
  readUsageNames,
  readUsageOverview,
  readUsageRecordPage,
  readUsageRecordView,
  findRemainingExtremes,
  sumLimitCells,
  sumLimits,
  auditCsv,
  readUserPage,
  readOrganizationPage,
  searchLimitsBelowUse,
  readOverview,
  readOperatorUsage,
  readStatementStep,
  readStatementLines,
  statementCsv,
  readOperatorRecordPage,
};

type Reports = typeof reports;

/** The name of a report. */
export type ReportName = keyof Reports;
/** What a report takes. */
export type ReportInput<N extends ReportName> = Parameters<Reports[N]>[1];
/** What it returns. */
export type ReportResult<N extends ReportName> = Awaited<ReturnType<Reports[N]>>;

/** Runs a report. @returns What it returns. @throws What it throws. */
export function runReport(
  name: ReportName,
  context: ReportContext,
  input: ReportInput<ReportName>,
): Promise<unknown> {
  // The compiler does not see that the name and the input belong together.
  return reports[name](context, input as never);
}
