// Usage as CSV: a line for each window and group.
import type { UsageGroup } from "../../db/usage.ts";
import { microsToDecimal } from "../../domain/quantity.ts";
import type { ExactUsage } from "../../services/usage.ts";
import { csvStream } from "./csv.ts";

/** What each group adds to a line. */
const groupColumns: Readonly<
  Record<UsageGroup, readonly ("productSlug" | "metric" | "apiKey" | "apiKeyName")[]>
> = {
  productSlug: ["productSlug"],
  metric: ["metric"],
  apiKey: ["apiKey", "apiKeyName"],
};

/**
 * @param parts Sums in order.
 * @param groupBy The groups that they have.
 * @returns UTF-8 with a line of names first; see {@linkcode csvStream}.
 */
export function usageCsv(
  parts: AsyncGenerator<Iterable<ExactUsage>>,
  groupBy: readonly UsageGroup[],
): ReadableStream<Uint8Array> {
  const columns = groupBy.flatMap((group) => groupColumns[group]);
  const cellsOf = (sum: ExactUsage) => [
    sum.start,
    sum.end,
    ...columns.map((column) => sum[column] ?? ""),
    microsToDecimal(sum.micros),
    String(sum.count),
    microsToDecimal(sum.smallest),
    microsToDecimal(sum.largest),
  ];
  return csvStream(parts, { columns: ["start", "end", ...columns, "sum", "count", "min", "max"], cellsOf });
}
