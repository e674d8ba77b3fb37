// The numbers of usage reports: changes and shares, the lines of tables, and the stacks of charts.
import { microsToDecimal, microsToNumber } from "./quantity.ts";

/** Returns the percentage of a whole, to one decimal place, but not 0 if there is some; null if the whole is 0. */
export function percentOf(part: bigint, whole: bigint): number | null {
  if (whole === 0n) return null;
  return notNothing(Number((part * 1000n + whole / 2n) / whole) / 10, part);
}

/** Returns the percentage by which `now` exceeds `before`, as {@linkcode percentOf}; null if there was nothing before. */
export function percentChange(now: bigint, before: bigint): number | null {
  if (before === 0n) return null;
  const half = (now < before ? -before : before) / 2n;
  return notNothing(Number(((now - before) * 1000n + half) / before) / 10, now - before);
}

/** Stands for percentages that are not 0, but would be rounded to it. */
const tinyPercent = 0.05;

function notNothing(percent: number, exact: bigint): number {
  return percent !== 0 || exact === 0n ? percent : exact > 0n ? tinyPercent : -tinyPercent;
}

function sumOf(values: readonly bigint[]): bigint {
  return values.reduce((sum, value) => sum + value, 0n);
}

/** Stands in stacks for usage without a key. */
export const noPart = "";

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

/** Returns a line for everything that was used in this period or the previous one, largest first. */
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

/** Usage by window, split into series. */
export interface UsageStack {
  /** The parts with a series of their own, from the bottom of the stack up. */
  readonly series: readonly string[];
  /** The number of parts in one more series; 0 if there are none. */
  readonly others: number;
  readonly windows: readonly {
    /** The sums as the nearest numbers, for drawing. */
    readonly values: readonly number[];
    /** Exact decimal texts. */
    readonly sums: readonly string[];
    readonly total: string;
  }[];
}

/**
 * Stacks sums. A single other part has a series of its own.
 *
 * @param sums Those of the named parts, by window.
 * @param options `named`: the parts with a series of their own, from the bottom up. `others`: the lines of all other parts.
 *   `totals`: the sum of everything by window, in millionths.
 */
export function stackOf(
  sums: Iterable<Omit<LineSum, "count"> & { readonly position: number }>,
  { named, others, totals }: {
    named: readonly string[];
    others: readonly Pick<ReportLine, "id">[];
    totals: readonly bigint[];
  },
): UsageStack {
  const windows = totals.map(() => named.map(() => 0n));
  for (const { id, position, micros } of sums) {
    const window = windows[position];
    const index = id === null ? -1 : named.indexOf(id);
    if (window !== undefined && index >= 0) window[index] = (window[index] ?? 0n) + micros;
  }
  const rest = others.map(({ id }) => id ?? noPart);
  return {
    series: rest.length === 1 ? [...named, ...rest] : named,
    others: rest.length > 1 ? rest.length : 0,
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

/**
 * Stacks all sums. The parts in `named` have a series of their own, in this order, if they were used. Those of all others are added
 * up, except for a single one.
 */
export function reportStack(
  sums: readonly { readonly position: number; readonly part: string; readonly micros: bigint }[],
  { windows, named }: { windows: number; named: readonly string[] },
): UsageStack {
  const all = sums.map(({ position, part, micros }) => ({ position, id: part, micros, count: 0 }));
  const lines = reportLines(all, []);
  const totals = Array<bigint>(windows).fill(0n);
  for (const { position, micros } of all) totals[position] = (totals[position] ?? 0n) + micros;
  return stackOf(all, {
    named: named.filter((part) => lines.some(({ id }) => id === part)),
    others: lines.filter(({ id }) => id !== null && !named.includes(id)),
    totals,
  });
}

/** Records may arrive between the reads of the parts and of the total. */
function largerOf(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
