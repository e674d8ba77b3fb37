// Grants: quantities that raise an organization's limit, such as those that it bought in advance.
import { millionthsWholeMax } from "./quantity.ts";
import type { LimitPeriod, WindowPeriod } from "./usage_limit.ts";
import type { RefillPeriod, usageRefillStatuses } from "./usage_refill.ts";

export const usageGrantStatuses = ["scheduled", "active", "used", "expired", "voided"] as const;
export type UsageGrantStatus = (typeof usageGrantStatuses)[number];

export const grantQuantityMax = millionthsWholeMax;
/** Grants of an organization for one limit that can be used. The transaction that records reads all of them. */
export const activeGrantsMax = 100;
export const grantReasonCharactersMax = 200;

export interface UsageGrant {
  readonly id: string;
  /** The limit that it was given for. It raises any limit with the same product, metric and `per`. */
  readonly limitId: string;
  readonly productSlug: string | null;
  readonly metric: string | null;
  /** Missing for limits in total. */
  readonly per?: WindowPeriod;
  readonly quantity: number;
  readonly used: number;
  /** The rest that can be used: 0 before it starts, and once it has expired or was voided. */
  readonly remaining: number;
  readonly status: UsageGrantStatus;
  /** Times are in ISO 8601 UTC. */
  readonly startsAt: string;
  readonly expiresAt: string | null;
  /** The refill that it belongs to, and how often that repeats. */
  readonly refillId: string | null;
  readonly every: RefillPeriod | null;
  readonly reason: string;
  readonly idempotencyKey: string;
  readonly createdAt: string;
  readonly voidedAt: string | null;
  readonly voidReason: string | null;
}

/** A grant that repeats. */
export interface UsageRefill extends
  Pick<
    UsageGrant,
    | "id"
    | "limitId"
    | "productSlug"
    | "metric"
    | "per"
    | "quantity"
    | "reason"
    | "createdAt"
    | "voidedAt"
    | "voidReason"
  > {
  readonly every: RefillPeriod;
  /** 1: what is left of a grant expires one turn later. */
  readonly rollover: 0 | 1;
  /** No turn begins at or after it. */
  readonly until: string | null;
  readonly status: (typeof usageRefillStatuses)[number];
}

/** The grants of a limit that can be used. */
export interface GrantBalance {
  /** The limit's own quantity, without any grants. */
  readonly limitQuantity: number;
  readonly quantity: number;
  readonly used: number;
  readonly remaining: number;
  /** When the next of them expires, in ISO 8601 UTC; null if none does. */
  readonly nextExpiresAt: string | null;
}

/**
 * The use and the quantity of a limit without what was used of grants that can't be used anymore: its current balance. A window has no
 * such past.
 */
export function currentUse(
  { used, quantity, grants, per = "total" }: {
    readonly per?: LimitPeriod;
    readonly used: number;
    readonly quantity: number;
    readonly grants?: GrantBalance;
  },
): { used: number; quantity: number } {
  if (grants === undefined || per !== "total") return { used, quantity };
  const past = quantity - grants.limitQuantity - grants.quantity;
  const exact = (value: number) => Number(value.toFixed(6));
  return { used: exact(used - past), quantity: exact(quantity - past) };
}
