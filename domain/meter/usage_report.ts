// What the usage page shows of the sums: the series of the chart, the figures above it, the keys beneath it.
import { microsToDecimal, microsToNumber } from "./quantity.ts";

/** One sum of a window and a product. */
export interface ReportSum {
  readonly position: number;
  readonly productSlug: string;
  readonly micros: bigint;
  readonly count: number;
}

/** The chart's series and, for each window, a value for each of them. */
export interface ReportChart {
  readonly series: readonly string[];
  readonly windows: readonly ReportChartWindow[];
}

/** One window of the chart. */
export interface ReportChartWindow {
  /** The nearest numbers, to draw. */
  readonly values: readonly number[];
  /** The same, exact, as decimal texts, and all of them added up. */
  readonly sums: readonly string[];
  readonly total: string;
}

/** The chart shows so many series; what is left is added up as the last. */
const chartSeriesMax = 4;

/**
 * @param sums By window and product.
 * @param windows How many windows there are.
 * @returns Products by size, the largest first; of more than four the largest three, and what the others add up to.
 */
export function reportChart(sums: readonly ReportSum[], windows: number): ReportChart {
  const totals = new Map<string, bigint>();
  for (const { productSlug, micros } of sums) {
    totals.set(productSlug, (totals.get(productSlug) ?? 0n) + micros);
  }
  const products = [...totals].sort(largestFirst).map(([name]) => name);
  const named = products.length <= chartSeriesMax ? products : products.slice(0, chartSeriesMax - 1);
  const left = products.length - named.length;
  // No product has a space in its name.
  const series = left === 0 ? named : [...named, `${left} others`];
  const places = new Map(named.map((name, place) => [name, place]));
  const parts = Array.from({ length: windows }, () => series.map(() => 0n));
  for (const { position, productSlug, micros } of sums) {
    const window = parts[position];
    const place = places.get(productSlug) ?? series.length - 1;
    if (window !== undefined) window[place] = (window[place] ?? 0n) + micros;
  }
  return {
    series,
    windows: parts.map((window) => ({
      values: window.map(microsToNumber),
      sums: window.map(microsToDecimal),
      total: microsToDecimal(window.reduce((all, one) => all + one, 0n)),
    })),
  };
}

/** What one key used. */
export interface KeyUsage {
  readonly apiKeyId: string;
  /** The exact sum as a decimal text. */
  readonly sum: string;
  /** Percent of all, to one decimal place; null when all is 0. */
  readonly share: number | null;
  readonly count: number;
}

/** The most active keys, and what is left. */
export interface ReportKeys {
  readonly most: readonly KeyUsage[];
  /** All further keys together; null when there are none. */
  readonly others: (Omit<KeyUsage, "apiKeyId"> & { readonly keys: number }) | null;
  /** How many keys there are in all. */
  readonly keys: number;
}

/**
 * @param sums Of any windows, by key.
 * @param shown How many keys to name.
 * @returns Keys by their sums, the largest first.
 */
export function reportKeys(
  sums: readonly { readonly apiKeyId: string; readonly micros: bigint; readonly count: number }[],
  shown: number,
): ReportKeys {
  const keys = new Map<string, { micros: bigint; count: number }>();
  let all = 0n;
  for (const { apiKeyId, micros, count } of sums) {
    const key = keys.get(apiKeyId) ?? { micros: 0n, count: 0 };
    keys.set(apiKeyId, { micros: key.micros + micros, count: key.count + count });
    all += micros;
  }
  const usage = ({ micros, count }: { micros: bigint; count: number }) => ({
    sum: microsToDecimal(micros),
    share: all === 0n ? null : Number((micros * 1000n + all / 2n) / all) / 10,
    count,
  });
  const sorted = [...keys].sort(([a, x], [b, y]) =>
    x.micros === y.micros ? y.count - x.count || (a < b ? -1 : 1) : x.micros < y.micros ? 1 : -1
  );
  // One key would take as much room as the line that stands for it.
  const named = sorted.length <= shown + 1 ? sorted : sorted.slice(0, shown);
  const rest = sorted.slice(named.length).map(([, key]) => key);
  return {
    most: named.map(([apiKeyId, key]) => ({ apiKeyId, ...usage(key) })),
    others: rest.length === 0 ? null : {
      ...usage({
        micros: rest.reduce((sum, { micros }) => sum + micros, 0n),
        count: rest.reduce((sum, { count }) => sum + count, 0),
      }),
      keys: rest.length,
    },
    keys: keys.size,
  };
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

function largestFirst([a, x]: [string, bigint], [b, y]: [string, bigint]): number {
  return x === y ? (a < b ? -1 : 1) : x < y ? 1 : -1;
}
