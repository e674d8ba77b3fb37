// Organizations as operators see them.

import type { PlanOverrides } from "../billing/plan.ts";

export const organizationStatuses = ["active", "suspended"] as const;
export type OrganizationStatus = (typeof organizationStatuses)[number];

/** An organization. Times are ISO 8601 UTC. */
export interface OperatedOrganization {
  readonly id: string;
  readonly name: string;
  /** The operator's own id for it. */
  readonly externalId: string | null;
  readonly status: OrganizationStatus;
  readonly suspendedAt: string | null;
  readonly planId: string;
  readonly overrides: PlanOverrides;
  /** The time zone of its limits: an IANA name. */
  readonly timezone: string;
  /** The operator's own data about it. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly memberCount: number;
  readonly activeApiKeyCount: number;
  readonly createdAt: string;
  /** When one of its API keys was last used. */
  readonly lastUsedAt: string | null;
  /** The start of the last quarter of an hour with usage, by anyone who recorded it. */
  readonly lastUsageAt: string | null;
}

/** The form of external ids: printable ASCII, without spaces at the ends. */
export const externalIdForm = /^[!-~]([ -~]{0,253}[!-~])?$/;

/** Marks an external id in place of an organization's id. */
export const externalIdPrefix = "external:";

/** The orders of lists of organizations: the newest first, by name, by usage this month, or by its growth. */
export const organizationSorts = ["createdAt", "name", "usage", "growth"] as const;
export type OrganizationSort = (typeof organizationSorts)[number];

/**
 * `rejected`: a hard or cutoff limit is used up in its current window. `above`: only soft ones are. `near`: 80% of one is used, and
 * none is used up.
 */
export const limitLevels = ["rejected", "above", "near"] as const;
export type LimitLevel = (typeof limitLevels)[number];
/** `over`: `rejected` or `above`. */
export const limitFilters = ["over", ...limitLevels] as const;
export type LimitFilter = (typeof limitFilters)[number];

/** True if a list with this filter has organizations of the level. */
export function hasLevel(filter: LimitFilter, level: LimitLevel | undefined): boolean {
  return level === filter || filter === "over" && (level === "rejected" || level === "above");
}

/** An organization's usage of a metric this month, in UTC. Sums are exact decimal texts. */
export interface MonthUsage {
  readonly metric: string;
  readonly sum: string;
  /** The sum in the same part of last month. */
  readonly previousSum: string;
}

/** `usage`: null before anything was recorded. */
export type ListedOrganization = OperatedOrganization & { readonly usage: MonthUsage | null };

export interface OrganizationNote {
  readonly id: string;
  readonly text: string;
  /** An operator's account or token; null on the command line. */
  readonly author: { readonly id: string | null; readonly name: string | null };
  readonly createdAt: string;
}
