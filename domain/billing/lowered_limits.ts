// What becomes less when limits change, and who already uses more than that.
import { hasScopeOf, type LimitScope, type NewLimit, type UsageLimit } from "../meter/usage_limit.ts";
import { eachNumber, type NumberOverrides, type PlanNumbers } from "./plan.ts";

/** The limits of an organization: its plan's values, with its own instead of some. */
export interface EffectiveLimits extends PlanNumbers {
  readonly limits: readonly Omit<UsageLimit, "id" | "notifyAt">[];
}

export function effectiveLimits(
  plan: EffectiveLimits,
  { limits, ...numbers }: NumberOverrides & { readonly limits: readonly NewLimit[] },
): EffectiveLimits {
  return {
    ...eachNumber((name) => numbers[name] ?? plan[name]),
    limits: [
      ...plan.limits.filter((limit) => !limits.some((own) => hasScopeOf(own, limit))),
      ...limits.flatMap(({ quantity, ...limit }) => quantity === null ? [] : [{ ...limit, quantity }]),
    ],
  };
}

/** A number of a plan that limits how many an organization may have of something that stays. Holds end by themselves. */
export type CountedNumber = Exclude<keyof PlanNumbers, "requestsPerSecond" | "holdsMax">;

/** The limits that a change lowers or adds. */
export interface LoweredLimits {
  readonly numbers: { readonly [Name in CountedNumber]?: number };
  readonly limits: EffectiveLimits["limits"];
}

/**
 * Returns the limits that a change lowers or adds, except limits per minute, whose use is over before anyone reads about it, and limits per
 * value.
 */
export function loweredLimits(before: EffectiveLimits, after: EffectiveLimits): LoweredLimits {
  const counted = (["apiKeysMax", "membersMax", "usageSeriesMax"] as const)
    .filter((name) => after[name] < before[name]);
  return {
    numbers: Object.fromEntries(counted.map((name) => [name, after[name]])),
    limits: after.limits.filter((limit) =>
      limit.per !== "minute" && !limit.by &&
      !before.limits.some((other) => hasScopeOf(other, limit) && other.quantity <= limit.quantity)
    ),
  };
}

/** A limit below what an organization already uses. */
export interface LimitBelowUse {
  readonly organization: { readonly id: string; readonly name: string };
  readonly what: CountedNumber | LimitScope;
  /** Includes grants. */
  readonly allowed: number;
  /** Usage in the current window. */
  readonly used: number;
}

/** The organizations that use more than limits would allow. */
export interface LimitsBelowUse {
  readonly organizationCount: number;
  /** The first of them, with each of their limits. */
  readonly found: readonly LimitBelowUse[];
  /** False if the search took too long, so that there may be more. */
  readonly isComplete: boolean;
}

/** The result when no search was possible. */
export const notSearched: LimitsBelowUse = { organizationCount: 0, found: [], isComplete: false };
