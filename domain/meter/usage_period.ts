// The period of the usage page, read from its URL: the range, the days, the time zone, the length of a window, and the previous
// period to compare with. An invalid value is never an error: it falls back to a default or is reported at its field.
import { rollupQuarterMs, usagePageYearMax, usagePageYearMin, usagePageYearsMax } from "../limits.ts";
import { zonedTime } from "../time.ts";
import { usageRange, type UsageWindow, type WindowUnit, windowUnits } from "./usage_window.ts";

/** The ranges to choose from; `custom` is from one day to another. */
export const reportRanges = ["24h", "7d", "month", "last-month", "30d", "90d", "custom"] as const;
export type ReportRange = (typeof reportRanges)[number];

export interface PeriodQuery {
  readonly range?: string | undefined;
  /** The first and last day, both included, such as `2026-11-01`. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly window?: string | undefined;
  readonly timezone?: string | undefined;
  /** The time zone without a valid one in the URL; UTC by default. */
  readonly usualTimezone?: string | undefined;
}

/** A period and the previous one. Milliseconds since 1970. */
export interface ReportPeriod extends UsageWindow {
  /** The unit of windows that gives neither too few nor too many. */
  readonly defaultUnit: WindowUnit;
  /** The previous period of the same kind: hours, days or months. */
  readonly before: UsageWindow;
  /** The part of `before` to compare with: of a current period, only as much as has passed. */
  readonly compared: UsageWindow;
}

export const periodFaults = {
  dayMissing: "Choose a date.",
  dayForm: "Enter a date such as 2026-11-21.",
  dayOrder: "The end date must not be before the start date.",
  timezone: "Unknown time zone. Times are shown in your usual one.",
} as const;

type PeriodFaults = { readonly from?: string; readonly to?: string; readonly timezone?: string };
const noFaults: PeriodFaults = {};

/** Up to this many days, the default unit is the hour, the day or the week; then the month. */
const daysMax = { hour: 2, day: 100, week: 731 } as const;

/**
 * Reads the page's URL. Returns no period if the days are invalid.
 *
 * @example The current month is compared with the same part of the previous month
 * ```ts
 * import assert from "node:assert/strict";
 * const now = Date.parse("2026-11-21T14:03:11Z");
 * const { period } = parsePeriodQuery({ timezone: "Europe/Berlin" }, now);
 * assert.equal(new Date(period?.start ?? 0).toISOString(), "2026-10-31T23:00:00.000Z");
 * assert.equal(new Date(period?.compared.end ?? 0).toISOString(), "2026-10-21T13:15:00.000Z");
 * ```
 */
export function parsePeriodQuery(query: PeriodQuery, now: number) {
  const hasDays = (query.from ?? query.to ?? "") !== "";
  const range = reportRanges.find((one) => one === query.range) ?? (hasDays ? "custom" : "month");
  const { usualTimezone = "UTC" } = query;
  const known = knownTimezone(query.timezone || usualTimezone, now);
  const timezone = known ?? usualTimezone;
  const today = dayOf(now, timezone);
  const { span, faults, ...typed } = range === "custom"
    ? customDays(query, today)
    : { from: "", to: "", span: daysOf(range, today), faults: noFaults };
  const period = span === null ? null : periodOf(range, { now, timezone, ...span });
  return {
    range,
    timezone,
    /** Null when the days are invalid. */
    period,
    unit: windowUnits.find((unit) => unit === query.window) ?? period?.defaultUnit ?? "day",
    /** The days of the period, or the texts typed in their fields. */
    days: period === null ? typed : {
      from: String(dayOf(period.start, timezone)),
      to: String(dayOf(period.end - 1, timezone)),
    },
    /** One sentence for each invalid field. */
    faults: known === null ? { ...faults, timezone: periodFaults.timezone } : faults,
  };
}

type DaySpan = { readonly first: Temporal.PlainDate; readonly last: Temporal.PlainDate };

function daysOf(range: ReportRange, today: Temporal.PlainDate): DaySpan {
  const month = today.with({ day: 1 });
  switch (range) {
    case "7d":
      return { first: today.subtract({ days: 6 }), last: today };
    case "30d":
      return { first: today.subtract({ days: 29 }), last: today };
    case "90d":
      return { first: today.subtract({ days: 89 }), last: today };
    case "month":
      return { first: month, last: month.add({ months: 1 }).subtract({ days: 1 }) };
    case "last-month":
      return { first: month.subtract({ months: 1 }), last: month.subtract({ days: 1 }) };
    default:
      return { first: month, last: today };
  }
}

