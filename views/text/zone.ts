// Times on the clocks of a time zone: moved by its offset, so that what reads a time as UTC reads the zone's clock.
import type { UsageWindow, WindowUnit } from "../../domain/meter/usage_window.ts";
import { clockTime, dateRangeWords, fullDate, shortDate } from "./time.ts";

/** Names of the time zone database that are older than what the places are called now. */
const newNames: ReadonlyMap<string, string> = new Map([
  ["Africa/Asmera", "Africa/Asmara"],
  ["America/Buenos_Aires", "America/Argentina/Buenos_Aires"],
  ["America/Godthab", "America/Nuuk"],
  ["Asia/Calcutta", "Asia/Kolkata"],
  ["Asia/Katmandu", "Asia/Kathmandu"],
  ["Asia/Rangoon", "Asia/Yangon"],
  ["Asia/Saigon", "Asia/Ho_Chi_Minh"],
  ["Atlantic/Faeroe", "Atlantic/Faroe"],
  ["Europe/Kiev", "Europe/Kyiv"],
]);

/** How a window is called. */
export interface WindowName {
  /** On the axis: `14:00`, `21 Nov`, `Nov 2026`. */
  readonly label: string;
  /** In full: `21 Nov, 14:00`, `16–22 Nov`, `November 2026`. */
  readonly name: string;
  /** An hour that is its day's first; on the axis it has the day's name. */
  readonly startsDay: boolean;
}

/** @returns The time moved by the zone's offset: its UTC date and time are the zone's. */
export function onClock(ms: number, timezone: string): number {
  return ms + zoned(ms, timezone).offsetNanoseconds / 1e6;
}

/** @returns The time zones that one can choose besides UTC, sorted: IANA names. */
export function timezoneNames(): string[] {
  return Intl.supportedValuesOf("timeZone").map((name) => newNames.get(name) ?? name).sort();
}

/** @returns A time zone as people write it: `America/New York`. */
export function zoneWords(timezone: string): string {
  return timezone.replaceAll("_", " ");
}

/** @returns The exact time on the zone's clock, such as `21 Nov 2026, 15:03:11 Europe/Berlin`. */
export function exactTimeIn(ms: number, timezone: string): string {
  const clock = onClock(ms, timezone);
  return `${fullDate(clock)}, ${clockTime(clock)} ${zoneWords(timezone)}`;
}

/** @returns The days of a stretch of time in the zone: `1–30 November 2026`. */
export function daysWords({ start, end }: UsageWindow, timezone: string): string {
  return dateRangeWords({ start: onClock(start, timezone), end: onClock(end - 1, timezone) + 1 });
}

/**
 * Names the windows of a chart.
 *
 * @param options `now`: the time of the page; its year is left out.
 * @returns A name for each, no two alike: an hour that is repeated when clocks go back has its offset with it.
 */
export function windowNames(
  windows: readonly UsageWindow[],
  { unit, timezone, now }: { unit: WindowUnit; timezone: string; now: number },
): WindowName[] {
  const page = onClock(now, timezone);
  const names = windows.map((window) => {
    const start = onClock(window.start, timezone);
    const day = shortDate(start, page);
    const hour = clockTime(start).slice(0, 5);
    const startsDay = unit === "hour" &&
      zoned(window.start, timezone).startOfDay().epochMilliseconds === window.start;
    if (unit === "hour") return { label: startsDay ? day : hour, name: `${day}, ${hour}`, startsDay };
    if (unit === "day") return { label: day, name: day, startsDay };
    const days = daysWords(window, timezone);
    if (unit === "week") return { label: day, name: days, startsDay };
    const month = fullDate(start).replace(/^\d+ /, "");
    const isWhole = start === startOfMonth(start) &&
      onClock(window.end, timezone) === startOfMonth(onClock(window.end, timezone));
    return { label: month, name: isWhole ? days.replace(/^\S+ /, "") : days, startsDay };
  });
  const seen = new Map<string, number>();
  for (const { name } of names) seen.set(name, (seen.get(name) ?? 0) + 1);
  return names.map((one, index) => {
    const start = windows[index]?.start ?? 0;
    return seen.get(one.name) === 1 ? one : { ...one, name: `${one.name} (${offsetWords(start, timezone)})` };
  });
}

function offsetWords(ms: number, timezone: string): string {
  return `UTC${zoned(ms, timezone).offset}`;
}

function startOfMonth(clockMs: number): number {
  const date = new Date(clockMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

function zoned(ms: number, timezone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timezone);
}
