// What reports use, for tests that run one on their own thread.
import type { ReportContext } from "../../services/reports/report_context.ts";

/** A context without a database: pauses end immediately, and nothing is sent. */
export const noReportContext: Omit<ReportContext, "database"> = {
  pause: () => Promise.resolve(),
  head: () => {},
  send: () => Promise.resolve(),
};