function customDays(
  query: PeriodQuery,
  today: Temporal.PlainDate,
): { from: string; to: string; span: DaySpan | null; faults: PeriodFaults } {
  const [from, to] = [query.from?.trim() ?? "", query.to?.trim() ?? ""];
  if (from === "" && to === "") return { from, to, span: daysOf("custom", today), faults: noFaults };
  const invalid = (faults: PeriodFaults) => ({ from, to, span: null, faults });
  const [first, last] = [parseDay(from), parseDay(to)];
  if (typeof first === "string") {
    return invalid(typeof last === "string" ? { from: first, to: last } : { from: first });
  }
  if (typeof last === "string") return invalid({ to: last });
  if (Temporal.PlainDate.compare(first, last) > 0) return invalid({ to: periodFaults.dayOrder });
  if (first.until(last, { largestUnit: "years" }).years >= usagePageYearsMax) {
    return invalid({ to: `Choose at most ${usagePageYearsMax} years.` });
  }
  return { from, to, span: { first, last }, faults: noFaults };
}

/** Returns the day of a text such as `2026-11-21`, or a sentence about its fault. */
export function parseDay(text: string): Temporal.PlainDate | string {
  if (text === "") return periodFaults.dayMissing;
  try {
    if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) throw new RangeError("not a date");
    const day = Temporal.PlainDate.from(text);
    return day.year >= usagePageYearMin && day.year <= usagePageYearMax
      ? day
      : `Choose a date from ${usagePageYearMin} to ${usagePageYearMax}.`;
  } catch {
    return periodFaults.dayForm;
  }
}

function periodOf(
  range: ReportRange,
  { now, timezone, ...days }: DaySpan & { now: number; timezone: string },
): ReportPeriod {
  const { start, end, beforeStart, defaultUnit } = range === "24h"
    ? lastHours(zonedTime(now, timezone))
    : wholeDays(range, { timezone, ...days });
  const before = { start: beforeStart, end: start };
  // Rollups have quarters of an hour; the current one counts as passed.
  const passed = (Math.floor(now / rollupQuarterMs) + 1) * rollupQuarterMs;
  if (now < start || passed >= end) return { start, end, defaultUnit, before, compared: before };
  const point = range === "24h"
    ? beforeStart + passed - start
    : sameOnClock(beforeStart, { start, passed, timezone });
  // Where midnight comes twice, no clock time passes for a while.
  const comparedEnd = Math.min(Math.max(point, beforeStart + rollupQuarterMs), start);
  return { start, end, defaultUnit, before, compared: { start: beforeStart, end: comparedEnd } };
}

type PeriodBounds = UsageWindow & { readonly beforeStart: number; readonly defaultUnit: WindowUnit };

function lastHours(now: Temporal.ZonedDateTime): PeriodBounds {
  const hour = now.round({ smallestUnit: "hour", roundingMode: "floor" });
  return {
    start: hour.subtract({ hours: 23 }).epochMilliseconds,
    end: hour.add({ hours: 1 }).epochMilliseconds,
    beforeStart: hour.subtract({ hours: 47 }).epochMilliseconds,
    defaultUnit: "hour",
  };
}

function wholeDays(
  range: ReportRange,
  { timezone, first, last }: DaySpan & { timezone: string },
): PeriodBounds {
  const dayStart = (day: Temporal.PlainDate) => day.toZonedDateTime(timezone).epochMilliseconds;
  const after = last.add({ days: 1 });
  const { days } = first.until(after);
  const { months } = first.until(after, { largestUnit: "months" });
  const isMonths = !["7d", "30d", "90d"].includes(range) && first.day === 1 && after.day === 1;
  return {
    start: dayStart(first),
    end: dayStart(after),
    beforeStart: dayStart(first.subtract(isMonths ? { months } : { days })),
    defaultUnit: windowUnits.find((unit) => unit !== "month" && days <= daysMax[unit]) ?? "month",
  };
}

/** Counts days and clock times, so that a day of 23 or 25 hours in between does not move the time of day. */
function sameOnClock(
  beforeStart: number,
  { start, passed, timezone }: { start: number; passed: number; timezone: string },
): number {
  const clock = (ms: number) => zonedTime(ms, timezone).toPlainDateTime();
  const elapsed = clock(start).until(clock(passed), { largestUnit: "days" });
  return clock(beforeStart).add(elapsed).toZonedDateTime(timezone).epochMilliseconds;
}

function dayOf(ms: number, timezone: string): Temporal.PlainDate {
  return zonedTime(ms, timezone).toPlainDate();
}

/** Returns the zone's canonical name, or null when it is unknown. */
function knownTimezone(name: string, now: number): string | null {
  try {
    return usageRange({ timezone: name, window: "month" }, now).timezone;
  } catch {
    return null;
  }
}
