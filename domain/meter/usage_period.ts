// Which stretch of time the usage page shows, read from its address: the range, the days, the time zone, the length of
// a window, and the stretch before that the totals are compared with. Nothing in an address is an error: what cannot
// be read falls back or is told beside its field.
import { rollupQuarterMs, usagePageYearMax, usagePageYearMin, usagePageYearsMax } from "../limits.ts";
import { usageRange, type UsageWindow, type WindowUnit, windowUnits } from "./usage_window.ts";

/** The ranges that one can choose; `custom` is from a day to a day. */
export const reportRanges = ["24h", "7d", "month", "last-month", "90d", "custom"] as const;

/** One of {@linkcode reportRanges}. */
export type ReportRange = (typeof reportRanges)[number];

/** The part of the page's address that says when. */
export interface PeriodQuery {
  readonly range?: string | undefined;
  /** The first day and the last, both included, such as `2026-11-01`. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly window?: string | undefined;
  readonly timezone?: string | undefined;
}

/** A stretch of time and what it is compared with. Milliseconds since 1970. */
export interface ReportPeriod extends UsageWindow {
  /** What a window is when nobody chose: so that there are not too few, and not too many. */
  readonly defaultUnit: WindowUnit;
  /** The stretch before, of the same kind: the hours, days or months before. */
  readonly before: UsageWindow;
  /** The part of `before` to compare with: while the period runs, only as much as has passed of it. */
  readonly compared: UsageWindow;
}

/** What was asked for. */
export interface ReportChoice {
  readonly range: ReportRange;
  /** An IANA name. */
  readonly timezone: string;
  /** Null when the days that were asked for cannot be shown. */
  readonly period: ReportPeriod | null;
  /** What was chosen, or the default. */
  readonly unit: WindowUnit;
  /** The days of the period, or what was typed for them. */
  readonly days: { readonly from: string; readonly to: string };
  /** One sentence for each field that could not be read. */
  readonly faults: { readonly from?: string; readonly to?: string; readonly timezone?: string };
}

/** Up to so many days are shown by the hour, by the day, by the week; more by the month. */
const daysMax = { hour: 2, day: 100, week: 731 } as const;

/**
 * Reads the page's address.
 *
 * @param now Milliseconds since 1970.
 * @returns Always something that can be shown, but for days that are none: then there is no period.
 *
 * @example The month that runs is compared with as much of the month before
 * ```ts
 * import assert from "node:assert/strict";
 * const now = Date.parse("2026-11-21T14:03:11Z");
 * const { period } = reportChoice({ timezone: "Europe/Berlin" }, now);
 * assert.equal(new Date(period?.start ?? 0).toISOString(), "2026-10-31T23:00:00.000Z");
 * assert.equal(new Date(period?.compared.end ?? 0).toISOString(), "2026-10-21T13:15:00.000Z");
 * ```
 */
export function reportChoice(query: PeriodQuery, now: number): ReportChoice {
  const hasDays = (query.from ?? query.to ?? "") !== "";
  const range = reportRanges.find((one) => one === query.range) ?? (hasDays ? "custom" : "month");
  const known = knownTimezone(query.timezone || "UTC", now);
  const timezone = known ?? "UTC";
  const { faults, ...days } = range === "custom"
    ? chosenDays(query, dayOf(now, timezone))
    : { ...daysOf(range, dayOf(now, timezone)), faults: {} };
  const period = days.span === null ? null : periodOf(range, { now, timezone, ...days.span });
  return {
    range,
    timezone,
    period,
    unit: windowUnits.find((unit) => unit === query.window) ?? period?.defaultUnit ?? "day",
    days: period === null ? { from: days.from, to: days.to } : {
      from: String(dayOf(period.start, timezone)),
      to: String(dayOf(period.end - 1, timezone)),
    },
    faults: known === null ? { ...faults, timezone: "There is no such time zone: shown in UTC." } : faults,
  };
}

/** The first day and the last. */
interface DaySpan {
  readonly first: Temporal.PlainDate;
  readonly last: Temporal.PlainDate;
}

interface ReadDays {
  readonly from: string;
  readonly to: string;
  readonly span: DaySpan | null;
}

function daysOf(range: ReportRange, today: Temporal.PlainDate): ReadDays {
  const month = today.with({ day: 1 });
  const last = range === "last-month"
    ? month.subtract({ days: 1 })
    : range === "month"
    ? month.add({ months: 1 }).subtract({ days: 1 })
    : today;
  const first = range === "7d"
    ? today.subtract({ days: 6 })
    : range === "90d"
    ? today.subtract({ days: 89 })
    : last.with({ day: 1 });
  return { from: "", to: "", span: { first, last } };
}

function chosenDays(
  query: PeriodQuery,
  today: Temporal.PlainDate,
): ReadDays & { faults: ReportChoice["faults"] } {
  const from = query.from?.trim() ?? "";
  const to = query.to?.trim() ?? "";
  if (from === "" && to === "") {
    return { from, to, span: { first: today.with({ day: 1 }), last: today }, faults: {} };
  }
  const first = parseDay(from);
  const last = parseDay(to);
  if (typeof first === "string" || typeof last === "string") {
    const faults = {
      ...(typeof first === "string" ? { from: first } : {}),
      ...(typeof last === "string" ? { to: last } : {}),
    };
    return { from, to, span: null, faults };
  }
  const fault = Temporal.PlainDate.compare(first, last) > 0
    ? "Choose a day that is not before the first."
    : first.until(last, { largestUnit: "years" }).years >= usagePageYearsMax
    ? `Choose at most ${usagePageYearsMax} years.`
    : null;
  return fault === null
    ? { from, to, span: { first, last }, faults: {} }
    : { from, to, span: null, faults: { to: fault } };
}

/** @returns The day that a text such as `2026-11-21` names, or in a sentence what is wrong with it. */
export function parseDay(text: string): Temporal.PlainDate | string {
  if (text === "") return "Choose a day.";
  try {
    if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) throw new RangeError("not a date");
    const day = Temporal.PlainDate.from(text);
    return day.year >= usagePageYearMin && day.year <= usagePageYearMax
      ? day
      : `Choose a day from ${usagePageYearMin} to ${usagePageYearMax}.`;
  } catch {
    return "Write a day such as 2026-11-21.";
  }
}

