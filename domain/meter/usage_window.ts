// Calendar windows of a time zone: which stretches of time a usage query adds up. Days have 23, 24 or 25 hours.
import { AppError, type ErrorDetail, validationError } from "../errors.ts";
import { rollupQuarterMs, usageWindowsMax } from "../limits.ts";

/** The lengths a calendar window can have, shortest first. */
export const windowUnits = ["hour", "day", "week", "month"] as const;
/** One of {@linkcode windowUnits}. */
export type WindowUnit = (typeof windowUnits)[number];

/** The windows a query can ask for: those of the calendar, or one for the whole range. */
export const queryWindows = [...windowUnits, "total"] as const;
/** One of {@linkcode queryWindows}. */
export type QueryWindow = (typeof queryWindows)[number];

/** One window: `start` is in it, `end` is not. Milliseconds since 1970. */
export interface UsageWindow {
  readonly start: number;
  readonly end: number;
}

/** A range of time and the windows that it is cut into. */
export interface UsageRange {
  readonly from: number;
  readonly to: number;
  readonly unit: QueryWindow;
  readonly timezone: string;
  readonly windows: readonly UsageWindow[];
}

/** What a caller asked for, as texts. */
export interface UsageRangeInput {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly window?: QueryWindow | undefined;
  readonly timezone?: string | undefined;
}

/**
 * Widens a range to quarters of an hour and cuts it into windows. The first and the last are cut off at the range's ends.
 *
 * @param input Both ends default to the current month in the time zone (default UTC); an end is a time with an
 *   offset, or a date, which means its first moment in the zone. The unit defaults to days; weeks start on Monday.
 * @param now Milliseconds since 1970.
 * @throws {AppError} `validation_failed` for an end that is no time, an unknown zone, an empty range;
 *   `range_too_long` for more than 1,000 windows.
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
  const timezone = timeZone(input.timezone ?? "UTC");
  const month = startOf("month", zoned(now, timezone));
  const faults: ErrorDetail[] = [];
  const end = (path: "from" | "to", fallback: Temporal.ZonedDateTime): number => {
    const text = input[path];
    const value = text === undefined ? fallback.epochMilliseconds : parseTime(text, timezone);
    if (value === null) faults.push({ path, message: timeFault(text ?? "") });
    return value ?? 0;
  };
  const asked = { from: end("from", month), to: end("to", startOf("month", month.add({ months: 1 }))) };
  if (faults.length === 0 && asked.from >= asked.to) {
    faults.push({ path: "to", message: "must be later than “from”." });
  }
  if (faults.length > 0) throw validationError(faults);
  const from = Math.floor(asked.from / rollupQuarterMs) * rollupQuarterMs;
  const to = Math.ceil(asked.to / rollupQuarterMs) * rollupQuarterMs;
  const unit = input.window ?? "day";
  const windows = unit === "total" ? [{ start: from, end: to }] : cut({ from, to, unit, timezone });
  return { from, to, unit, timezone, windows };
}

function cut(range: { from: number; to: number; unit: WindowUnit; timezone: string }): UsageWindow[] {
  const windows: UsageWindow[] = [];
  const first = startOf(range.unit, zoned(range.from, range.timezone));
  for (let n = 0, start = range.from; start < range.to; n++) {
    if (windows.length >= usageWindowsMax) {
      throw new AppError("range_too_long", `Ask for at most ${usageWindowsMax} windows at once.`);
    }
    // From the first window each time: adding months one by one would drift.
    const next = range.unit === "hour"
      ? nextHour(zoned(start, range.timezone)).epochMilliseconds
      : startOf(range.unit, first.add({ [`${range.unit}s`]: n + 1 })).epochMilliseconds;
    const end = Math.min(next, range.to);
    if (end > start) windows.push({ start, end });
    start = Math.max(start, end);
  }
  return windows;
}

function startOf(unit: WindowUnit, time: Temporal.ZonedDateTime): Temporal.ZonedDateTime {
  // Hours are cut on the time line, so that a repeated hour is a window of its own, also in zones at :30 and :45.
  if (unit === "hour") {
    return time.subtract({ minutes: time.minute, seconds: time.second, milliseconds: time.millisecond });
  }
  const day = time.startOfDay();
  if (unit === "day") return day;
  return unit === "week"
    ? day.subtract({ days: day.dayOfWeek - 1 }).startOfDay()
    : day.with({ day: 1 }).startOfDay();
}

/** The next full hour on the clock, also where clocks move by half an hour (Lord Howe) or within an hour (Chatham). */
function nextHour(time: Temporal.ZonedDateTime): Temporal.ZonedDateTime {
  const next = startOf("hour", time).add({ hours: 1 });
  if (next.offsetNanoseconds === time.offsetNanoseconds) return next;
  return time.getTimeZoneTransition("next") ?? next;
}

function zoned(ms: number, timezone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timezone);
}

function timeZone(name: string): string {
  try {
    // Plain offsets are no IANA names, and need not be on a quarter of an hour.
    if (/^[A-Za-z]/.test(name)) return zoned(0, name).timeZoneId;
  } catch {
    // Told below.
  }
  throw validationError([{ path: "timezone", message: "must be an IANA time zone such as Europe/Berlin." }]);
}

/**
 * Reads a time as {@linkcode parseTimestamp} does, or a date such as `2026-11-01`, which means its first moment.
 *
 * @param timezone Where the date begins: an IANA name.
 * @returns Milliseconds since 1970, or null when it is neither.
 */
export function parseTime(text: string, timezone = "UTC"): number | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return parseTimestamp(text);
  try {
    return Temporal.PlainDate.from(text).toZonedDateTime(timezone).epochMilliseconds;
  } catch {
    return null;
  }
}

/** @returns What is wrong with a text that {@linkcode parseTime} rejects. */
export function timeFault(text: string): string {
  const form = "must be a date such as 2026-11-01, or a time such as 2026-11-01T00:00:00Z";
  // In a query string a plain + means a space.
  return / \d{2}:\d{2}$/.test(text) ? `${form}. In a URL, write + as %2B.` : `${form}.`;
}

/**
 * Reads a time of RFC 3339: date, time, and an offset or `Z`. Digits beyond milliseconds are cut off.
 *
 * @returns Milliseconds since 1970, or null when it is not one.
 */
export function parseTimestamp(text: string): number | null {
  const form = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/;
  if (!form.test(text)) return null;
  try {
    return Temporal.Instant.from(text).epochMilliseconds;
  } catch {
    return null;
  }
}

/** @returns A time as callers see it: ISO 8601 UTC with milliseconds. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/**
 * @param timezone An IANA name.
 * @returns The time on the zone's clock with its offset, such as `2026-10-01T00:00:00.000+02:00`; for UTC as
 *   {@linkcode isoTime}.
 */
export function isoTimeIn(ms: number, timezone: string): string {
  if (timezone === "UTC") return isoTime(ms);
  const time = zoned(ms, timezone);
  // Before they were standardized, offsets had seconds, which ISO 8601 can't express.
  if (time.offsetNanoseconds % 60e9 !== 0) return isoTime(ms);
  return time.toString({ timeZoneName: "never", smallestUnit: "millisecond" });
}
