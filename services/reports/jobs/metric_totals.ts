// The totals of every metric of an organization, with those of the period before, read by the reports thread.
import type { UsageWindow } from "../../../domain/meter/usage_window.ts";
import { isoTime } from "../../../domain/time.ts";
import type { JobContext, JobScope } from "../job_context.ts";
import { readUsageSums } from "./usage_sums.ts";

const metricsMax = 100;

export interface MetricTotalsQuery {
  /** A period, and what to compare it with: see `parsePeriodQuery`. */
  readonly period: UsageWindow & { readonly compared: UsageWindow };
  /** Null for all products. */
  readonly productSlug?: string | null | undefined;
  /** A key's id, which stands for its lineage; null for all keys. */
  readonly apiKey?: string | null | undefined;
}

/** The total of a metric. */
export interface MetricTotal {
  readonly metric: string;
  /** The sum, and that of the compared period: in millionths. */
  readonly micros: bigint;
  readonly before: bigint;
  /** The number of records in the period. */
  readonly records: number;
}

/**
 * Adds up each metric that was recorded in the period or in the compared one.
 *
 * @returns Those with the most records in both periods first, at most 100.
 * @throws {AppError} `range_too_long` for more than 100,000 metrics.
 */
export async function readMetricTotals(
  context: JobContext,
  { organizationId, now, period, productSlug, apiKey }: JobScope & MetricTotalsQuery,
): Promise<MetricTotal[]> {
  const only = (value: string | null | undefined) => value ? [value] : undefined;
  const read = ({ start, end }: UsageWindow) =>
    readUsageSums(context, {
      organizationId,
      now,
      from: isoTime(start),
      to: isoTime(end),
      window: "total",
      groupBy: ["metric"],
      productSlug: only(productSlug),
      apiKey: only(apiKey),
      mergeRotations: true,
    });
  const { data: sums } = await read(period);
  const { data: before } = await read(period.compared);
  return metricTotals(sums, before);
}

/** A sum that belongs to a metric. */
export interface TotalSum {
  readonly metric?: string | undefined;
  readonly micros: bigint;
  readonly count: number;
}

/** Returns the totals of each metric, those with the most records in both periods first, at most 100. */
export function metricTotals(sums: Iterable<TotalSum>, before: Iterable<TotalSum>): MetricTotal[] {
  const totals = new Map<string, MetricTotal & { allRecords: number }>();
  const totalOf = (metric: string) =>
    totals.get(metric) ?? { metric, micros: 0n, before: 0n, records: 0, allRecords: 0 };
  for (const { metric = "", micros, count } of sums) {
    const { records, allRecords, ...total } = totalOf(metric);
    totals.set(metric, {
      ...total,
      micros: total.micros + micros,
      records: records + count,
      allRecords: allRecords + count,
    });
  }
  for (const { metric = "", micros, count } of before) {
    const total = totalOf(metric);
    totals.set(metric, {
      ...total,
      before: total.before + micros,
      allRecords: total.allRecords + count,
    });
  }
  return [...totals.values()]
    .sort((a, b) => b.allRecords - a.allRecords || (a.metric < b.metric ? -1 : 1))
    .slice(0, metricsMax)
    .map(({ allRecords: _allRecords, ...total }) => total);
}
