// Usage sums as JSON and as CSV, written by the reports thread while they are added up.
import type { UsageGroup } from "../../../db/meter/usage_sums.ts";
import { csvLine } from "../../../domain/csv.ts";
import { usageSumRowsMax } from "../../../domain/limits.ts";
import { mixed } from "../../../domain/meter/aggregation.ts";
import { amountToDecimal } from "../../../domain/billing/price.ts";
import { microsToDecimal, microsToNumber } from "../../../domain/meter/quantity.ts";
import { isoTime, isoTimeIn } from "../../../domain/time.ts";
import { type JobContext, JobText } from "../../reports/job_context.ts";
import {
  streamUsageSums,
  tooManySumsError,
  type UsageQuery,
  type UsageScope,
  type UsageSum,
} from "./usage_sums.ts";

type ExportInput = UsageScope & UsageQuery & {
  /** The currency of amounts. */
  readonly currency?: string | null | undefined;
};

const hasAmounts = ({ include }: UsageQuery): boolean => include?.includes("amount") === true;

/** Writes `{from, to, window, data}`. @throws {AppError} As `usageRange`; `range_too_long` for over 100,000 sums. */
export async function usageJson(context: JobContext, input: ExportInput) {
  const { range, split, sumsMax, batches } = await streamUsageSums(context, input);
  // The status is sent with the first bytes, so the sums are counted before any of them is written.
  if (sumsMax > usageSumRowsMax && !await areAtMost(usageSumRowsMax, batches())) throw tooManySumsError();
  const text = new JobText(context);
  const [from, to] = [range.from, range.to].map((ms) => isoTimeIn(ms, range.timezone));
  const head = JSON.stringify({
    ...{ from, to, window: range.unit },
    ...(hasAmounts(input) && { currency: input.currency ?? null }),
    ...(split && { overflow: split.overflow, completeSince: isoTime(split.completeSince) }),
  });
  text.add(`${head.slice(0, -1)},"data":[`);
  let separator = "";
  for await (const batch of batches()) {
    for (const sum of batch) {
      text.add(separator + toJson(sum));
      separator = ",";
    }
    await text.flush();
  }
  text.add("]}");
  return text.takeBytes();
}

async function areAtMost(max: number, batches: AsyncGenerator<Iterable<unknown>>): Promise<boolean> {
  let count = 0;
  for await (const batch of batches) {
    for (const _sum of batch) count++;
    if (count > max) return false;
  }
  return true;
}

/** Returns a sum with the nearest numbers: exact for integers up to 2^53−1. */
function toJson({ start, end, productSlug, metric, apiKey, count, amount, ...sum }: UsageSum): string {
  const { organizationId, organizationName, externalId, properties } = sum;
  return JSON.stringify({
    start,
    end,
    organizationId,
    organizationName,
    externalId,
    productSlug,
    metric,
    apiKey,
    properties,
    ...valueOf(sum),
    count,
    sum: microsToNumber(sum.sumMicros),
    min: sum.minMicros === null ? null : microsToNumber(sum.minMicros),
    max: sum.maxMicros === null ? null : microsToNumber(sum.maxMicros),
    ...(amount !== undefined && { amount: amountToDecimal(amount) }),
  });
}

/** Returns the value of usage whose metric isn't a sum. */
function valueOf({ aggregation, micros, isKnown, isCapped }: Omit<UsageSum, "count" | "start" | "end">) {
  if (aggregation === "sum") return undefined;
  const value = isKnown && aggregation !== mixed ? microsToNumber(micros) : null;
  return { aggregation, value, ...(isCapped && { capped: true }) };
}

const groupColumns = {
  organization: ["organizationId", "organizationName", "externalId"],
  productSlug: ["productSlug"],
  metric: ["metric"],
  apiKey: ["apiKey", "apiKeyName"],
} as const satisfies Record<UsageGroup, readonly (keyof UsageSum)[]>;

/** Additional columns of queries with a metric that isn't a sum. */
const valueColumns = ["aggregation", "value", "capped"] as const;

function valuesOf({ aggregation, micros, isKnown, isCapped }: UsageSum): string[] {
  const value = isKnown && aggregation !== mixed ? microsToDecimal(micros) : "";
  return [aggregation, value, aggregation === "unique" ? String(isCapped) : ""];
}

/** Writes a header line, then one line per window and group. @throws {AppError} As `usageRange`. */
export async function usageCsv(context: JobContext, input: ExportInput) {
  const { hasValues, batches } = await streamUsageSums(context, input);
  const columns = (input.groupBy ?? []).flatMap((group) => groupColumns[group]);
  const properties = [...new Set(input.groupByProperties ?? [])];
  const text = new JobText(context);
  const names = properties.map((name) => `properties.${name}`);
  text.add(
    csvLine([
      "start",
      "end",
      ...columns,
      ...names,
      "sum",
      "count",
      "min",
      "max",
      ...(hasValues ? valueColumns : []),
      ...(hasAmounts(input) ? ["amount", "currency"] : []),
    ]),
  );
  for await (const batch of batches()) {
    for (const sum of batch) {
      text.add(csvLine([
        sum.start,
        sum.end,
        ...columns.map((column) =>
          column === "externalId" ? { exact: sum[column] ?? "" } : sum[column] ?? ""
        ),
        ...properties.map((name) => sum.properties?.[name] ?? ""),
        microsToDecimal(sum.sumMicros),
        String(sum.count),
        sum.minMicros === null ? "" : microsToDecimal(sum.minMicros),
        sum.maxMicros === null ? "" : microsToDecimal(sum.maxMicros),
        ...(hasValues ? valuesOf(sum) : []),
        ...(sum.amount === undefined
          ? []
          : [amountToDecimal(sum.amount) ?? "", sum.amount === null ? "" : input.currency ?? ""]),
      ]));
    }
    await text.flush();
  }
  return text.takeBytes();
}
