// This month in UTC, and the part of last month to compare it with.
import { rollupQuarterMs } from "../limits.ts";
import { rollupNumber, rollupStart } from "./rollup_unit.ts";
import type { UsageWindow } from "./usage_window.ts";

export interface MonthSoFar extends UsageWindow {
  /** See `rollupNumber`. */
  readonly number: number;
  /** The end of the comparison last month: a quarter of an hour as far from its start as now is from this month's. */
  readonly beforeEnd: number;
  /** Windows whose sums, with their signs, add up to that part. They read as little as possible. */
  readonly before: readonly (UsageWindow & { readonly sign: 1 | -1 })[];
}

export function monthSoFar(now: number): MonthSoFar {
  const number = rollupNumber("month", now);
  const [before, start, end] = [
    rollupStart("month", number - 1),
    rollupStart("month", number),
    rollupStart("month", number + 1),
  ];
  // The current quarter of an hour counts as passed, as on the usage page.
  const elapsed = (Math.floor((now - start) / rollupQuarterMs) + 1) * rollupQuarterMs;
  const beforeEnd = Math.min(before + elapsed, start);
  return {
    number,
    start,
    end,
    beforeEnd,
    // The hours until then, or the whole month without the hours after it.
    before: beforeEnd - before < start - beforeEnd
      ? [{ sign: 1, start: before, end: beforeEnd }]
      : [{ sign: 1, start: before, end: start }, { sign: -1, start: beforeEnd, end: start }],
  };
}
