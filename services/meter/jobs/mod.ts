// Jobs of the reports thread on usage, for the jobs of other subjects. They only read.
export { findCatalogue } from "./catalogue.ts";
export type { KeyReportQuery } from "./key_report.ts";
export { sumKeyUsage } from "./key_usage.ts";
export type { OperatorRecordQuery, OperatorUsageRecord } from "./operator_usage_records.ts";
export { usageCsv } from "./usage_export.ts";
export {
  readFilteredReport,
  type UsagePageFilters,
  type UsagePageNumbers,
  type UsagePageQuery,
} from "./usage_page.ts";
export type { ExplorerGroup, ExplorerNumbers } from "./outcome_report.ts";
export {
  readUsageReport,
  type ReportGroup,
  type ReportNumbers,
  type UsageReportQuery,
} from "./usage_report.ts";
export { readUsageSums, type UsageScope } from "./usage_sums.ts";
export { readValues, type UsageValue } from "./usage_values.ts";
