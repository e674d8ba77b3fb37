// This month in UTC, and the part of last month to compare it with.
import { rollupQuarterMs } from "../limits.ts";
import { rollupNumber, rollupStart } from "./rollup_unit.ts";
import type { UsageWindow } from "./usage_window.ts";

export interface MonthSoFar extends UsageWindow {
  /** See `rollupNumber`. */
  readonly number: number;
  /** As many quarters of an hour of last month as have passed of this one, with the current one. */
  readonly before: UsageWindow;
}

export function monthSoFar(now: number): MonthSoFar {
  const number = rollupNumber("month", now);
  const [before, start, end] = [
    rollupStart("month", number - 1),
    rollupStart("month", number),
    rollupStart("month", number + 1),
  ];
  const elapsed = (Math.floor((now - start) / rollupQuarterMs) + 1) * rollupQuarterMs;
  return { number, start, end, before: { start: before, end: Math.min(before + elapsed, start) } };
}
