// Refills: grants that repeat at each turn of the calendar in the organization's time zone.
import { zonedTime } from "../time.ts";
import { startOf } from "./usage_window.ts";

export const refillPeriods = ["day", "week", "month"] as const;
export type RefillPeriod = (typeof refillPeriods)[number];
export const usageRefillStatuses = ["active", "ended", "voided"] as const;

/** Refills of an organization for one limit that haven't ended. */
export const activeRefillsMax = 10;

/** A turn with a grant that hasn't ended. */
export interface GivenTurn {
  /** Its first day, such as `2026-11-01`, which is the same in all time zones. */
  readonly turn: string;
  readonly hasStarted: boolean;
}

/** A turn of a refill. Times are in milliseconds since 1970. */
export interface RefillTurn extends GivenTurn {
  readonly startsAt: number;
  readonly endsAt: number;
}

/** Turns after the current one whose grants are written ahead. The transaction that records passes over their index entries. */
const turnsAhead: Readonly<Record<RefillPeriod, number>> = { day: 7, week: 4, month: 3 };

/**
 * Returns the turns that haven't ended, from those that have a grant to the last one that is written ahead. One that should have begun
 * begins now.
 *
 * @param schedule `until`: in milliseconds since 1970, or null.
 * @param given `last`: the last one with a grant; null for a new refill, whose first turn begins now.
 */
export function refillTurns(
  { every, rollover, until, timezone }: {
    every: RefillPeriod;
    rollover: number;
    until: number | null;
    timezone: string;
  },
  { turns, last, now }: { turns: readonly GivenTurn[]; last: string | null; now: number },
): RefillTurn[] {
  const current = startOf(every, zonedTime(now, timezone)).toPlainDate();
  const after = (date: Temporal.PlainDate, count: number) => date.add({ [`${every}s`]: count });
  const start = (date: Temporal.PlainDate) => date.toZonedDateTime(timezone).epochMilliseconds;
  const list = turns.map(({ turn, hasStarted }) => ({ date: Temporal.PlainDate.from(turn), hasStarted }));
  const end = after(current, turnsAhead[every]);
  let next = last === null ? current : after(Temporal.PlainDate.from(last), 1);
  for (; Temporal.PlainDate.compare(next, end) <= 0; next = after(next, 1)) {
    if (start(after(next, 1 + rollover)) > now) list.push({ date: next, hasStarted: false });
  }
  return list.map(({ date, hasStarted }) => ({
    turn: date.toString(),
    hasStarted,
    startsAt: Math.max(start(date), now),
    endsAt: Math.max(start(after(date, 1 + rollover)), now),
  })).filter(({ hasStarted, startsAt }) => hasStarted || until === null || startsAt < until);
}
