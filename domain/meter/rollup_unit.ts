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

/** A piece whose sums are subtracted if the sign is −1. */
export interface SignedPiece extends RollupPiece {
  readonly sign: 1 | -1;
}

/** Windows up to this length are read by hours alone, in milliseconds. */
const hoursOnlyMs = 14 * 24 * 3_600_000;

/**
 * Splits a window into months and the hours by which it differs from them, so that a month of any time zone costs little more than one
 * of UTC. Sums and counts can be subtracted, minimums and maximums can't: this is only for the former.
 *
 * @param window Begins and ends with a quarter of an hour.
 */
export function signedPieces(window: UsageWindow): SignedPiece[] {
  const [first, next] = window.end - window.start <= hoursOnlyMs
    ? [0, 0]
    : [nearestMonth(window.start), nearestMonth(window.end)];
  const hours = (from: number, to: number) =>
    rollupPieces({ start: Math.min(from, to), end: Math.max(from, to) }, ["hour", "quarter"])
      .map((piece) => ({ ...piece, sign: from < to ? 1 : -1 } as const));
  if (first >= next) return hours(window.start, window.end);
  const [start, end] = [rollupStart("month", first), rollupStart("month", next)];
  return [
    { unit: "month", sign: 1, start, end },
    ...hours(window.start, start),
    ...hours(end, window.end),
  ];
}
