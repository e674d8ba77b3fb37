// Times in words, in a time zone, by default the one in which the page shows times. They don't depend on the machine.
import { dateFormat, type DateStyle, defaultLocale } from "../../domain/locale.ts";
import { countOf } from "../../domain/number_text.ts";
import { presentation } from "../../domain/presentation.ts";
import { zonedTime } from "../../domain/time.ts";

const months = "January February March April May June July August September October November December"
  .split(" ");
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** Past times that are older are dates. */
const recentDaysMax = 6;
/** Future times that are further ahead are dates. */
const soonDaysMax = 30;

/** Returns the time plus the zone's offset: its date and time in UTC are those of the zone. */
export function onClock(ms: number, timezone: string): number {
  return timezone === "UTC" ? ms : ms + zonedTime(ms, timezone).offsetNanoseconds / 1e6;
}

/** Returns a time zone as people write it: `America/New York`. */
export function zoneWords(timezone: string): string {
  return timezone.replaceAll("_", " ");
}

/** Returns the city of a time zone, for where there is little room: `Tokyo`. */
export function zoneCity(timezone: string): string {
  return zoneWords(timezone.slice(timezone.lastIndexOf("/") + 1));
}

/** Returns a time relative to now, such as `2 minutes ago`, `Yesterday`, `Nov 12`, `in 6 days`. */
export function relativeTime(atMs: number, nowMs: number): string {
  return atMs > nowMs ? futureTime(atMs, nowMs) : pastTime(atMs, nowMs);
}

/** Returns the date, such as `Nov 21, 2026`. */
export function fullDate(atMs: number, timezone = presentation().timezone): string {
  return dateWords("shortDate", onClock(atMs, timezone));
}

/** Returns the date, such as `Nov 21`, with the year unless it is the current one. */
export function shortDate(atMs: number, nowMs: number, timezone = presentation().timezone): string {
  const at = onClock(atMs, timezone);
  return dateWords(yearOf(at) === yearOf(onClock(nowMs, timezone)) ? "shortDay" : "shortDate", at);
}

/** Returns the time of day, such as `14:03:11`. */
export function clockTime(atMs: number, timezone = presentation().timezone): string {
  return new Date(onClock(atMs, timezone)).toISOString().slice(11, 19);
}

/** Returns a moment to the minute with the city of the zone, such as `Dec 1, 00:00 Tokyo`. */
export function namedTime(atMs: number, nowMs: number, timezone = presentation().timezone): string {
  const time = clockTime(atMs, timezone).slice(0, 5);
  return `${shortDate(atMs, nowMs, timezone)}, ${time} ${zoneCity(timezone)}`;
}

/** Returns the month of UTC, such as `November 2026`, or in short `Nov 2026`. */
export function monthWords(atMs: number, form: "long" | "short" = "long"): string {
  return dateWords(`${form}Month`, atMs);
}

/** Returns the exact time, such as `Nov 21, 2026, 14:03:11 UTC`. */
export function exactTime(atMs: number, timezone = presentation().timezone): string {
  return `${fullDate(atMs, timezone)}, ${clockTime(atMs, timezone)} ${zoneWords(timezone)}`;
}

/**
 * Names days of UTC: `November 21, 2026`, `November 1–30, 2026`. `end` is exclusive.
 *
 * @param options `now`: its year is omitted. `form`: `short` for `Nov 1–30, 2026`.
 */
export function dateRangeWords(
  { start, end }: { start: number; end: number },
  { now, form = "long" }: { now?: number | undefined; form?: "long" | "short" } = {},
): string {
  const last = Math.max(start, end - 1);
  const hasYear = yearOf(start) !== yearOf(last) || now === undefined || yearOf(now) !== yearOf(last);
  const { locale } = presentation();
  if (locale !== defaultLocale) {
    return dateFormat(locale, hasYear ? `${form}Date` : `${form}Day`).formatRange(start, last);
  }
  const year = hasYear ? `, ${yearOf(last)}` : "";
  const [firstDay, lastDay] = [dateWords(`${form}Day`, start), dateWords(`${form}Day`, last)];
  if (yearOf(start) !== yearOf(last)) return `${firstDay}, ${yearOf(start)} – ${lastDay}${year}`;
  if (firstDay === lastDay) return firstDay + year;
  const [first, final] = [new Date(start), new Date(last)];
  return first.getUTCMonth() === final.getUTCMonth()
    ? `${firstDay}–${final.getUTCDate()}${year}`
    : `${firstDay} – ${lastDay}${year}`;
}

/** Returns the day of the week in UTC, such as `Sat`. */
export function weekday(atMs: number): string {
  return dateWords("weekday", atMs);
}

/** Returns a duration such as `15 h 12 min` or `3 days`. */
export function elapsedWords(ms: number): string {
  const [days, hours, minutes] = [ms / dayMs, ms / hourMs, ms / minuteMs].map(Math.floor) as [
    number,
    number,
    number,
  ];
  if (days >= 2) return `${days} days`;
  const parts = [hours === 0 ? "" : `${hours} h`, `${minutes - 60 * hours} min`];
  return parts.filter((part) => part !== "").join(" ");
}

function pastTime(atMs: number, nowMs: number): string {
  const passedMs = nowMs - atMs;
  if (passedMs < minuteMs) return "Just now";
  if (passedMs < hourMs) return `${countOf(Math.floor(passedMs / minuteMs), "minute")} ago`;
  const days = dayOf(nowMs) - dayOf(atMs);
  if (days === 0 || passedMs < 6 * hourMs) return `${countOf(Math.floor(passedMs / hourMs), "hour")} ago`;
  if (days === 1) return "Yesterday";
  return days <= recentDaysMax ? `${days} days ago` : shortDate(atMs, nowMs);
}

/** Rounds down, so that no one counts on more time than is left. Days are those of the calendar, as people count them. */
function futureTime(atMs: number, nowMs: number): string {
  const leftMs = atMs - nowMs;
  if (leftMs < minuteMs) return "in less than a minute";
  if (leftMs < hourMs) return `in ${countOf(Math.floor(leftMs / minuteMs), "minute")}`;
  if (leftMs < 2 * dayMs) return `in ${countOf(Math.floor(leftMs / hourMs), "hour")}`;
  const days = dayOf(atMs) - dayOf(nowMs);
  return days <= soonDaysMax ? `in ${countOf(days, "day")}` : shortDate(atMs, nowMs);
}

/** Numbers the days of the reader's calendar. */
function dayOf(ms: number): number {
  return Math.floor(onClock(ms, presentation().timezone) / dayMs);
}

function yearOf(ms: number): number {
  return new Date(ms).getUTCFullYear();
}

/** Writes a date of UTC. The default needs no formatter. */
function dateWords(style: DateStyle, ms: number): string {
  const { locale } = presentation();
  if (locale !== defaultLocale) return dateFormat(locale, style).format(ms);
  const date = new Date(ms);
  const month = months[date.getUTCMonth()] ?? "";
  const [day, year] = [date.getUTCDate(), date.getUTCFullYear()];
  switch (style) {
    case "weekday":
      return "SunMonTueWedThuFriSat".slice(3 * date.getUTCDay()).slice(0, 3);
    case "longDay":
      return `${month} ${day}`;
    case "longDate":
      return `${month} ${day}, ${year}`;
    case "longMonth":
      return `${month} ${year}`;
    case "shortMonth":
      return `${month.slice(0, 3)} ${year}`;
    case "shortDay":
      return `${month.slice(0, 3)} ${day}`;
    case "shortDate":
      return `${month.slice(0, 3)} ${day}, ${year}`;
  }
}
