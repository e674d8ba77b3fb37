// Limits of usage: how much of a product and metric may be recorded in a calendar window.
import { hash } from "node:crypto";
import type { GrantBalance } from "./usage_grant.ts";
import type { LimitException } from "./value_limit.ts";

/** The windows of limits, shortest first. `total` never ends. */
export const limitPeriods = ["minute", "hour", "day", "month", "total"] as const;
export type LimitPeriod = (typeof limitPeriods)[number];
export const windowPeriods = ["minute", "hour", "day", "month"] as const;
export type WindowPeriod = (typeof windowPeriods)[number];

/**
 * `hard`: rejects usage that doesn't fit. `cutoff`: records usage, and denies verification, forward authentication and holds when nothing
 * is left. `soft`: records and reports usage.
 */
export const limitModes = ["hard", "cutoff", "soft"] as const;
export type LimitMode = (typeof limitModes)[number];

/** A limit counts all records of a product and metric in calendar windows. Null means all of them together. */
export interface LimitScope {
  readonly productSlug: string | null;
  readonly metric: string | null;
  readonly per: LimitPeriod;
  /** The property whose values each have the limit's quantity. */
  readonly by?: string | null | undefined;
}

export interface UsageLimit extends LimitScope {
  readonly id: string;
  readonly quantity: number;
  readonly mode: LimitMode;
  /** The percentages at which people and endpoints are notified, ascending. Null for {@linkcode defaultNotifyAt}. */
  readonly notifyAt: readonly number[] | null;
  /** Values with a quantity of their own, if the limit is per value. */
  readonly values?: readonly LimitException[] | undefined;
}

export const defaultNotifyAt: readonly number[] = [80, 100];

/** Returns percentages in ascending order; null if they are the default. */
export function storedNotifyAt(notifyAt: readonly number[] | null | undefined): readonly number[] | null {
  const sorted = [...new Set(notifyAt ?? defaultNotifyAt)].sort((a, b) => a - b);
  return sorted.join() === defaultNotifyAt.join() ? null : sorted;
}

/** A limit and its use in one window. */
export interface LimitStanding extends LimitScope {
  readonly limitId: string;
  readonly mode: LimitMode;
  readonly quantity: number;
  readonly used: number;
  /** Taken by active holds. */
  readonly held: number;
  /** 0 when more is used and held than the limit allows. */
  readonly remaining: number;
  /** The end of the window in ISO 8601 UTC; null for `total`. */
  readonly resetsAt: string | null;
  /** Of a limit per value: the value that the numbers are of. Usage is counted since `countsFrom`, in ISO 8601 UTC. */
  readonly by?: string;
  readonly value?: string;
  readonly countsFrom?: string;
  /** If only holds leave no room for a request: when the first of the organization's holds expires. */
  readonly heldUntil?: string;
  /** In lists of limits: the grants that raise it, which are in `quantity` and `remaining`. */
  readonly grants?: GrantBalance;
}

/** A limit that an organization sets for itself: it notifies, and never rejects. */
export interface Alert extends LimitScope, Pick<LimitStanding, "quantity" | "resetsAt"> {
  readonly id: string;
  /** The current key of those whose usage it counts; null for all usage. */
  readonly apiKey: { readonly id: string; readonly name: string } | null;
  readonly notifyAt: readonly number[];
  readonly values?: readonly LimitException[];
  /** Usage in the current window; null if it isn't available, and of an alert per value. */
  readonly used: number | null;
  readonly createdAt: string;
}

/** True if two limits count the same usage in windows of the same length. */
export function hasScopeOf(limit: LimitScope, other: LimitScope): boolean {
  return limit.productSlug === other.productSlug && limit.metric === other.metric &&
    limit.per === other.per &&
    (limit.by ?? null) === (other.by ?? null);
}

/** A limit to be set. Without a quantity, an organization has no such limit although its plan has. */
export type NewLimit = Omit<UsageLimit, "id" | "quantity" | "notifyAt"> & {
  readonly quantity: number | null;
  readonly notifyAt?: UsageLimit["notifyAt"] | undefined;
};

/** A limit of a budget to be set. */
export type BudgetLimit = NewLimit & { readonly quantity: number };

/** An organization's limit, which replaces the plan's with the same scope. */
export type OverrideLimit = NewLimit & Pick<UsageLimit, "id" | "notifyAt">;

/** True for a limit that allows a quantity, as all limits of plans and keys do. */
export function hasQuantity(limit: OverrideLimit): limit is UsageLimit {
  return limit.quantity !== null;
}

/** Describes limits for the audit log, equally for equal limits in any order. */
export function limitsText(limits: readonly NewLimit[]): string {
  const texts = limits.map((limit) => {
    const { quantity, mode, notifyAt } = limit;
    const percentages = storedNotifyAt(notifyAt);
    const notified = percentages === null ? "" : ` (notify at ${percentages.join(", ")}%)`;
    const text = `${mode} ${quantity}${notified}${exceptionsText(limit)}`;
    return `${scopeText(limit)}: ${quantity === null ? "no limit" : text}`;
  });
  return texts.sort().join("; ");
}

