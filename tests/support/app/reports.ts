// A report context for tests that run reports on their own thread.
import { membersOf, type ReportReader } from "../../../services/reports/report_reader.ts";
import type { ReportContext } from "../../../services/reports/report_context.ts";

/** A context without a database. Pauses end immediately, and nothing is sent. */
export const noReportContext: Omit<ReportContext, "database"> = {
  pause: () => Promise.resolve(),
  head: () => {},
  send: () => Promise.resolve(),
};

/** Someone who reads reports in tests. */
export const testReader: ReportReader = membersOf("org_test");
