// Budgets: limits that an organization sets for one of its keys.
import { limitPeriods, type LimitScope, type UsageLimit } from "./usage_limit.ts";

/**
 * Finds the limit that a budget exceeds: the lowest one of the organization that counts everything the budget counts, in a
 * window of the same length or a longer one, and allows less.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * const scope = { productSlug: null, metric: "requests" } as const;
 * const limits = [{ id: "lim_1", ...scope, per: "month", quantity: 1_000, mode: "hard" }] as const;
 * const tiles = { ...scope, productSlug: "tiles", per: "day" } as const;
 * assert.equal(limitBelow({ ...tiles, quantity: 2_000 }, limits)?.id, "lim_1");
 * assert.equal(limitBelow({ ...tiles, quantity: 1_000 }, limits), undefined);
 * ```
 */
export function limitBelow(
  budget: LimitScope & { readonly quantity: number },
  limits: readonly UsageLimit[],
): UsageLimit | undefined {
  return limits.filter((limit) => covers(limit, budget) && limit.quantity < budget.quantity)
    .sort((a, b) => a.quantity - b.quantity)[0];
}

function covers(limit: LimitScope, budget: LimitScope): boolean {
  return (limit.productSlug === null || limit.productSlug === budget.productSlug) &&
    (limit.metric === null || limit.metric === budget.metric) &&
    limitPeriods.indexOf(limit.per) >= limitPeriods.indexOf(budget.per);
}
