// The numbers on the usage page: the chart's series, the figures above it and the keys below it.
import { microsToDecimal, microsToNumber } from "./quantity.ts";

/** One sum of a window and of a part of the usage, such as a product. */
interface StackedSum {
  readonly position: number;
  /** A slug or an id. */
  readonly part: string;
  readonly micros: bigint;
}

/** Usage by window, split into series. */
export interface UsageStack {
  /** The parts with a series of their own, from the bottom of the stack up. */
  readonly series: readonly string[];
  /** The parts in one more series, and the largest of them; null if there are none. Sums are exact decimal texts. */
  readonly others: {
    readonly count: number;
    readonly largest: readonly { readonly part: string; readonly sum: string }[];
  } | null;
  readonly windows: readonly {
    /** The nearest numbers, to draw. */
    readonly values: readonly number[];
    /** Exact decimal texts. */
    readonly sums: readonly string[];
    readonly total: string;
  }[];
}

/** The number of other parts that are named. */
const namedOthersMax = 50;

/**
 * Stacks sums.
 *
 * @param named The parts with a series of their own, in this order, if they were used. Those of all others are added up, except
 *   for a single one.
 */
export function reportStack(
  sums: readonly StackedSum[],
  { windows, named }: { windows: number; named: readonly string[] },
): UsageStack {
  const totals = totalsOf(sums);
  const wanted = new Set(named);
  const rest = [...totals].filter(([part]) => !wanted.has(part)).sort(largestFirst);
  const isMerged = rest.length > 1;
  const series = [
    ...named.filter((part) => totals.has(part)),
    ...(isMerged ? [] : rest.map(([part]) => part)),
  ];
  const indexes = new Map(series.map((part, index) => [part, index]));
  const values = Array.from(
    { length: windows },
    () => Array<bigint>(series.length + Number(isMerged)).fill(0n),
  );
  for (const { position, part, micros } of sums) {
    const window = values[position];
    const index = indexes.get(part) ?? series.length;
    if (window !== undefined) window[index] = (window[index] ?? 0n) + micros;
  }
  return {
    series,
    others: isMerged
      ? {
        count: rest.length,
        largest: rest.slice(0, namedOthersMax).map(([part, micros]) => ({
          part,
          sum: microsToDecimal(micros),
        })),
      }
      : null,
    windows: values.map((window) => ({
      values: window.map(microsToNumber),
      sums: window.map(microsToDecimal),
      total: microsToDecimal(sumOf(window)),
    })),
  };
}

function totalsOf(sums: readonly StackedSum[]): Map<string, bigint> {
  const totals = new Map<string, bigint>();
  for (const { part, micros } of sums) totals.set(part, (totals.get(part) ?? 0n) + micros);
  return totals;
}

/** Returns the percentage of a whole, to one decimal place; null if the whole is 0. */
export function percentOf(part: bigint, whole: bigint): number | null {
  return whole === 0n ? null : Number((part * 1000n + whole / 2n) / whole) / 10;
}

/** Returns the percentage by which `now` exceeds `before`, to one decimal place; null if there was nothing before. */
export function percentChange(now: bigint, before: bigint): number | null {
  return before === 0n
    ? null
    : Number(((now - before) * 1000n + (now < before ? -before : before) / 2n) / before) / 10;
}

export function sumOf(values: readonly bigint[]): bigint {
  return values.reduce((sum, value) => sum + value, 0n);
}

function largestFirst([a, x]: [string, bigint], [b, y]: [string, bigint]): number {
  return x === y ? (a < b ? -1 : 1) : x < y ? 1 : -1;
}
