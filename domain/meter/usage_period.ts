// The period of the usage page, read from its URL: the range, the days, the time zone, the length of a window, and the period to
// compare with. An invalid value is never an error: it falls back to a default and is reported at its field.
import { rollupQuarterMs, usagePageYearMax, usagePageYearMin, usagePageYearsMax } from "../limits.ts";
import { zonedTime } from "../time.ts";
import { usageRange, type UsageWindow, type WindowUnit, windowUnits } from "./usage_window.ts";

/** The ranges to choose from; `custom` is from one day to another. */
export const reportRanges = ["today", "24h", "7d", "month", "last-month", "30d", "90d", "custom"] as const;
export type ReportRange = (typeof reportRanges)[number];

/** The periods to compare with: the previous one of the same kind, the same days a month or a year earlier, or chosen days. */
export const reportComparisons = ["previous", "last-month", "last-year", "custom"] as const;
export type ReportComparison = (typeof reportComparisons)[number];

export interface PeriodQuery {
  readonly range?: string | undefined;
  /** The range without one in the URL; the month by default. */
  readonly usualRange?: ReportRange | undefined;
  /** The first and last day, both included, such as `2026-11-01`. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly window?: string | undefined;
  readonly timezone?: string | undefined;
  /** The time zone without a valid one in the URL; UTC by default. */
  readonly usualTimezone?: string | undefined;
  readonly compare?: string | undefined;
  /** The first and last day of a `custom` comparison. */
  readonly compareFrom?: string | undefined;
  readonly compareTo?: string | undefined;
}

/** A period and the one to compare it with. Milliseconds since 1970. */
export interface ReportPeriod extends UsageWindow {
  /** The unit of windows that gives neither too few nor too many. */
  readonly defaultUnit: WindowUnit;
  /** The period to compare with; by default, the previous one of the same kind: hours, days or months. */
  readonly before: UsageWindow;
  /** The part of `before` to compare with: of a current period, only as much as has passed, but always all chosen days. */
  readonly compared: UsageWindow;
}

export const periodFaults = {
  dayMissing: "Choose a date.",
  dayForm: "Enter a date such as 2026-11-21.",
  dayOrder: "The end date must not be before the start date.",
  timezone: "Unknown time zone. Times are shown in your usual one.",
  range: "Unknown range. Showing the default range.",
  window: "Unknown interval. Showing the default interval.",
  comparedDays: "Choose the days to compare with. Comparing with the previous period.",
  compare: "Unknown comparison. Comparing with the previous period.",
} as const;

type PeriodFaults = Readonly<Partial<Record<keyof PeriodQuery, string>>>;
const noFaults: PeriodFaults = {};

/** Charts with more bars are hard to read. */
const barsMax = 200;
const unitMs: Readonly<Record<WindowUnit, number>> = {
  "hour": 3_600_000,
  "4h": 4 * 3_600_000,
  "6h": 6 * 3_600_000,
  "day": 86_400_000,
  "week": 7 * 86_400_000,
  "month": 28 * 86_400_000,
};

/** Up to this many days, the default unit is the hour, the day or the week; then the month. */
const daysMax: Readonly<Partial<Record<WindowUnit, number>>> = { hour: 2, day: 100, week: 731 };

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
  const range = reportRanges.find((one) => one === query.range) ??
    (hasDays ? "custom" : query.usualRange ?? "month");
  const { usualTimezone = "UTC" } = query;
  const known = knownTimezone(query.timezone || usualTimezone, now);
  const timezone = known ?? usualTimezone;
  const today = dayOf(now, timezone);
  const { span, faults, ...typed } = range === "custom"
    ? customDays(query, today)
    : { from: "", to: "", span: daysOf(range, today), faults: noFaults };
  const compare = reportComparisons.find((one) => one === query.compare) ?? "previous";
  const against = compare === "custom" ? comparedDays(query) : null;
  const period = span === null
    ? null
    : periodOf(range, { now, timezone, ...span, compare, against: against?.span ?? null });
  const units = period === null ? windowUnits : unitsFor(period);
  const wanted = windowUnits.find((unit) => unit === query.window) ?? period?.defaultUnit ?? "day";
  return {
    range,
    timezone,
    compare,
    /** Null when the days are invalid. */
    period,
    /** The length of the chart's windows: a longer one than requested if there would be too many. */
    unit: units.find((unit) => windowUnits.indexOf(unit) >= windowUnits.indexOf(wanted)) ?? wanted,
    /** The lengths to choose from. */
    units,
    /** The days of the period, or the texts typed in their fields. */
    days: period === null ? typed : spanTexts(period, timezone),
    /** Like `days`, of the time to compare with. */
    comparedDays: against?.span === null || period === null
      ? { from: query.compareFrom ?? "", to: query.compareTo ?? "" }
      : spanTexts(period.compared, timezone),
    /** One sentence for each invalid field. */
    faults: {
      ...unknownValues(query),
      ...faults,
      ...against?.faults,
      ...(known === null ? { timezone: periodFaults.timezone } : {}),
    },
  };
}

/** Returns the units of windows that don't make too many bars, shortest first. The longest unit always fits. */
function unitsFor(period: UsageWindow): WindowUnit[] {
  const fits = (unit: WindowUnit) =>
    unit === "month" || (period.end - period.start) / unitMs[unit] <= barsMax;
  return windowUnits.filter(fits);
}

function spanTexts({ start, end }: UsageWindow, timezone: string) {
  return { from: String(dayOf(start, timezone)), to: String(dayOf(end - 1, timezone)) };
}

