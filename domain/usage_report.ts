// What the usage page shows of the sums: which stretch of time, which series of the chart, the figures above it.
import { microsToDecimal, microsToNumber } from "./quantity.ts";
import type { UsageWindow } from "./usage_window.ts";

/** The ranges that one can choose. */
export const reportRanges = ["24h", "7d", "month", "last-month", "90d"] as const;

/** One of {@linkcode reportRanges}. */
export type ReportRange = (typeof reportRanges)[number];

/** A range and the one before it, of the same kind. Milliseconds since 1970. */
export interface ReportPeriod extends UsageWindow {
  readonly unit: "hour" | "day";
  readonly before: UsageWindow;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/**
 * @param now Milliseconds since 1970.
 * @returns The range in UTC, up to the end of the hour or day that runs; months are whole.
 */
export function reportPeriod(range: ReportRange, now: number): ReportPeriod {
  if (range === "month" || range === "last-month") {
    const date = new Date(now);
    const first = date.getUTCMonth() - (range === "month" ? 0 : 1);
    const month = (offset: number) => Date.UTC(date.getUTCFullYear(), first + offset, 1);
    return { start: month(0), end: month(1), unit: "day", before: { start: month(-1), end: month(0) } };
  }
  const [step, steps] = range === "24h" ? [hourMs, 24] as const : [dayMs, range === "7d" ? 7 : 90] as const;
  const end = (Math.floor(now / step) + 1) * step;
  const start = end - steps * step;
  return {
    start,
    end,
    unit: range === "24h" ? "hour" : "day",
    before: { start: start - steps * step, end: start },
  };
}

/** One sum of a window and a product. */
export interface ReportSum {
  readonly position: number;
  readonly productSlug: string;
  readonly micros: bigint;
  readonly count: number;
}

/** The chart's series and, for each window, a value for each of them. */
export interface ReportChart {
  readonly series: string[];
  readonly values: number[][];
}

/** The chart shows so many series; what is left is added up as the last. */
const chartSeriesMax = 4;

/**
 * @param sums By window and product.
 * @param windows How many windows there are.
 * @returns Products by size, the largest first, and beyond three of them "others" when there are more than four.
 */
export function reportChart(sums: readonly ReportSum[], windows: number): ReportChart {
  const totals = new Map<string, bigint>();
  for (const { productSlug, micros } of sums) {
    totals.set(productSlug, (totals.get(productSlug) ?? 0n) + micros);
  }
  const products = [...totals].sort(([a, x], [b, y]) => x === y ? (a < b ? -1 : 1) : x < y ? 1 : -1).map((
    [name],
  ) => name);
  const named = products.length <= chartSeriesMax ? products : products.slice(0, chartSeriesMax - 1);
  const series = named.length === products.length ? named : [...named, "others"];
  const places = new Map(named.map((name, place) => [name, place]));
  const parts = Array.from({ length: windows }, () => series.map(() => 0n));
  for (const { position, productSlug, micros } of sums) {
    const window = parts[position];
    const place = places.get(productSlug) ?? series.length - 1;
    if (window !== undefined) window[place] = (window[place] ?? 0n) + micros;
  }
  return { series, values: parts.map((window) => window.map(microsToNumber)) };
}

/** Figures of a whole range. */
export interface ReportTotals {
  readonly micros: bigint;
  /** The exact sum as a decimal text. */
  readonly sum: string;
  readonly count: number;
  /** The window with the largest sum. */
  readonly busiest: { readonly position: number; readonly sum: string } | null;
}

/** @returns The figures of sums by window. */
export function reportTotals(sums: readonly Omit<ReportSum, "productSlug">[]): ReportTotals {
  const windows = new Map<number, bigint>();
  let micros = 0n;
  let count = 0;
  for (const sum of sums) {
    micros += sum.micros;
    count += sum.count;
    windows.set(sum.position, (windows.get(sum.position) ?? 0n) + sum.micros);
  }
  let busiest: [number, bigint] | undefined;
  for (const window of windows) if (busiest === undefined || window[1] > busiest[1]) busiest = window;
  return {
    micros,
    sum: microsToDecimal(micros),
    count,
    busiest: busiest === undefined ? null : { position: busiest[0], sum: microsToDecimal(busiest[1]) },
  };
}

/** @returns By how many percent `now` is more than `before`, to one decimal place; null when there was nothing before. */
export function percentChange(now: bigint, before: bigint): number | null {
  return before === 0n
    ? null
    : Number(((now - before) * 1000n + (now < before ? -before : before) / 2n) / before) / 10;
}
