// Responses with what the reports thread writes: only its bytes pass through here.
import type { ReportBytes } from "../../../services/reports/reports.ts";
import type { AppContext } from "../../env.ts";

/** @returns The response with a report. */
export function sendReport(
  c: AppContext,
  { body }: ReportBytes,
  headers: Record<string, string> = { "Content-Type": "application/json" },
): Response {
  return c.body(body, 200, headers);
}
