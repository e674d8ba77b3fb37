// Responses with a report, as JSON or CSV. The reports thread has already encoded the body.
import type { ReportBytes } from "../../../services/reports/reports.ts";
import type { AppContext } from "../../env.ts";

/** The response of {@linkcode sendCsv} in the OpenAPI document. */
export const csvResponse = {
  description: "CSV (RFC 4180) with a header line.",
  contentType: "text/csv",
  headers: {
    "Content-Disposition": {
      description: "The suggested file name.",
      example: 'attachment; filename="usage-2026-11-01-2026-12-01.csv"',
    },
  },
} as const;

/** Responds with a report in JSON. */
export function sendJson(c: AppContext, { body }: ReportBytes): Response {
  return c.body(body, 200, { "Content-Type": "application/json" });
}

/** Responds with a report in CSV, to be saved as `file`. */
export function sendCsv(c: AppContext, { body }: ReportBytes, file: string): Response {
  return c.body(body, 200, {
    "Content-Type": "text/csv; charset=utf-8; header=present",
    "Content-Disposition": `attachment; filename="${file}"`,
  });
}
