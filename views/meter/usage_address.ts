// The addresses of usage pages, which have all filters.
import type { ReportComparison, ReportRange } from "../../domain/meter/usage_period.ts";
import type { ChosenOutcome } from "../../domain/meter/outcome.ts";
import type { WindowUnit } from "../../domain/meter/usage_window.ts";

/** Null selects everything. */
export interface UsageFilters {
  readonly productSlug: string | null;
  readonly metric: string | null;
  readonly apiKey: string | null;
  /** Null for live usage. */
  readonly environment?: "test" | null;
  /** Set in the console only. */
  readonly organizationId?: string | null;
  readonly planId?: string | null;
  /** Of requests, in the tab of outcomes only. */
  readonly outcome?: ChosenOutcome | null;
  /** The value of a property. */
  readonly [property: PropertyName]: string | null | undefined;
}

/** The name of a property in addresses, such as `properties.region`. */
export type PropertyName = `properties.${string}`;

export const usageStackNames = ["product", "key", "organization", "outcome"] as const;
export type UsageStackName = (typeof usageStackNames)[number] | PropertyName;

export interface UsageAddress {
  /** The path of the page: the portal's, the console's or that of a key. */
  readonly path: string;
  readonly range: ReportRange;
  /** The first and the last day of the range, such as `2026-11-01`. */
  readonly days: { readonly from: string; readonly to: string };
  /** Null for the range's default. */
  readonly window: WindowUnit | null;
  readonly compare: ReportComparison;
  /** The first and the last day of a `custom` comparison. */
  readonly comparedDays: { readonly from: string; readonly to: string };
  /** An IANA name; null for the person's own. */
  readonly timezone: string | null;
  /** The metric is null for the person's own. */
  readonly filters: UsageFilters;
  /** The tab of the table, which the chart stacks; null for the page's first. */
  readonly stack: UsageStackName | null;
  /** The page of the table; null for the first. */
  readonly page: number | null;
  /** True if the numbers of a chart with many bars are shown. */
  readonly hasNumbers: boolean;
}

export function usageHref(
  { path, range, days, window, compare, comparedDays, timezone, filters, stack, page, hasNumbers }:
    UsageAddress,
): string {
  const query = new URLSearchParams({ range });
  const more = {
    ...(range === "custom" ? days : {}),
    window,
    compare: compare === "previous" ? null : compare,
    ...(compare === "custom" ? { compareFrom: comparedDays.from, compareTo: comparedDays.to } : {}),
    timezone,
    ...filters,
    stack,
    page,
    numbers: hasNumbers ? 1 : null,
  };
  for (const [name, value] of Object.entries(more)) {
    if (value !== null && value !== undefined) query.set(name, String(value));
  }
  return `${path}?${query}`;
}

const noFilters = { productSlug: null, metric: null, apiKey: null, environment: null } as const;

/** Returns the page of live usage (null), or of test usage. They have different keys. */
export function environmentHref(address: UsageAddress) {
  return (environment: "test" | null) => filteredHref(address, { environment, apiKey: null });
}

/** Returns the page with some of its filters. */
export function clearedHref(address: UsageAddress, keeps: (name: string) => boolean): string {
  const kept = Object.entries(address.filters).filter(([name]) => keeps(name));
  return usageHref({ ...address, filters: { ...noFilters, ...Object.fromEntries(kept) }, page: null });
}

export function isPropertyName(name: string | undefined): name is PropertyName {
  return name?.startsWith("properties.") === true;
}

/** Returns the property as a title: `Region`. */
export function propertyTitle(name: PropertyName): string {
  const words = name.slice("properties.".length).replaceAll(/[._-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Returns the page with other filters, from the first line of its table on. */
export function filteredHref(
  address: UsageAddress,
  filters: { readonly [Name in keyof UsageFilters]?: UsageFilters[Name] },
): string {
  return usageHref({ ...address, filters: { ...address.filters, ...filters }, page: null });
}
