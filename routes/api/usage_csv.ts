// Usage as CSV (RFC 4180), made while it is read: however long it is, only a part of it is ever in memory.
import type { UsageGroup } from "../../db/usage.ts";
import { microsToDecimal } from "../../domain/quantity.ts";
import type { ExactUsageSum } from "../../services/usage.ts";

/** What each group adds to a line. */
const groupColumns: Readonly<
  Record<UsageGroup, readonly ("productSlug" | "metric" | "apiKey" | "apiKeyName")[]>
> = {
  productSlug: ["productSlug"],
  metric: ["metric"],
  apiKey: ["apiKey", "apiKeyName"],
};

/**
 * @param parts Sums in order. They are asked for as the reader takes them, and let go of when it goes away.
 * @param groupBy The groups that they have.
 * @returns UTF-8 with a line of names first.
 */
export function usageCsv(
  parts: AsyncGenerator<ExactUsageSum[]>,
  groupBy: readonly UsageGroup[],
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const columns = groupBy.flatMap((group) => groupColumns[group]);
  const line = (sum: ExactUsageSum) =>
    csvLine([
      sum.start,
      ...columns.map((column) => sum[column] ?? ""),
      microsToDecimal(sum.micros),
      String(sum.count),
      microsToDecimal(sum.smallest),
      microsToDecimal(sum.largest),
    ]);
  return new ReadableStream({
    start(controller) {
      controller.enqueue(encoder.encode(csvLine(["start", ...columns, "sum", "count", "min", "max"])));
    },
    async pull(controller) {
      for (;;) {
        const { value, done } = await parts.next();
        if (done) return controller.close();
        if (value.length === 0) continue;
        return controller.enqueue(encoder.encode(value.map(line).join("")));
      }
    },
    async cancel() {
      await parts.return(undefined);
    },
  }, { highWaterMark: 0 });
}

/**
 * @returns A line with its end. A cell that a spreadsheet would take for a formula begins with an apostrophe (OWASP, CSV
 *   injection); one with a comma, a quote or a line end is quoted.
 */
function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
