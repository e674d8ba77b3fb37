// Responses with the bytes of a job, as JSON or CSV, which the reports thread has already encoded.
import { usageRange, type UsageRangeInput } from "../../domain/meter/usage_window.ts";
import { isoTimeIn } from "../../domain/time.ts";
import type { JobBytes } from "../../services/reports/reports.ts";
import type { AppContext } from "../env.ts";

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

export function sendJson(c: AppContext, body: JobBytes): Response {
  return c.body(body, 200, { "Content-Type": "application/json" });
}

const byteOrderMark = Uint8Array.of(0xef, 0xbb, 0xbf);

/**
 * Responds with CSV, to be saved as `file`. A file that a person downloads from a page begins with a byte-order mark, without which
 * Excel doesn't read UTF-8. For programs, it would be a part of the first column's name.
 */
export function sendCsv(c: AppContext, body: JobBytes, file: string): Response {
  const isForPerson = c.get("headers")["sec-fetch-mode"] === "navigate";
  return c.body(isForPerson ? ReadableStream.from(marked(body)) : body, 200, {
    "Content-Type": "text/csv; charset=utf-8; header=present",
    "Content-Disposition": `attachment; filename="${file}"`,
  });
}

async function* marked(body: JobBytes) {
  yield byteOrderMark;
  if (body instanceof Uint8Array) yield body;
  else yield* body;
}

/** Returns the name of a file with the sums of a valid query, such as `usage-2026-11-01-2026-12-01.csv`. */
export function usageFile(query: UsageRangeInput, now: number): string {
  const { from, to, timezone } = usageRange({ ...query, window: "total" }, now);
  const [first, last] = [from, to].map((ms) => isoTimeIn(ms, timezone).slice(0, 10));
  return `usage-${first}-${last}.csv`;
}
