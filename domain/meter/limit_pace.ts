// Estimates when a monthly limit will be reached at the current rate, and how long a quantity lasts.
import type { LimitStanding } from "./usage_limit.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Less of a month says too little about the rest of it. */
const passedMinMs = 3 * dayMs;
/** No time zone's month begins earlier before the month of UTC. */
const aheadMaxMs = 14 * hourMs;

/** The time by which usage is compared with quantities that people type. */
export const weekMs = 7 * dayMs;

/** Returns how long a quantity lasts at the rate of the last week, in milliseconds: Infinity if nothing was used. */
export function lastsMs(quantity: number, usedInWeek: number): number {
  return usedInWeek <= 0 ? Infinity : quantity / usedInWeek * weekMs;
}

/**
 * Estimates when a limit per month is reached at the average rate of the month so far. Returns
 * null if that is after it resets, if it is reached already, or in the first three days.
 */
export function limitReachedAt(
  { per, used, remaining, resetsAt }: Pick<LimitStanding, "per" | "used" | "remaining" | "resetsAt">,
  now: number,
): number | null {
  if (per !== "month" || resetsAt === null || used === 0 || remaining === 0) return null;
  const end = Date.parse(resetsAt);
  const next = new Date(end + aheadMaxMs);
  const days = new Date(Date.UTC(next.getUTCFullYear(), next.getUTCMonth(), 0)).getUTCDate();
  const passedMs = now - (end - days * dayMs);
  const reachedAt = now + passedMs * remaining / used;
  return passedMs < passedMinMs || reachedAt >= end ? null : Math.floor(reachedAt);
}