function periodOf(
  range: ReportRange,
  { now, timezone, first, last }: DaySpan & { now: number; timezone: string },
): ReportPeriod {
  const zoned = (ms: number) => Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timezone);
  const dayStart = (day: Temporal.PlainDate) => day.toZonedDateTime(timezone).epochMilliseconds;
  let start: number;
  let end: number;
  let beforeStart: number;
  let defaultUnit: WindowUnit = "hour";
  if (range === "24h") {
    const hour = zoned(now).round({ smallestUnit: "hour", roundingMode: "floor" });
    end = hour.add({ hours: 1 }).epochMilliseconds;
    start = hour.subtract({ hours: 23 }).epochMilliseconds;
    beforeStart = hour.subtract({ hours: 47 }).epochMilliseconds;
  } else {
    const after = last.add({ days: 1 });
    const days = first.until(after).days;
    const isMonths = range !== "7d" && range !== "90d" && first.day === 1 && after.day === 1;
    const { months } = first.until(after, { largestUnit: "months" });
    start = dayStart(first);
    end = dayStart(after);
    beforeStart = dayStart(first.subtract(isMonths ? { months } : { days }));
    defaultUnit = windowUnits.find((unit) => unit !== "month" && days <= daysMax[unit]) ?? "month";
  }
  const before = { start: beforeStart, end: start };
  // Rollups are of quarters of an hour: the one that runs counts as passed.
  const passed = (Math.floor(now / rollupQuarterMs) + 1) * rollupQuarterMs;
  if (now < start || passed >= end) return { start, end, defaultUnit, before, compared: before };
  const point = range === "24h"
    ? beforeStart + passed - start
    : sameOnClock(beforeStart, { start, passed, timezone });
  // Where midnight comes twice, the clock stands still for a while.
  const comparedEnd = Math.min(Math.max(point, beforeStart + rollupQuarterMs), start);
  return { start, end, defaultUnit, before, compared: { start: beforeStart, end: comparedEnd } };
}

/** Days and clock times, so that a day of 23 or 25 hours in between does not move the time of day. */
function sameOnClock(
  beforeStart: number,
  { start, passed, timezone }: { start: number; passed: number; timezone: string },
): number {
  const clock = (ms: number) =>
    Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timezone).toPlainDateTime();
  const elapsed = clock(start).until(clock(passed), { largestUnit: "days" });
  return clock(beforeStart).add(elapsed).toZonedDateTime(timezone).epochMilliseconds;
}

function dayOf(ms: number, timezone: string): Temporal.PlainDate {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timezone).toPlainDate();
}

/** @returns The zone's name if the API takes it, or null. */
function knownTimezone(name: string, now: number): string | null {
  try {
    return usageRange({ timezone: name, window: "month" }, now).timezone;
  } catch {
    return null;
  }
}
