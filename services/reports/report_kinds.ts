// Every report by its name: what the reports thread can be asked for.
import { auditCsv } from "../audit_csv.ts";
import type { ReportContext } from "./report_context.ts";
import { countUsage } from "../meter/usage_counts.ts";
import { usageCsv, usageJson } from "../meter/usage_files.ts";
import { readUsagePage } from "../meter/usage_page.ts";
import { listUsageRecords } from "../meter/usage_record_list.ts";
import { scanForVoid } from "../meter/usage_void_scan.ts";

const reports = {
  usageJson,
  usageCsv,
  usageCounts: countUsage,
  usagePage: readUsagePage,
  usageRecords: listUsageRecords,
  auditCsv,
  voidScan: scanForVoid,
};

type ReportKinds = typeof reports;

/** The name of a report. */
export type ReportName = keyof ReportKinds;
/** What a report takes. */
export type ReportInput<N extends ReportName> = Parameters<ReportKinds[N]>[1];
/** What it returns. */
export type ReportResult<N extends ReportName> = Awaited<ReturnType<ReportKinds[N]>>;

/** Runs a report. @returns What it returns. @throws What it throws. */
export function runReport<N extends ReportName>(
  name: N,
  context: ReportContext,
  input: ReportInput<N>,
): Promise<ReportResult<N>> {
  // The name and the input belong together; the compiler does not see that for a union.
  const report = reports[name] as unknown as (
    context: ReportContext,
    input: ReportInput<N>,
  ) => Promise<ReportResult<N>>;
  return report(context, input);
}
