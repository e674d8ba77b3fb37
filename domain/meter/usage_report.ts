// The numbers on the usage page: the chart's series, the figures above it and the keys below it.
import { microsToDecimal, microsToNumber } from "./quantity.ts";

/** One sum of a window and a group. */
export interface ReportSum {
  readonly position: number;
  readonly productSlug?: string | undefined;
  /** Null for usage without a key. */
  readonly apiKey?: string | null | undefined;
  readonly micros: bigint;
  readonly count: number;
}

/** The number of series that a chart of one organization has. */
const chartSeriesMax = 4;

/** @returns Products by sum, largest first. If there are more than `seriesMax`, the last series is the sum of the others. */
export function reportChart(sums: readonly ReportSum[], windows: number, seriesMax = chartSeriesMax) {
  const totals = new Map<string, bigint>();
  for (const { productSlug = "", micros } of sums) {
    totals.set(productSlug, (totals.get(productSlug) ?? 0n) + micros);
  }
  const products = [...totals].sort(largestFirst).map(([name]) => name);
  const named = products.length <= seriesMax ? products : products.slice(0, seriesMax - 1);
  const others = products.length - named.length;
  // Can't be a product, whose slug has no spaces.
  const series = others === 0 ? named : [...named, `${others} others`];
  const indexes = new Map(named.map((name, index) => [name, index]));
  const values = Array.from({ length: windows }, () => series.map(() => 0n));
  for (const { position, productSlug = "", micros } of sums) {
    const window = values[position];
    const index = indexes.get(productSlug) ?? series.length - 1;
    if (window !== undefined) window[index] = (window[index] ?? 0n) + micros;
  }
  return {
    series,
    windows: values.map((window) => ({
      /** The nearest numbers, to draw. */
      values: window.map(microsToNumber),
      /** Exact decimal texts. */
      sums: window.map(microsToDecimal),
      total: microsToDecimal(sumOf(window)),
    })),
  };
}

const noKey = "";

/** @returns Keys by sum, largest first. @param namedMax The number of keys to name. */
export function reportKeys(sums: readonly Omit<ReportSum, "position">[], namedMax: number) {
  const keys = new Map<string, { micros: bigint; count: number }>();
  for (const { apiKey, micros, count } of sums) {
    const id = apiKey ?? noKey;
    const key = keys.get(id) ?? { micros: 0n, count: 0 };
    keys.set(id, { micros: key.micros + micros, count: key.count + count });
  }
  const total = sumOf([...keys.values()].map(({ micros }) => micros));
  const usage = ({ micros, count }: { micros: bigint; count: number }) => ({
    sum: microsToDecimal(micros),
    /** Percentage of the total, to one decimal place; null when the total is 0. */
    share: total === 0n ? null : Number((micros * 1000n + total / 2n) / total) / 10,
    count,
  });
  const sorted = [...keys].sort(([a, x], [b, y]) =>
    x.micros === y.micros ? y.count - x.count || (a < b ? -1 : 1) : x.micros < y.micros ? 1 : -1
  );
  // A single other key fits on the line for the others.
  const named = sorted.length <= namedMax + 1 ? sorted : sorted.slice(0, namedMax);
  const others = sorted.slice(named.length).map(([, key]) => key);
  const areKeys = (entries: typeof sorted) => entries.filter(([id]) => id !== noKey).length;
  return {
    /** The most active keys; `apiKeyId` null for usage without a key. */
    most: named.map(([id, key]) => ({ apiKeyId: id === noKey ? null : id, ...usage(key) })),
    /** The other keys together; null when there are none. */
    others: others.length === 0 ? null : {
      ...usage({
        micros: sumOf(others.map(({ micros }) => micros)),
        count: others.reduce((sum, { count }) => sum + count, 0),
      }),
      keys: areKeys(sorted.slice(named.length)),
    },
    /** The number of all keys. */
    keys: areKeys(sorted),
  };
}

/** @returns The figures of sums by window. */
export function reportTotals(sums: readonly ReportSum[]) {
  const windows = new Map<number, bigint>();
  for (const { position, micros } of sums) windows.set(position, (windows.get(position) ?? 0n) + micros);
  let busiest: [position: number, micros: bigint] | undefined;
  for (const window of windows) if (busiest === undefined || window[1] > busiest[1]) busiest = window;
  const micros = sumOf([...windows.values()]);
  return {
    micros,
    sum: microsToDecimal(micros),
    count: sums.reduce((total, { count }) => total + count, 0),
    /** The window with the largest sum. */
    busiest: busiest === undefined ? null : { position: busiest[0], sum: microsToDecimal(busiest[1]) },
  };
}

/** @returns The percentage by which `now` exceeds `before`, to one decimal place; null if there was nothing before. */
export function percentChange(now: bigint, before: bigint): number | null {
  return before === 0n
    ? null
    : Number(((now - before) * 1000n + (now < before ? -before : before) / 2n) / before) / 10;
}

function sumOf(values: readonly bigint[]): bigint {
  return values.reduce((sum, value) => sum + value, 0n);
}

function largestFirst([a, x]: [string, bigint], [b, y]: [string, bigint]): number {
  return x === y ? (a < b ? -1 : 1) : x < y ? 1 : -1;
}
