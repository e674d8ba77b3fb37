// The totals of metrics, with those of the period before, read by the reports thread.
import type { UsageWindow } from "../../../domain/meter/usage_window.ts";
import { isoTime } from "../../../domain/time.ts";
import type { JobContext, JobScope } from "../../reports/job_context.ts";
import { findCatalogue } from "./catalogue.ts";
import { readUsageSums } from "./usage_sums.ts";

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

export interface MetricTotalsQuery {
  readonly period: UsageWindow & { readonly compared: UsageWindow };
  readonly timezone?: string;
}

/**
 * Adds up each metric that was recorded in the period or in the compared one, and reads their names.
 *
 * @returns The metrics with the most records in both periods first, at most 100.
 * @throws {AppError} `range_too_long` for more than 100,000 metrics.
 */
export async function readUsageTotals(
  context: JobContext,
  { organizationId, now, period, timezone }: JobScope & MetricTotalsQuery,
) {
  const read = async ({ start, end }: UsageWindow) =>
    (await readUsageSums(context, {
      organizationId,
      now,
      timezone,
      from: isoTime(start),
      to: isoTime(end),
      window: "total",
      groupBy: ["metric"],
    })).data;
  return {
    catalogue: await findCatalogue(context, { organizationId }),
    metrics: metricTotals(await read(period), await read(period.compared)),
  };
}

interface TotalSum {
  readonly metric?: string | undefined;
  readonly micros: bigint;
  readonly count: number;
  readonly isKnown: boolean;
  readonly isCapped: boolean;
}

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
