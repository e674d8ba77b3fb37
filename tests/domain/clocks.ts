// Wall-clock times by Intl, which tests of times compare with.
import fc from "../support/runner/fast_check.ts";

export const hourMs = 3_600_000;
/** Time zones of every kind. */
export const zones = [
  ...["UTC", "Europe/Berlin", "America/New_York", "America/Los_Angeles", "Asia/Tokyo", "Pacific/Auckland"],
  // Zones that skip or repeat midnight.
  ...[
    "America/Havana",
    "America/Santiago",
    "Africa/Cairo",
    "Asia/Beirut",
    "Atlantic/Azores",
    "America/Asuncion",
  ],
  // Offsets of :30 and :45, and clock changes of half an hour.
  ...[
    "Asia/Kolkata",
    "Australia/Adelaide",
    "America/St_Johns",
    "Asia/Kathmandu",
    "Pacific/Chatham",
    "Australia/Lord_Howe",
  ],
  // Extreme offsets, and clock changes for Ramadan.
  ...["Pacific/Kiritimati", "Pacific/Pago_Pago", "Africa/Casablanca"],
];

const formats = new Map<string, Intl.DateTimeFormat>();

/** The wall-clock date, hour and offset of a time. */
export function wall(ms: number, timezone: string): { day: string; hour: string; offset: string } {
  let format = formats.get(timezone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-GB", {
      timeZone: timezone,
      hourCycle: "h23",
      ...{
        year: "numeric",
        month: "2-digit",
        day: "2-digit",
        hour: "2-digit",
        timeZoneName: "longOffset",
      } as const,
    });
    formats.set(timezone, format);
  }
  const part = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
  const { year, month, day, hour, timeZoneName } = part as Record<string, string>;
  return { day: `${year}-${month}-${day}`, hour: hour ?? "", offset: timeZoneName ?? "" };
}

/** Any millisecond of 40 years. */
export const anyTime = fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2040, 0) });
/** The wall-clock time of a time, such as `2026-10-25T02:00:00.123+02:00`. */
export function wallTime(ms: number, timezone: string): string {
  const parts = new Intl.DateTimeFormat("en-GB", {
    timeZone: timezone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: 3,
    timeZoneName: "longOffset",
  }).formatToParts(ms);
  const part = Object.fromEntries(parts.map(({ type, value }) => [type, value]));
  const offset = part["timeZoneName"]?.slice("GMT".length) || "+00:00";
  return `${part["year"]}-${part["month"]}-${part["day"]}T${part["hour"]}:${part["minute"]}:${
    part["second"]
  }.` +
    `${part["fractionalSecond"]}${offset}`;
}
