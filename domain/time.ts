// Times as callers read and write them: RFC 3339 and dates.

/**
 * Reads a time in the form of {@linkcode parseTimestamp}, or a date such as `2026-11-01`, which means the start of that day in
 * a time zone. Returns milliseconds since 1970, or null for anything else.
 */
export function parseTime(text: string, timezone = "UTC"): number | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return parseTimestamp(text);
  try {
    return Temporal.PlainDate.from(text).toZonedDateTime(timezone).epochMilliseconds;
  } catch {
    return null;
  }
}

/** Describes the problem with a text that {@linkcode parseTime} rejects. */
export function timeFault(text: string): string {
  const form = "must be a date such as 2026-11-01, or a time such as 2026-11-01T00:00:00Z";
  // In a query string, a plain + means a space.
  return / \d{2}:\d{2}$/.test(text) ? `${form}. In a URL, write + as %2B.` : `${form}.`;
}

/** Reads a time of RFC 3339 to the millisecond, with an offset or `Z`. Returns null for anything else. */
export function parseTimestamp(text: string): number | null {
  const form = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/;
  if (!form.test(text)) return null;
  try {
    return Temporal.Instant.from(text).epochMilliseconds;
  } catch {
    return null;
  }
}

/** Returns ISO 8601 UTC with milliseconds; null for no time. */
export function isoTime(ms: number): string;
export function isoTime(ms: number | null): string | null;
export function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** Returns a time with its offset, such as `2026-10-01T00:00:00.000+02:00`; for UTC as {@linkcode isoTime}. */
export function isoTimeIn(ms: number, timezone: string): string {
  if (timezone === "UTC") return isoTime(ms);
  const time = zonedTime(ms, timezone);
  // Before they were standardized, offsets had seconds, which ISO 8601 can't express.
  if (time.offsetNanoseconds % 60e9 !== 0) return isoTime(ms);
  return time.toString({ timeZoneName: "never", smallestUnit: "millisecond" });
}

export const timezoneFault = "must be an IANA time zone such as Europe/Berlin.";

/** Returns the canonical name of an IANA time zone, or null. Plain offsets such as +01:00 are not accepted. */
export function timezoneName(text: string): string | null {
  try {
    return /^[A-Za-z]/.test(text) ? zonedTime(0, text).timeZoneId : null;
  } catch {
    return null;
  }
}

/** @param timezone An IANA name. */
export function zonedTime(ms: number, timezone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timezone);
}

/** The clocks of a time zone are `ahead` of UTC from a moment on, both in milliseconds. */
interface TimezoneOffset {
  readonly since: number;
  readonly ahead: number;
}

/** Returns the offset at the start of a range, and after each change in it. */
export function timezoneOffsets(
  timezone: string,
  { start, end }: { start: number; end: number },
): TimezoneOffset[] {
  const offsets: TimezoneOffset[] = [];
  let time: Temporal.ZonedDateTime | null = zonedTime(start, timezone);
  while (time !== null && time.epochMilliseconds < end) {
    offsets.push({ since: time.epochMilliseconds, ahead: time.offsetNanoseconds / 1e6 });
    time = time.getTimeZoneTransition("next");
  }
  return offsets;
}
