// Times in words, with the exact time in the title.
import { presentation } from "../../domain/presentation.ts";
import { clockTime, exactTime, namedTime, relativeTime, shortDate } from "../text/time.ts";

const hourMs = 3_600_000;

/** A relative time: `2 minutes ago`; `Never` without one. */
export function RelativeTime({ at, now }: { at: string | null; now: number }) {
  if (at === null) return <>Never</>;
  const atMs = Date.parse(at);
  return <time datetime={at} title={exactTime(atMs)}>{relativeTime(atMs, now)}</time>;
}

/** A {@linkcode RelativeTime} as a cell of an `ItemTable`. */
export function TimeCell(props: { at: string | null; now: number }) {
  return <span>{RelativeTime(props)}</span>;
}

/** A day: `Aug 4`. */
export function DayTime({ at, now }: { at: string; now: number }) {
  const atMs = Date.parse(at);
  return <time datetime={at} title={exactTime(atMs)}>{shortDate(atMs, now)}</time>;
}

/** A moment to the second: `Nov 21, 14:03:11`. @param timezone By default the page's. */
export function MomentTime({ at, now, timezone }: { at: string; now: number; timezone?: string }) {
  const atMs = Date.parse(at);
  return (
    <time datetime={at} title={exactTime(atMs, timezone)}>
      {`${shortDate(atMs, now, timezone)}, ${clockTime(atMs, timezone)}`}
    </time>
  );
}

/** Says in the organization's time zone, in which limits count, when one resets: `in 5 minutes`, `Dec 1, 00:00 Tokyo`. */
export function ResetTime({ at, now }: { at: string; now: number }) {
  const atMs = Date.parse(at);
  const { organizationTimezone } = presentation();
  return (
    <time datetime={at} title={exactTime(atMs, organizationTimezone)}>
      {atMs - now < hourMs ? relativeTime(atMs, now) : namedTime(atMs, now, organizationTimezone)}
    </time>
  );
}
