// Times in words, always in UTC and never by the machine's locale: the same input gives the same page everywhere.

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"] as const;
const longMonths = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
] as const;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** Older than this, a past time is a date. */
const recentDaysMax = 6;
/** Further ahead than this, a coming time is a date. */
const soonDaysMax = 30;

/**
 * Says when something was or will be, as a person would.
 *
 * @param atMs The time, in milliseconds since 1970.
 * @param nowMs The time of the page, likewise.
 * @returns Such as `2 minutes ago`, `Yesterday`, `12 Nov`, `in 6 days`.
 */
export function relativeTime(atMs: number, nowMs: number): string {
  return atMs > nowMs ? comingTime(atMs, nowMs) : pastTime(atMs, nowMs);
}

/** @returns The date as `21 Nov 2026`. */
export function fullDate(atMs: number): string {
  const date = new Date(atMs);
  return `${shortDay(date)} ${date.getUTCFullYear()}`;
}

/** @returns The date as `21 Nov`, with the year when it is not the page's. */
export function shortDate(atMs: number, nowMs: number): string {
  const date = new Date(atMs);
  return date.getUTCFullYear() === new Date(nowMs).getUTCFullYear() ? shortDay(date) : fullDate(atMs);
}

/** @returns The time of day as `14:03:11`. */
export function clockTime(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 19);
}

/**
 * Names a range of days.
 *
 * @param range In milliseconds since 1970; `end` is no longer in it.
 * @returns Such as `21 November 2026`, `1–30 November 2026`, `24 August – 21 November 2026`.
 */
export function dateRangeWords({ start, end }: { start: number; end: number }): string {
  const first = longDate(start);
  const last = longDate(Math.max(start, end - 1));
  const lastText = `${last.day} ${last.month} ${last.year}`;
  if (first.year !== last.year) return `${first.day} ${first.month} ${first.year} – ${lastText}`;
  if (first.month !== last.month) return `${first.day} ${first.month} – ${lastText}`;
  return first.day === last.day ? lastText : `${first.day}–${lastText}`;
}

/** @returns The exact time, such as `21 Nov 2026, 14:03:11 UTC`. */
export function exactTime(atMs: number): string {
  return `${fullDate(atMs)}, ${clockTime(atMs)} UTC`;
}

function pastTime(atMs: number, nowMs: number): string {
  const passedMs = nowMs - atMs;
  if (passedMs < minuteMs) return "Just now";
  if (passedMs < hourMs) return `${amount(passedMs / minuteMs, "minute")} ago`;
  const days = calendarDay(nowMs) - calendarDay(atMs);
  if (days === 0 || passedMs < 6 * hourMs) return `${amount(passedMs / hourMs, "hour")} ago`;
  if (days === 1) return "Yesterday";
  return days <= recentDaysMax ? `${days} days ago` : shortDate(atMs, nowMs);
}

/** Rounded down, so that nobody counts on time that is not left. */
function comingTime(atMs: number, nowMs: number): string {
  const leftMs = atMs - nowMs;
  if (leftMs < minuteMs) return "in less than a minute";
  if (leftMs < hourMs) return `in ${amount(leftMs / minuteMs, "minute")}`;
  if (leftMs < 2 * dayMs) return `in ${amount(leftMs / hourMs, "hour")}`;
  return leftMs < (soonDaysMax + 1) * dayMs ? `in ${amount(leftMs / dayMs, "day")}` : shortDate(atMs, nowMs);
}

function amount(value: number, unit: string): string {
  const whole = Math.floor(value);
  return `${whole} ${unit}${whole === 1 ? "" : "s"}`;
}

function calendarDay(ms: number): number {
  return Math.floor(ms / dayMs);
}

function longDate(ms: number): { day: number; month: string; year: number } {
  const date = new Date(ms);
  return { day: date.getUTCDate(), month: longMonths[date.getUTCMonth()] ?? "", year: date.getUTCFullYear() };
}

function shortDay(date: Date): string {
  return `${date.getUTCDate()} ${months[date.getUTCMonth()]}`;
}
