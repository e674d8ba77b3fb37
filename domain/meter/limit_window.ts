// The windows of limits, and where a limit stands in one.
import { isoTime, zonedTime } from "../time.ts";
import { microsToNumber } from "./quantity.ts";
import type { GrantBalance } from "./usage_grant.ts";
import type { LimitMode, LimitPeriod, LimitScope, LimitStanding } from "./usage_limit.ts";
import { startOf, type UsageWindow } from "./usage_window.ts";

/** A limit and its use in one window, in millionths. */
export interface LimitUsage extends LimitScope {
  readonly limitId: string;
  readonly mode: LimitMode;
  readonly micros: bigint;
  readonly usedMicros: bigint;
  readonly heldMicros: bigint;
  /** Needed by holds of other windows, of the grants that are left. */
  readonly reservedMicros?: bigint;
  readonly at: number;
  /** The organization's time zone. */
  readonly timezone: string;
  /** The balance of grants, if the limit has any. `micros` includes it. */
  readonly grants?: GrantBalance;
  /** Of a limit per value. */
  readonly ofValue?: { readonly by: string; readonly value: string; readonly countsFrom: number };
}

/** Returns how much fits, in millionths; below zero if more is taken than the limit allows. */
export function roomOf(
  { micros, usedMicros, heldMicros, reservedMicros = 0n }: Pick<
    LimitUsage,
    "micros" | "usedMicros" | "heldMicros" | "reservedMicros"
  >,
): bigint {
  return micros - usedMicros - heldMicros - reservedMicros;
}

export function limitStanding(usage: LimitUsage): LimitStanding {
  const { limitId, productSlug, metric, per, mode, micros, usedMicros, heldMicros, at, timezone } = usage;
  const room = roomOf(usage);
  const end = recentWindow(per, timezone, at)?.end;
  return {
    limitId,
    productSlug,
    metric,
    per,
    ...usage.ofValue && { by: usage.ofValue.by, value: usage.ofValue.value },
    mode,
    quantity: microsToNumber(micros),
    used: microsToNumber(usedMicros),
    held: microsToNumber(heldMicros),
    remaining: microsToNumber(room > 0n ? room : 0n),
    resetsAt: end === undefined ? null : isoTime(end),
    ...usage.ofValue && { countsFrom: isoTime(usage.ofValue.countsFrom) },
    ...usage.grants && { grants: usage.grants },
  };
}

/** The last returned window, by length and time zone: most requests ask for the current one. */
const recentWindows = new Map<string, UsageWindow>();

function recentWindow(per: LimitPeriod, timezone: string, time: number): UsageWindow | null {
  const name = `${per} ${timezone}`;
  const recent = recentWindows.get(name);
  if (recent !== undefined && recent.start <= time && time < recent.end) return recent;
  const window = limitWindow(per, timezone, time);
  if (window !== null) recentWindows.set(name, window);
  return window;
}

/** Returns the calendar window that has a time; null for `total`, which has neither start nor end. */
export function limitWindow(per: LimitPeriod, timezone: string, time: number): UsageWindow | null {
  if (per === "total") return null;
  if (per === "minute") {
    const start = Math.floor(time / minuteMs) * minuteMs;
    return { start, end: start + minuteMs };
  }
  const zoned = zonedTime(time, timezone);
  const start = startOf(per, zoned);
  if (per !== "hour") {
    return {
      start: start.epochMilliseconds,
      end: startOf(per, start.add({ [`${per}s`]: 1 })).epochMilliseconds,
    };
  }
  // A change of clocks ends an hour, unless the clocks show the same minute before and after it.
  const next = start.add({ hours: 1 });
  const isSameHour = (other: Temporal.ZonedDateTime) =>
    (other.offsetNanoseconds - zoned.offsetNanoseconds) % hourNs === 0;
  const begin = isSameHour(start) ? start : zoned.add({ milliseconds: 1 }).getTimeZoneTransition("previous");
  const end = isSameHour(next) ? next : zoned.getTimeZoneTransition("next");
  return {
    start: (begin ?? start).epochMilliseconds,
    end: (end ?? next).epochMilliseconds,
  };
}

const hourNs = 3600e9;
const minuteMs = 60_000;
