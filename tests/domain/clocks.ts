// Wall-clock times by Intl, which tests of times compare with.
import fc from "../support/runner/fast_check.ts";

export const hourMs = 3_600_000;
/** Time zones of every kind. */
export const zones = [
  "UTC Europe/Berlin America/New_York America/Los_Angeles Asia/Tokyo Pacific/Auckland",
  // Zones that skip or repeat midnight.
  "America/Havana America/Santiago Africa/Cairo Asia/Beirut Atlantic/Azores America/Asuncion",
  // Offsets of :30 and :45, and clock changes of half an hour.
  "Asia/Kolkata Australia/Adelaide America/St_Johns Asia/Kathmandu Pacific/Chatham Australia/Lord_Howe",
  // Extreme offsets, and clock changes for Ramadan.
  "Pacific/Kiritimati Pacific/Pago_Pago Africa/Casablanca",
].flatMap((names) => names.split(" "));

const formats = new Map<string, Intl.DateTimeFormat>();

function partsOf(ms: number, timezone: string): Record<string, string> {
  let format = formats.get(timezone);
  if (format === undefined) {
    const two = "2-digit";
    const time = {
      hour: two,
      minute: two,
      second: two,
      fractionalSecondDigits: 3,
      hourCycle: "h23",
    } as const;
    const date = { year: "numeric", month: two, day: two, timeZoneName: "longOffset" } as const;
    format = new Intl.DateTimeFormat("en-GB", { timeZone: timezone, ...time, ...date });
    formats.set(timezone, format);
  }
  return Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
}

/** The wall-clock date, hour and offset of a time. */
export function wall(ms: number, timezone: string): { day: string; hour: string; offset: string } {
  const { year, month, day, hour = "", timeZoneName = "" } = partsOf(ms, timezone);
  return { day: `${year}-${month}-${day}`, hour, offset: timeZoneName };
}

/** The wall-clock time of a time, such as `2026-10-25T02:00:00.123+02:00`. */
export function wallTime(ms: number, timezone: string): string {
  const { minute, second, fractionalSecond } = partsOf(ms, timezone);
  const { day, hour, offset } = wall(ms, timezone);
  return `${day}T${hour}:${minute}:${second}.${fractionalSecond}${offset.slice("GMT".length) || "+00:00"}`;
}

/** Any millisecond of 40 years. */
export const anyTime = fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2040, 0) });
