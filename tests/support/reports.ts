// What reports work with, for tests that run one on their own thread.
import type { ReportContext } from "../../services/reports/report_context.ts";

/** A context without a database: turns pass immediately, and nothing is sent. */
export const noReportContext: Omit<ReportContext, "database"> = {
  turn: () => Promise.resolve(),
  head: () => {},
  send: () => Promise.resolve(),
};
