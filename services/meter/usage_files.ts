// Usage sums as JSON and as CSV, written out on the reports thread while they are added up.
import type { UsageGroup } from "../../db/meter/usage_sums.ts";
import { csvLine } from "../../domain/csv.ts";
import { usageSumRowsMax } from "../../domain/limits.ts";
import { microsToDecimal } from "../../domain/meter/quantity.ts";
import { isoTimeIn } from "../../domain/meter/usage_window.ts";
import { type ReportContext, type ReportScope, ReportText } from "../reports/report_context.ts";
import {
  type ExactUsage,
  streamUsageSums,
  tooManySums,
  type UsageReadInput,
  withNumbers,
} from "./usage_sums.ts";

/**
 * Writes `{from, to, window, data}`.
 *
 * @returns JSON. @throws {AppError} As `usageRange`; `range_too_long` for more than 100,000 sums.
 */
export async function usageJson(
  context: ReportContext,
  input: ReportScope & UsageReadInput,
): Promise<Uint8Array<ArrayBuffer>> {
  const { range, sumsMax, parts } = await streamUsageSums(context, input);
  // The status goes out with the first bytes, so the sums are counted before any of them is written.
  if (sumsMax > usageSumRowsMax && !await areAtMost(usageSumRowsMax, parts())) throw tooManySums();
  const text = new ReportText(context);
  const [from, to] = [range.from, range.to].map((ms) => isoTimeIn(ms, range.timezone));
  const head = JSON.stringify({ from, to, window: range.unit });
  text.add(`${head.slice(0, -1)},"data":[`);
  let separator = "";
  for await (const part of parts()) {
    for (const sum of part) {
      text.add(separator + JSON.stringify(shown(sum)));
      separator = ",";
    }
    await text.flush();
  }
  text.add("]}");
  return text.rest();
}

async function areAtMost(most: number, parts: AsyncGenerator<Iterable<unknown>>): Promise<boolean> {
  let count = 0;
  for await (const part of parts) {
    for (const _sum of part) count++;
    if (count > most) return false;
  }
  return true;
}

function shown(exact: ExactUsage) {
  const {
    position: _position,
    micros: _micros,
    smallest: _smallest,
    largest: _largest,
    apiKeyName: _name,
    ...sum
  } = withNumbers(exact);
  return sum;
}

/** What each group adds to a line. */
const groupColumns: Readonly<
  Record<UsageGroup, readonly ("productSlug" | "metric" | "apiKey" | "apiKeyName")[]>
> = {
  productSlug: ["productSlug"],
  metric: ["metric"],
  apiKey: ["apiKey", "apiKeyName"],
};

/**
 * Writes a line of names, then one for each window and group. The head is the range, such as `2026-11-01-2026-12-01`.
 *
 * @returns CSV. @throws {AppError} As `usageRange`.
 */
export async function usageCsv(
  context: ReportContext,
  input: ReportScope & UsageReadInput,
): Promise<Uint8Array<ArrayBuffer>> {
  const { range, parts } = await streamUsageSums(context, input);
  const day = (ms: number) => isoTimeIn(ms, range.timezone).slice(0, 10);
  context.head(`${day(range.from)}-${day(range.to)}`);
  const columns = (input.groupBy ?? []).flatMap((group) => groupColumns[group]);
  const text = new ReportText(context);
  text.add(csvLine(["start", "end", ...columns, "sum", "count", "min", "max"]));
  for await (const part of parts()) {
    for (const sum of part) {
      text.add(csvLine([
        sum.start,
        sum.end,
        ...columns.map((column) => sum[column] ?? ""),
        microsToDecimal(sum.micros),
        String(sum.count),
        sum.smallest === null ? "" : microsToDecimal(sum.smallest),
        sum.largest === null ? "" : microsToDecimal(sum.largest),
      ]));
    }
    await text.flush();
  }
  return text.rest();
}
