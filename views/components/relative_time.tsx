// Times in words, with the exact time in the title.
import { clockTime, exactTime, relativeTime, shortDate } from "../text/time.ts";
import { exactTimeIn, onClock } from "../text/zone.ts";

/** A relative time: `2 minutes ago`; `Never` without one. */
export function RelativeTime({ at, now }: { at: string | null; now: number }) {
  if (at === null) return <>Never</>;
  const atMs = Date.parse(at);
  return <time datetime={at} title={exactTime(atMs)}>{relativeTime(atMs, now)}</time>;
}

/** A day: `Aug 4`. */
export function DayTime({ at, now }: { at: string; now: number }) {
  const atMs = Date.parse(at);
  return <time datetime={at} title={exactTime(atMs)}>{shortDate(atMs, now)}</time>;
}

/** A moment in a time zone, to the second: `Nov 21, 14:03:11`. */
export function MomentTime({ at, now, timezone }: { at: string; now: number; timezone: string }) {
  const atMs = Date.parse(at);
  const clock = onClock(atMs, timezone);
  return (
    <time datetime={at} title={exactTimeIn(atMs, timezone)}>
      {`${shortDate(clock, onClock(now, timezone))}, ${clockTime(clock)}`}
    </time>
  );
}