function scopeText({ productSlug, metric, per, by }: LimitScope): string {
  return `${productSlug ?? "all products"}/${metric ?? "all metrics"} per ${per}${by ? ` by ${by}` : ""}`;
}

/** Says how many values have a quantity of their own, with a digest of them: the audit log has no values. */
function exceptionsText({ values = [] }: Pick<NewLimit, "values">): string {
  if (values.length === 0) return "";
  const texts = values.map(({ value, quantity }) => JSON.stringify([value, quantity])).sort();
  return ` (${values.length} exceptions, ${hash("sha256", texts.join()).slice(0, 8)})`;
}

/**
 * Describes limits that a change replaces for the audit log, as {@linkcode limitsText} does: only those that differ afterwards, and
 * `none` for those that the change adds.
 *
 * @param inherited The limits that applied where `before` has none.
 */
export function replacedLimitsText(
  before: readonly NewLimit[],
  after: readonly NewLimit[],
  inherited: readonly NewLimit[] = [],
): string {
  const byScope = (limits: readonly NewLimit[]) => new Map(limits.map((limit) => [scopeText(limit), limit]));
  const [old, next, others] = [byScope(before), byScope(after), byScope(inherited)];
  const textOf = (limit?: NewLimit) => limit && limitsText([limit]);
  return [...new Set([...old.keys(), ...next.keys()])]
    .filter((scope) => textOf(old.get(scope)) !== textOf(next.get(scope)))
    .map((scope) => textOf(old.get(scope) ?? others.get(scope)) ?? `${scope}: none`)
    .sort().join("; ");
}

const limitForm =
  /^(.+)\/(.+) per (\w+)(?: by (\S+))?: (?:no limit|(hard|cutoff|soft) (\S+)(?: \(notify at ([\d, ]+)%\))?(?: \((\d+) exceptions, \w+\))?)$/;

/** A limit in the text of {@linkcode limitsText}. */
export interface WrittenLimit extends LimitScope {
  /** A decimal text; null for no limit. */
  readonly quantity: string | null;
  readonly mode: LimitMode;
  /** Null for {@linkcode defaultNotifyAt}. */
  readonly notifyAt: readonly number[] | null;
  /** The number of values with a quantity of their own. */
  readonly exceptions: number;
}

/** Reads the text of {@linkcode limitsText}. A limit in another form stays as it is. */
export function parseLimitsText(text: string): (WrittenLimit | string)[] {
  return text.split("; ").map((limit) => {
    const [, product, metric, per, by = null, mode = "hard", quantity = null, notifyAt, exceptions = 0] =
      limitForm.exec(limit) ?? [];
    if (product === undefined || metric === undefined) return limit;
    return {
      productSlug: product === "all products" ? null : product,
      metric: metric === "all metrics" ? null : metric,
      per: per as LimitPeriod,
      by,
      quantity,
      mode: mode as LimitMode,
      notifyAt: notifyAt?.split(", ").map(Number) ?? null,
      exceptions: Number(exceptions),
    };
  });
}

/** A limit before and after a change; null for none. */
export interface LimitChange {
  readonly scope: LimitScope;
  readonly from: WrittenLimit | null;
  readonly to: WrittenLimit | null;
}

/**
 * Reads the differences of two texts of {@linkcode limitsText}, in the order of `from`.
 *
 * @param options `isPartial`: `from` is the text of {@linkcode replacedLimitsText}.
 */
export function limitChanges(from: string, to: string, { isPartial = false } = {}): LimitChange[] {
  const byScope = (text: string) =>
    new Map(text.split("; ").map((limit) => [limit.replace(/: [^:]*$/, ""), limit]));
  const [old, next] = [byScope(from), byScope(to)];
  const differing = isPartial
    ? [...old.keys()]
    : [...new Set([...old.keys(), ...next.keys()])].filter((scope) => old.get(scope) !== next.get(scope));
  return differing.flatMap((text) => {
    const [scope] = parseLimitsText(`${text}: no limit`);
    const limitIn = (limits: ReadonlyMap<string, string>) => {
      const [limit = ""] = parseLimitsText(limits.get(text) ?? "");
      return typeof limit === "string" ? null : limit;
    };
    return typeof scope === "object" ? [{ scope, from: limitIn(old), to: limitIn(next) }] : [];
  });
}

/**
 * Finds the limit that a budget exceeds: the lowest one of the organization that counts everything the budget counts, in a
 * window of the same length or a longer one, and allows less.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * const scope = { productSlug: null, metric: "requests" } as const;
 * const limits = [{ id: "lim_1", ...scope, per: "month", quantity: 1_000, mode: "hard", notifyAt: null }] as const;
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
