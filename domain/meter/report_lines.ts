// The lines of tables of products, keys and organizations, and the stack of a chart that names some of them.
import { microsToDecimal, microsToNumber } from "./quantity.ts";
import { percentChange, percentOf, sumOf, type UsageStack } from "./usage_report.ts";

/** Stands in stacks for usage without a key. */
export const noPart = "";
/** The other parts that a stack names. */
const othersMax = 20;

/** The usage of one product, key or organization. */
interface ReportLine {
  /** Null for usage without a key. */
  readonly id: string | null;
  /** A decimal text. */
  readonly sum: string;
  /** Percentage of the total, to one decimal place; null when the total is 0. */
  readonly share: number | null;
  /** As {@linkcode percentChange}. */
  readonly change: number | null;
  readonly records: number;
}

interface LineSum {
  readonly id: string | null;
  readonly micros: bigint;
  readonly count: number;
}

/** Returns a line for everything that was used in the period or the one before, largest first. */
export function reportLines(sums: Iterable<LineSum>, before: Iterable<LineSum>): ReportLine[] {
  const lines = new Map<string | null, { now: bigint; before: bigint; records: number }>();
  const none = { now: 0n, before: 0n, records: 0 };
  for (const { id, micros, count } of sums) {
    const line = lines.get(id) ?? none;
    lines.set(id, { ...line, now: line.now + micros, records: line.records + count });
  }
  for (const { id, micros } of before) {
    const line = lines.get(id) ?? none;
    lines.set(id, { ...line, before: line.before + micros });
  }
  const total = sumOf([...lines.values()].map(({ now }) => now));
  return [...lines].sort(([a, x], [b, y]) =>
    x.now === y.now ? y.records - x.records || ((a ?? "") < (b ?? "") ? -1 : 1) : x.now < y.now ? 1 : -1
  ).map(([id, { now, before, records }]) => ({
    id,
    sum: microsToDecimal(now),
    share: percentOf(now, total),
    change: percentChange(now, before),
    records,
  }));
}

/**
 * Stacks sums. A single other part has a series of its own.
 *
 * @param sums Those of the named parts, by window.
 * @param options `named`: the parts with a series of their own, from the bottom up. `others`: the lines of all other parts.
 *   `totals`: the sum of everything by window, in millionths.
 */
export function stackOf(
  sums: Iterable<LineSum & { readonly position: number }>,
  { named, others, totals }: {
    named: readonly string[];
    others: readonly ReportLine[];
    totals: readonly bigint[];
  },
): UsageStack {
  const windows = totals.map(() => named.map(() => 0n));
  for (const { id, position, micros } of sums) {
    const window = windows[position];
    const index = id === null ? -1 : named.indexOf(id);
    if (window !== undefined && index >= 0) window[index] = (window[index] ?? 0n) + micros;
  }
  const rest = others.map(({ id, sum }) => ({ part: id ?? noPart, sum }));
  return {
    series: rest.length === 1 ? [...named, ...rest.map(({ part }) => part)] : named,
    others: rest.length > 1 ? { count: rest.length, largest: rest.slice(0, othersMax) } : null,
    windows: windows.map((window, position) => {
      const total = totals[position] ?? 0n;
      const all = rest.length === 0 ? window : [...window, largerOf(total - sumOf(window), 0n)];
      return {
        values: all.map(microsToNumber),
        sums: all.map(microsToDecimal),
        total: microsToDecimal(total),
      };
    }),
  };
}

/** Records may arrive between the reads of the parts and of the total. */
function largerOf(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