/** Returns a sentence for each parameter with a value that isn't one of its choices. */
function unknownValues(query: PeriodQuery): PeriodFaults {
  const isUnknown = (value: string | undefined, known: readonly string[]) =>
    !!value && !known.includes(value);
  return {
    ...(isUnknown(query.range, reportRanges) ? { range: periodFaults.range } : {}),
    ...(isUnknown(query.window, windowUnits) ? { window: periodFaults.window } : {}),
    ...(isUnknown(query.compare, reportComparisons) ? { compare: periodFaults.compare } : {}),
  };
}

type DaySpan = { readonly first: Temporal.PlainDate; readonly last: Temporal.PlainDate };

function daysOf(range: ReportRange, today: Temporal.PlainDate): DaySpan {
  const month = today.with({ day: 1 });
  switch (range) {
    case "today":
      return { first: today, last: today };
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
  return { from, to, ...daySpan({ from, to }) };
}

/** Reads the days of a comparison, whose fields have names of their own. */
function comparedDays(
  { compareFrom = "", compareTo = "" }: PeriodQuery,
): { span: DaySpan | null; faults: PeriodFaults } {
  if ((compareFrom + compareTo).trim() === "") {
    return { span: null, faults: { compare: periodFaults.comparedDays } };
  }
  const { span, faults: { from, to } } = daySpan({ from: compareFrom.trim(), to: compareTo.trim() });
  return {
    span,
    faults: {
      ...(from === undefined ? {} : { compareFrom: from }),
      ...(to === undefined ? {} : { compareTo: to }),
    },
  };
}

function daySpan({ from, to }: { from: string; to: string }): { span: DaySpan | null; faults: PeriodFaults } {
  const invalid = (faults: PeriodFaults) => ({ span: null, faults });
  const [first, last] = [parseDay(from), parseDay(to)];
  if (typeof first === "string") {
    return invalid(typeof last === "string" ? { from: first, to: last } : { from: first });
  }
  if (typeof last === "string") return invalid({ to: last });
  if (Temporal.PlainDate.compare(first, last) > 0) return invalid({ to: periodFaults.dayOrder });
  if (first.until(last, { largestUnit: "years" }).years >= usagePageYearsMax) {
    return invalid({ to: `Choose at most ${usagePageYearsMax} years.` });
  }
  return { span: { first, last }, faults: noFaults };
}

/** Returns the day of a text such as `2026-11-21`, or a sentence about the problem. */
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

interface Comparing {
  readonly compare: ReportComparison;
  /** The chosen days of a `custom` comparison; null if they are invalid. */
  readonly against: DaySpan | null;
}

function periodOf(
  range: ReportRange,
  { now, timezone, compare, against, ...days }: DaySpan & Comparing & { now: number; timezone: string },
): ReportPeriod {
  const { start, end, defaultUnit, before } = range === "24h"
    ? lastHours(zonedTime(now, timezone), compare)
    : wholeDays(range, { timezone, compare, ...days });
  if (against !== null) {
    const chosen = spanWindow(against, timezone);
    return { start, end, defaultUnit, before: chosen, compared: chosen };
  }
  // Rollups have quarters of an hour; the current one counts as passed.
  const passed = (Math.floor(now / rollupQuarterMs) + 1) * rollupQuarterMs;
  if (now < start || passed >= end) return { start, end, defaultUnit, before, compared: before };
  const point = range === "24h"
    ? before.start + passed - start
    : sameOnClock(before.start, { start, passed, timezone });
  // Where midnight comes twice, no clock time passes for a while.
  const comparedEnd = Math.min(Math.max(point, before.start + rollupQuarterMs), before.end);
  return { start, end, defaultUnit, before, compared: { start: before.start, end: comparedEnd } };
}

type PeriodBounds = UsageWindow & Pick<ReportPeriod, "before" | "defaultUnit">;

const earlier = { "last-month": { months: 1 }, "last-year": { years: 1 } } as const;

function lastHours(now: Temporal.ZonedDateTime, compare: ReportComparison): PeriodBounds {
  const hour = now.round({ smallestUnit: "hour", roundingMode: "floor" });
  const shift = compare === "last-month" || compare === "last-year" ? earlier[compare] : { hours: 24 };
  const hours = (from: Temporal.ZonedDateTime) => ({
    start: from.subtract({ hours: 23 }).epochMilliseconds,
    end: from.add({ hours: 1 }).epochMilliseconds,
  });
  return { ...hours(hour), before: hours(hour.subtract(shift)), defaultUnit: "hour" };
}

function spanWindow({ first, last }: DaySpan, timezone: string): UsageWindow {
  const dayStart = (day: Temporal.PlainDate) => day.toZonedDateTime(timezone).epochMilliseconds;
  return { start: dayStart(first), end: dayStart(last.add({ days: 1 })) };
}

function wholeDays(
  range: ReportRange,
  { timezone, compare, first, last }: DaySpan & { timezone: string; compare: ReportComparison },
): PeriodBounds {
  const after = last.add({ days: 1 });
  const { days } = first.until(after);
  const { months } = first.until(after, { largestUnit: "months" });
  const isMonths = !["7d", "30d", "90d"].includes(range) && first.day === 1 && after.day === 1;
  const shift = compare === "last-month" || compare === "last-year"
    ? earlier[compare]
    : isMonths
    ? { months }
    : { days };
  const from = first.subtract(shift);
  // A month before November is all of October; other ranges are compared with as many days.
  const before = {
    first: from,
    last: isMonths ? after.subtract(shift).subtract({ days: 1 }) : from.add({ days: days - 1 }),
  };
  return {
    ...spanWindow({ first, last }, timezone),
    before: spanWindow(before, timezone),
    defaultUnit: windowUnits.find((unit) => days <= (daysMax[unit] ?? 0)) ?? "month",
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
