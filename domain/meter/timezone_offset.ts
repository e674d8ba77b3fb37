// When and by how much the clocks of a time zone change.
import { zonedTime } from "../time.ts";
import type { UsageWindow } from "./usage_window.ts";

/** The clocks of a time zone are `ahead` of UTC from a moment on, both in milliseconds. */
interface TimezoneOffset {
  readonly since: number;
  readonly ahead: number;
}

/** Returns the offset at the start of a range, and after each change in it. */
export function timezoneOffsets(timezone: string, { start, end }: UsageWindow): TimezoneOffset[] {
  const offsets: TimezoneOffset[] = [];
  let time: Temporal.ZonedDateTime | null = zonedTime(start, timezone);
  while (time !== null && time.epochMilliseconds < end) {
    offsets.push({ since: time.epochMilliseconds, ahead: time.offsetNanoseconds / 1e6 });
    time = time.getTimeZoneTransition("next");
  }
  return offsets;
}
