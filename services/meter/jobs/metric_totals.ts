// The totals of metrics, with those of the period before.
import type { UsageSum } from "./usage_sums.ts";

const metricsMax = 100;

export interface MetricTotal {
  readonly metric: string;
  /** The sum, and that of the compared period: in millionths. */
  readonly micros: bigint;
  readonly before: bigint;
  readonly records: number;
  /** False if a part of `micros` is unknown or beyond a maximum. */
  readonly isComplete: boolean;
}

type TotalSum = Pick<UsageSum, "metric" | "micros" | "count" | "isKnown" | "isCapped">;

/** Returns the totals of each metric, those with the most records in both periods first, at most 100. */
export function metricTotals(sums: Iterable<TotalSum>, before: Iterable<TotalSum>): MetricTotal[] {
  const totals = new Map<string, MetricTotal & { allRecords: number }>();
  const totalOf = (metric: string) =>
    totals.get(metric) ?? { metric, micros: 0n, before: 0n, records: 0, isComplete: true, allRecords: 0 };
  for (const { metric = "", micros, count, isKnown, isCapped } of sums) {
    const { records, allRecords, ...total } = totalOf(metric);
    totals.set(metric, {
      ...total,
      micros: total.micros + micros,
      records: records + count,
      isComplete: total.isComplete && isKnown && !isCapped,
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
