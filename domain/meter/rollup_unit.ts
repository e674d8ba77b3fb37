// The lengths of rollups: quarters of an hour, hours, and calendar months of UTC.
import { rollupHourMs, rollupQuarterMs } from "../limits.ts";
import type { UsageWindow } from "./usage_window.ts";

/** Longest first. */
export const rollupUnits = ["month", "hour", "quarter"] as const;
export type RollupUnit = (typeof rollupUnits)[number];

/** A part of a window that begins and ends with a rollup of its unit. */
export interface RollupPiece extends UsageWindow {
  readonly unit: RollupUnit;
}

/** Returns the number of the rollup that has a time. Months count from January 1970. */
export function rollupNumber(unit: RollupUnit, time: number): number {
  if (unit === "month") {
    const date = new Date(time);
    return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
  }
  return Math.floor(time / (unit === "hour" ? rollupHourMs : rollupQuarterMs));
}

export function rollupStart(unit: RollupUnit, number: number): number {
  if (unit === "month") return Date.UTC(1970, number, 1);
  return number * (unit === "hour" ? rollupHourMs : rollupQuarterMs);
}

/** Returns the number of rollups of a piece. */
export function rollupsOf({ unit, start, end }: RollupPiece): number {
  return rollupNumber(unit, end) - rollupNumber(unit, start);
}

/**
 * Splits a window into as few rollups as possible, in order of time.
 *
 * @param window Begins and ends with a quarter of an hour.
 * @param units The units to use, longest first; the last one is the quarter.
 */
export function rollupPieces(
  { start, end }: UsageWindow,
  [unit, ...shorter]: readonly RollupUnit[] = rollupUnits,
): RollupPiece[] {
  if (unit === undefined || start >= end) return [];
  const first = rollupStart(unit, rollupNumber(unit, start - 1) + 1);
  const after = rollupStart(unit, rollupNumber(unit, end));
  if (first >= after) return rollupPieces({ start, end }, shorter);
  return [
    ...rollupPieces({ start, end: first }, shorter),
    { unit, start: first, end: after },
    ...rollupPieces({ start: after, end }, shorter),
  ];
}

/** Returns the number of the month whose first moment is nearest to a time. */
export function nearestMonth(time: number): number {
  const month = rollupNumber("month", time);
  const [start, next] = [rollupStart("month", month), rollupStart("month", month + 1)];
  return next - time < time - start ? month + 1 : month;
}
