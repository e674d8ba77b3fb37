// Limits per value: each value of a property has a counter and the limit's quantity of its own.
import { noneValue } from "./dimension.ts";
import type { LimitPeriod, LimitStanding } from "./usage_limit.ts";

/** Values with a counter in one window of a limit. All further ones share that of `otherValue`. The schema's triggers have it, too. */
export const limitValuesMax = 10_000;
/** Values that the events of one window of a limit name. */
export const namedValuesMax = 100;
/** Values of a limit with a quantity of their own. */
export const limitExceptionsMax = 1_000;
/** Limits per value that apply to an organization, and its alerts per value. */
export const valueLimitsMax = 4;
/** Values of a limit that lists show: those closest to their limit. */
export const closestValuesMax = 10;
/** Days for which the counters of a window are kept after its end. An older record counts against no limit per value. */
export const valueCountersKeptDays = { hour: 2, day: 40, month: 404 } as const;

/** The windows that a limit per value can have. */
export function canCountValues(per: LimitPeriod): per is keyof typeof valueCountersKeptDays {
  return per in valueCountersKeptDays;
}

/** A value with a quantity of its own; null for no limit. */
export interface LimitException {
  readonly value: string;
  readonly quantity: number | null;
}

/** Returns the value for which a record counts. */
export function valueOf(properties: Readonly<Record<string, string>> | null, by: string): string {
  return properties !== null && Object.hasOwn(properties, by) ? properties[by] ?? noneValue : noneValue;
}

/** Returns the standings without values of a limit that are further from it than the closest ones. */
export function closestValues(standings: readonly LimitStanding[]): readonly LimitStanding[] {
  if (standings.length <= closestValuesMax) return standings;
  const part = ({ used, held, quantity }: LimitStanding) =>
    quantity === 0 ? Infinity : (used + held) / quantity;
  const counts = new Map<string, number>();
  return [...standings].sort((a, b) => part(b) - part(a)).filter(({ limitId }) => {
    const count = (counts.get(limitId) ?? 0) + 1;
    counts.set(limitId, count);
    return count <= closestValuesMax;
  });
}
