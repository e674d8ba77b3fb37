// The reports that the reports thread runs, by name.
import { auditCsv, operatorAuditCsv } from "../audit_csv.ts";
import { readKeyList, readUnusedKeys } from "../api_key_list.ts";
import type { ReportContext } from "./report_context.ts";
import { readKeyUsage } from "../meter/key_usage.ts";
import { sumLimitCells, sumLimits } from "../meter/limit_sums.ts";
import { findRemainingExtremes } from "../meter/remaining_extremes.ts";
import { readOrganizationPage } from "../operator/organization_list.ts";
import { searchLimitsBelowUse } from "../operator/limit_use.ts";
import { readCatalogue } from "../meter/catalogue.ts";
import { usageCsv, usageJson } from "../meter/usage_export.ts";
import { readKeyReport } from "../meter/key_report.ts";
import { readMetricTotals } from "../meter/metric_totals.ts";
import { readUsageNames, readUsageOverview } from "../meter/usage_overview.ts";
import { readUsageRecordPage } from "../meter/usage_record_list.ts";
import { readUsageRecordView } from "../meter/usage_record_view.ts";
import { readStatementLines, readStatementStep, statementCsv } from "../operator/statement_lines.ts";
import { readUsageSums } from "../meter/usage_sums.ts";
import { readOperatorRecordPage } from "../operator/usage_record_page.ts";
import { readUserPage } from "../operator/user_page.ts";
import { readOperatorUsage } from "../operator/usage_overview.ts";
import { readOverview } from "../operator/overview.ts";
import { readPortalOverview } from "../overview_report.ts";

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
  operatorAuditCsv,
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
