// Plans: named sets of limits for organizations.
import type { Changes } from "../changes.ts";
import type { FeatureNames } from "../feature.ts";
import {
  type BudgetLimit,
  limitsText,
  type NewLimit,
  type OverrideLimit,
  replacedLimitsText,
  type UsageLimit,
} from "../meter/usage_limit.ts";

/** The numbers of a plan, each at most that much. */
export interface PlanNumbers {
  /** Maximum number of active API keys. */
  readonly apiKeysMax: number;
  readonly membersMax: number;
  /** Rate limit of each API key; 0 for none. */
  readonly requestsPerSecond: number;
  /** Combinations of product, metric and API key. */
  readonly usageSeriesMax: number;
  /** Active holds. */
  readonly holdsMax: number;
}

export interface Plan extends PlanNumbers {
  readonly id: string;
  readonly name: string;
  /** True for the plan that new organizations get. */
  readonly isDefault: boolean;
  readonly limits: readonly UsageLimit[];
  /** The limits of the budget that new keys get. */
  readonly defaultBudget: readonly BudgetLimit[];
  /** Names of its features, sorted. */
  readonly features: readonly string[];
  readonly featureNames: FeatureNames;
  readonly organizationCount: number;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
}

/** The plan of an organization, as its members see it. */
export interface OrganizationPlan {
  readonly plan: {
    readonly name: string;
    readonly features: readonly string[];
    readonly featureNames: FeatureNames;
  };
  /** The zone in which the windows of limits begin and end. */
  readonly timezone: string;
}

/** Numbers to change. Omitted numbers keep their values. */
export type PlanNumbersChange = Changes<PlanNumbers>;

/** The numbers that an organization has instead of its plan's; null for the plan's. */
export type NumberOverrides = { readonly [Name in keyof PlanNumbers]: number | null };
/** Overrides to change. Omitted ones keep their values; null removes an override. */
export type NumberOverridesChange = Changes<NumberOverrides>;

/** The values that an organization has instead of its plan's. */
export interface PlanOverrides extends NumberOverrides {
  readonly limits: readonly OverrideLimit[];
}

export const planNumberNames = [
  "apiKeysMax",
  "membersMax",
  "requestsPerSecond",
  "usageSeriesMax",
  "holdsMax",
] as const;

/** Makes an object with a value for each of a plan's numbers. */
export function eachNumber<T>(
  valueOf: (name: keyof PlanNumbers) => T,
): Readonly<Record<keyof PlanNumbers, T>> {
  const entries = planNumberNames.map((name) => [name, valueOf(name)]);
  return Object.fromEntries(entries) as Record<keyof PlanNumbers, T>;
}

/**
 * Returns the differences that a change makes, by name and in words for the audit log: `limits` has all limits afterwards,
 * `previousLimits` what the ones that differ were.
 *
 * @param inherited The limits that applied where `before` has none.
 */
export function planDifferences(
  before: NumberOverrides & { readonly limits: readonly NewLimit[] },
  { limits, ...numbers }: PlanOverridesChange,
  inherited: readonly NewLimit[] = [],
): Record<string, string> {
  const differences: Record<string, string> = {};
  for (const name of planNumberNames) {
    const value = numbers[name];
    const [from, to] = [before[name], value].map((number) => number ?? "from the plan");
    if (value !== undefined && value !== before[name]) differences[name] = `${from} → ${to}`;
  }
  if (limits !== undefined && limitsText(limits) !== limitsText(before.limits)) {
    differences["limits"] = limitsText(limits);
    differences["previousLimits"] = replacedLimitsText(before.limits, limits, inherited);
  }
  return differences;
}

/** Overrides to change. Null removes a number; `limits` replaces the whole list. */
export interface PlanOverridesChange extends NumberOverridesChange {
  readonly limits?: readonly NewLimit[] | undefined;
}
