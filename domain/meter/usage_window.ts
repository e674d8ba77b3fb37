// Calendar windows in a time zone, for sums of usage. Days have 23, 24 or 25 hours.
import { AppError, type ErrorDetail, validationError } from "../errors.ts";
import { rollupQuarterMs, usageWindowsMax } from "../limits.ts";
import { parseTime, timeFault, timezoneFault, timezoneName, zonedTime } from "../time.ts";

/** The units of calendar windows, shortest first. Those of several hours begin at midnight. */
export const windowUnits = ["hour", "4h", "6h", "day", "week", "month"] as const;
export type WindowUnit = (typeof windowUnits)[number];

/** Windows that the API has, or one for the whole range. */
export const queryWindows = ["hour", "day", "week", "month", "total"] as const;
type QueryWindow = (typeof queryWindows)[number];

/** A window in milliseconds since 1970: `start` is included, `end` is not. */
export interface UsageWindow {
  readonly start: number;
  readonly end: number;
}

export interface UsageRange {
  readonly from: number;
  readonly to: number;
  readonly unit: WindowUnit | QueryWindow;
  readonly timezone: string;
  readonly windows: readonly UsageWindow[];
}

export interface UsageRangeInput {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly window?: WindowUnit | QueryWindow | undefined;
  readonly timezone?: string | undefined;
}

/**
 * Widens a range to quarters of an hour and splits it into windows. The first and the last are cut off at the range's ends.
 *
 * @param input Both ends default to the current month in the time zone (default UTC); an end is a time with an offset, or a
 *   date, which means the start of that day in the zone. The unit defaults to days; weeks start on Monday.
 * @throws {AppError} `validation_failed` for an invalid time, an unknown zone or an empty range; `range_too_long` for more
 *   than 1,000 windows.
 *
 * @example A day of 25 hours
 * ```ts
 * import assert from "node:assert/strict";
 * const input = { from: "2026-10-25", to: "2026-10-26", timezone: "Europe/Berlin" };
 * const { windows: [day] } = usageRange(input, Date.now());
 * assert.equal(((day?.end ?? 0) - (day?.start ?? 0)) / 3_600_000, 25);
 * ```
 */
export function usageRange(input: UsageRangeInput, now: number): UsageRange {
  const timezone = canonicalTimezone(input.timezone ?? "UTC");
  const month = startOf("month", zonedTime(now, timezone));
  const faults: ErrorDetail[] = [];
  const end = (path: "from" | "to", fallback: Temporal.ZonedDateTime): number => {
    const text = input[path];
    const value = text === undefined ? fallback.epochMilliseconds : parseTime(text, timezone);
    if (value === null) faults.push({ path, message: timeFault(text ?? "") });
    return value ?? 0;
  };
  const given = { from: end("from", month), to: end("to", startOf("month", month.add({ months: 1 }))) };
  if (faults.length === 0 && given.from >= given.to) {
    faults.push({ path: "to", message: "must be later than “from”." });
  }
  if (faults.length > 0) throw validationError(faults);
  const from = Math.floor(given.from / rollupQuarterMs) * rollupQuarterMs;
  const to = Math.ceil(given.to / rollupQuarterMs) * rollupQuarterMs;
  const unit = input.window ?? "day";
  const windows = unit === "total" ? [{ start: from, end: to }] : split({ from, to, unit, timezone });
  return { from, to, unit, timezone, windows };
}

function split(range: { from: number; to: number; unit: WindowUnit; timezone: string }): UsageWindow[] {
  const windows: UsageWindow[] = [];
  const first = startOf(range.unit, zonedTime(range.from, range.timezone));
  for (let n = 0, start = range.from; start < range.to; n++) {
    if (windows.length >= usageWindowsMax) {
      throw new AppError("range_too_long", `Request at most ${usageWindowsMax} windows per query.`);
    }
    // From the first window each time: adding months one by one would drift.
    const next = isOfHours(range.unit)
      ? nextWindow(zonedTime(start, range.timezone), hoursOf[range.unit]).epochMilliseconds
      : startOf(range.unit, first.add({ [`${range.unit}s`]: n + 1 })).epochMilliseconds;
    const end = Math.min(next, range.to);
    if (end > start) windows.push({ start, end });
    start = Math.max(start, end);
  }
  return windows;
}

export function startOf(unit: WindowUnit, time: Temporal.ZonedDateTime): Temporal.ZonedDateTime {
  // Hours are added in exact time, so that a repeated hour is a separate window, including in zones at :30 and :45.
  if (isOfHours(unit)) {
    return time.subtract({ minutes: time.minute, seconds: time.second, milliseconds: time.millisecond });
  }
  const day = time.startOfDay();
  if (unit === "day") return day;
  return unit === "week"
    ? day.subtract({ days: day.dayOfWeek - 1 }).startOfDay()
    : day.with({ day: 1 }).startOfDay();
}

const hoursOf = { "hour": 1, "4h": 4, "6h": 6 } as const;

function isOfHours(unit: WindowUnit): unit is keyof typeof hoursOf {
  return unit in hoursOf;
}

/** Returns the start of the next of the windows that some hours on the clock make of a day. */
function nextWindow(time: Temporal.ZonedDateTime, hours: number): Temporal.ZonedDateTime {
  let next = nextHour(time);
  if (hours === 1) return next;
  const isSame = () =>
    next.day === time.day && Math.floor(next.hour / hours) === Math.floor(time.hour / hours);
  while (isSame()) next = nextHour(next);
  return next;
}

/** Returns the next full hour on the clock, even where clocks change by half an hour (Lord Howe) or within an hour (Chatham). */
function nextHour(time: Temporal.ZonedDateTime): Temporal.ZonedDateTime {
  const next = startOf("hour", time).add({ hours: 1 });
  if (next.offsetNanoseconds === time.offsetNanoseconds) return next;
  return time.getTimeZoneTransition("next") ?? next;
}

/** @throws {AppError} `validation_failed` for anything but an IANA name: plain offsets need not be whole quarters of an hour. */
function canonicalTimezone(name: string): string {
  const timezone = timezoneName(name);
  if (timezone !== null) return timezone;
  throw validationError([{ path: "timezone", message: timezoneFault }]);
}
