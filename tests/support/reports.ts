// A report context for tests that run reports on their own thread.
import type { ReportContext } from "../../services/reports/report_context.ts";

/** A context without a database. Pauses end immediately, and nothing is sent. */
export const noReportContext: Omit<ReportContext, "database"> = {
  pause: () => Promise.resolve(),
  head: () => {},
  send: () => Promise.resolve(),
};
