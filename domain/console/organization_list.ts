// What the console says about many organizations at a time.
import type { Catalogue } from "../meter/catalogue.ts";
import type { LimitLevel, ListedOrganization } from "./organization.ts";

/** An organization in the console's list. */
export interface OrganizationLine {
  readonly organization: ListedOrganization;
  readonly level: LimitLevel | null;
  /** The quantity of each of the last 30 days, today last. */
  readonly days: readonly number[];
  /** The percentage by which its usage exceeds that of the same part of last month; null if there was none. */
  readonly change: number | null;
  /** Its percentage of the usage of all organizations; null if that is 0. */
  readonly share: number | null;
}

export interface OrganizationList {
  readonly lines: readonly OrganizationLine[];
  /** Counts of all organizations that match the search and the plan. */
  readonly counts:
    & { readonly all: number; readonly suspended: number }
    & Readonly<Record<LimitLevel, number>>;
  /** Number of organizations on all pages. */
  readonly total: number;
  /** Starts at 1. */
  readonly page: number;
  readonly pages: number;
  /** The metrics with the most records, and the chosen one. */
  readonly metrics: readonly string[];
  /** Null before anything was recorded. */
  readonly metric: string | null;
  readonly catalogue: Catalogue;
  readonly organizations: { readonly all: number; readonly active: number };
}

/** A limit per month that an organization will reach before it resets. */
export interface RunningOutLimit {
  /** The organization's id. */
  readonly id: string;
  readonly name: string;
  /** Empty for all products. */
  readonly productSlug: string;
  /** Empty for all metrics. */
  readonly metric: string;
  readonly quantity: number;
  readonly used: number;
  /** Milliseconds since 1970. */
  readonly reachedAt: number;
}

/** `count`: all such organizations. `first`: the soonest of them, each with one limit. */
export interface RunningOut {
  readonly count: number;
  readonly first: readonly RunningOutLimit[];
}
