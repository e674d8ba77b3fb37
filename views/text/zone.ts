// Times in words, in a time zone: shifted by the zone's UTC offset, so that functions for UTC show the zone's clock.
import type { UsageWindow, WindowUnit } from "../../domain/meter/usage_window.ts";
import { clockTime, dateRangeWords, fullDate, monthWords, shortDate, weekday } from "./time.ts";

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

/** Returns the time plus the zone's offset: its date and time in UTC are those of the zone. */
export function onClock(ms: number, timezone: string): number {
  return ms + zoned(ms, timezone).offsetNanoseconds / 1e6;
}

let names: readonly string[] | undefined;

/** Returns the time zones to choose from besides UTC, sorted: IANA names. */
export function timezoneNames(): readonly string[] {
  return names ??= Intl.supportedValuesOf("timeZone").map((name) => newNames[name] ?? name).sort();
}

/** Returns a time zone as people write it: `America/New York`. */
export function zoneWords(timezone: string): string {
  return timezone.replaceAll("_", " ");
}

/** Returns the exact time in the zone, such as `Nov 21, 2026, 15:03:11 Europe/Berlin`. */
export function exactTimeIn(ms: number, timezone: string): string {
  const clock = onClock(ms, timezone);
  return `${fullDate(clock)}, ${clockTime(clock)} ${zoneWords(timezone)}`;
}

/** Returns the days of a period in the zone: `November 1–30, 2026`. @param now If given, its year is omitted. */
export function daysWords({ start, end }: UsageWindow, timezone: string, now?: number): string {
  const days = { start: onClock(start, timezone), end: onClock(end - 1, timezone) + 1 };
  return dateRangeWords(days, now === undefined ? undefined : onClock(now, timezone));
}

/** Returns the days with short months: `Nov 1–30, 2026`. */
export function shortDaysWords(window: UsageWindow, timezone: string, now?: number): string {
  return daysWords(window, timezone, now).replaceAll(/\b([A-Z][a-z]{2})[a-z]+/g, "$1");
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
    const { offset } = zoned(windows[index]?.start ?? 0, options.timezone);
    return { ...one, name: `${one.name} (UTC${offset})` };
  });
}

function windowName(
  window: UsageWindow,
  { unit, timezone, now }: { unit: WindowUnit; timezone: string; now: number },
): WindowName {
  const start = onClock(window.start, timezone);
  const day = shortDate(start, onClock(now, timezone));
  if (unit === "hour") {
    const hour = clockTime(start).slice(0, 5);
    const startsDay = isDayStart(window.start, timezone);
    return { label: startsDay ? day : hour, name: `${day}, ${hour}`, startsDay };
  }
  if (unit === "day") return { label: day, name: `${weekday(start)}, ${day}`, startsDay: false };
  const days = daysWords(window, timezone);
  if (unit === "week") return { label: day, name: days, startsDay: false };
  const month = monthWords(start);
  const isWhole = [window.start, window.end].every((ms) =>
    zoned(ms, timezone).day === 1 && isDayStart(ms, timezone)
  );
  return { label: month.replace(/^(...)\S*/, "$1"), name: isWhole ? month : days, startsDay: false };
}

function isDayStart(ms: number, timezone: string): boolean {
  return zoned(ms, timezone).startOfDay().epochMilliseconds === ms;
}

function zoned(ms: number, timezone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timezone);
}
