// Periods and windows in words, in a time zone.
import type { UsageWindow, WindowUnit } from "../../domain/meter/usage_window.ts";
import { zonedTime } from "../../domain/time.ts";
import { clockTime, dateRangeWords, monthWords, onClock, shortDate, weekday } from "./time.ts";

export { exactTime as exactTimeIn, onClock, zoneWords } from "./time.ts";

/** Current names of places that the time zone database lists under an older one. */
const newNames: Readonly<Record<string, string>> = {
  "Africa/Asmera": "Africa/Asmara",
  "America/Buenos_Aires": "America/Argentina/Buenos_Aires",
  "America/Godthab": "America/Nuuk",
  "Asia/Calcutta": "Asia/Kolkata",
  "Asia/Katmandu": "Asia/Kathmandu",
  "Asia/Rangoon": "Asia/Yangon",
  "Asia/Saigon": "Asia/Ho_Chi_Minh",
  "Atlantic/Faeroe": "Atlantic/Faroe",
  "Europe/Kiev": "Europe/Kyiv",
};

export interface WindowName {
  /** On the axis: `14:00`, `Nov 21`, `Nov 2026`. */
  readonly label: string;
  /** In full: `Nov 21, 14:00`, `Sat, Nov 21`, `November 16–22, 2026`, `November 2026`. */
  readonly name: string;
  /** The first hour of a day, which has the day's name on the axis. */
  readonly startsDay: boolean;
}

let names: readonly string[] | undefined;

/** Returns the time zones to choose from besides UTC, sorted: IANA names. */
export function timezoneNames(): readonly string[] {
  return names ??= Intl.supportedValuesOf("timeZone").map((name) => newNames[name] ?? name).sort();
}

/** Returns the days of a period in the zone: `November 1–30, 2026`. @param now If given, its year is omitted. */
export function daysWords(window: UsageWindow, timezone: string, now?: number): string {
  return dayRangeWords(window, timezone, { now, form: "long" });
}

/** Returns the days with short months: `Nov 1–30, 2026`. */
export function shortDaysWords(window: UsageWindow, timezone: string, now?: number): string {
  return dayRangeWords(window, timezone, { now, form: "short" });
}

function dayRangeWords(
  { start, end }: UsageWindow,
  timezone: string,
  { now, form }: { now: number | undefined; form: "long" | "short" },
): string {
  const days = { start: onClock(start, timezone), end: onClock(end - 1, timezone) + 1 };
  return dateRangeWords(days, { now: now === undefined ? undefined : onClock(now, timezone), form });
}

/** Names the windows of a chart uniquely: an hour that repeats when clocks go back includes its UTC offset. */
export function windowNames(
  windows: readonly UsageWindow[],
  options: { unit: WindowUnit; timezone: string; now: number },
): WindowName[] {
  const names = windows.map((window) => windowName(window, options));
  const counts = new Map<string, number>();
  for (const { name } of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return names.map((one, index) => {
    if (counts.get(one.name) === 1) return one;
    const { offset } = zonedTime(windows[index]?.start ?? 0, options.timezone);
    return { ...one, name: `${one.name} (UTC${offset})` };
  });
}

function windowName(
  window: UsageWindow,
  { unit, timezone, now }: { unit: WindowUnit; timezone: string; now: number },
): WindowName {
  const start = onClock(window.start, timezone);
  const day = shortDate(window.start, now, timezone);
  if (unit === "hour" || unit === "4h" || unit === "6h") {
    const hour = clockTime(window.start, timezone).slice(0, 5);
    const startsDay = isDayStart(window.start, timezone);
    return { label: startsDay ? day : hour, name: `${day}, ${hour}`, startsDay };
  }
  if (unit === "day") return { label: day, name: `${weekday(start)}, ${day}`, startsDay: false };
  const days = daysWords(window, timezone);
  if (unit === "week") return { label: day, name: days, startsDay: false };
  const isWhole = [window.start, window.end].every((ms) =>
    zonedTime(ms, timezone).day === 1 && isDayStart(ms, timezone)
  );
  return { label: monthWords(start, "short"), name: isWhole ? monthWords(start) : days, startsDay: false };
}

function isDayStart(ms: number, timezone: string): boolean {
  return zonedTime(ms, timezone).startOfDay().epochMilliseconds === ms;
}
