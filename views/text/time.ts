// Times in words, in UTC. They don't depend on the time zone or locale of the machine.
import { countOf } from "../../domain/number_text.ts";

const months = "January February March April May June July August September October November December"
  .split(" ");
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** Past times that are older are dates. */
const recentDaysMax = 6;
/** Future times that are further ahead are dates. */
const soonDaysMax = 30;

/** Returns a time relative to now, such as `2 minutes ago`, `Yesterday`, `Nov 12`, `in 6 days`. */
export function relativeTime(atMs: number, nowMs: number): string {
  return atMs > nowMs ? futureTime(atMs, nowMs) : pastTime(atMs, nowMs);
}

/** Returns the date, such as `Nov 21, 2026`. */
export function fullDate(atMs: number): string {
  return `${shortDay(new Date(atMs))}, ${yearOf(atMs)}`;
}

/** Returns the date, such as `Nov 21`, with the year unless it is the current one. */
export function shortDate(atMs: number, nowMs: number): string {
  return yearOf(atMs) === yearOf(nowMs) ? shortDay(new Date(atMs)) : fullDate(atMs);
}

/** Returns the time of day, such as `14:03:11`. */
export function clockTime(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 19);
}

/** Returns the month, such as `November 2026`. */
export function monthWords(atMs: number): string {
  return `${monthOf(new Date(atMs))} ${yearOf(atMs)}`;
}

/** Returns the exact time, such as `Nov 21, 2026, 14:03:11 UTC`. */
export function exactTime(atMs: number): string {
  return `${fullDate(atMs)}, ${clockTime(atMs)} UTC`;
}

/** Names days: `November 21, 2026`, `November 1–30, 2026`. `end` is exclusive; the year of `nowMs` is omitted. */
export function dateRangeWords({ start, end }: { start: number; end: number }, nowMs?: number): string {
  const [first, last] = [new Date(start), new Date(Math.max(start, end - 1))] as const;
  const [firstYear, lastYear] = [first.getUTCFullYear(), last.getUTCFullYear()];
  const [firstDay, lastDay] = [longDay(first), longDay(last)];
  if (firstYear !== lastYear) return `${firstDay}, ${firstYear} – ${lastDay}, ${lastYear}`;
  const year = nowMs !== undefined && yearOf(nowMs) === lastYear ? "" : `, ${lastYear}`;
  if (firstDay === lastDay) return firstDay + year;
  return first.getUTCMonth() === last.getUTCMonth()
    ? `${firstDay}–${last.getUTCDate()}${year}`
    : `${firstDay} – ${lastDay}${year}`;
}

/** Returns the day of the week, such as `Sat`. */
export function weekday(atMs: number): string {
  return "SunMonTueWedThuFriSat".slice(3 * new Date(atMs).getUTCDay()).slice(0, 3);
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
  const days = Math.floor(nowMs / dayMs) - Math.floor(atMs / dayMs);
  if (days === 0 || passedMs < 6 * hourMs) return `${countOf(Math.floor(passedMs / hourMs), "hour")} ago`;
  if (days === 1) return "Yesterday";
  return days <= recentDaysMax ? `${days} days ago` : shortDate(atMs, nowMs);
}

/** Rounds down, so that no one counts on more time than is left. */
function futureTime(atMs: number, nowMs: number): string {
  const leftMs = atMs - nowMs;
  if (leftMs < minuteMs) return "in less than a minute";
  if (leftMs < hourMs) return `in ${countOf(Math.floor(leftMs / minuteMs), "minute")}`;
  if (leftMs < 2 * dayMs) return `in ${countOf(Math.floor(leftMs / hourMs), "hour")}`;
  const days = Math.floor(leftMs / dayMs);
  return days <= soonDaysMax ? `in ${countOf(days, "day")}` : shortDate(atMs, nowMs);
}

function yearOf(ms: number): number {
  return new Date(ms).getUTCFullYear();
}

function monthOf(date: Date): string {
  return months[date.getUTCMonth()] ?? "";
}

function longDay(date: Date): string {
  return `${monthOf(date)} ${date.getUTCDate()}`;
}

function shortDay(date: Date): string {
  return `${monthOf(date).slice(0, 3)} ${date.getUTCDate()}`;
}
