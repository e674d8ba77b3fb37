// The address of the usage page: everything that was chosen is in it, and what is the default is left out.
import type { ReportRange } from "../../domain/meter/usage_period.ts";
import type { WindowUnit } from "../../domain/meter/usage_window.ts";

/** What the figures and the chart are limited to; null for everything. */
export interface UsageFilters {
  readonly productSlug: string | null;
  readonly metric: string | null;
  readonly apiKey: string | null;
}

/** What the page's address says. */
export interface UsageAddress {
  readonly range: ReportRange;
  /** The first day and the last of the range, both included, such as `2026-11-01`. */
  readonly days: { readonly from: string; readonly to: string };
  /** How long a window is; null for what is usual for the range. */
  readonly window: WindowUnit | null;
  /** An IANA name. */
  readonly timezone: string;
  readonly filters: UsageFilters;
}

/** @returns The page's path and query. */
export function usageHref({ range, days, window, timezone, filters }: UsageAddress): string {
  const query = new URLSearchParams({ range });
  const more = {
    ...(range === "custom" ? days : {}),
    window,
    timezone: timezone === "UTC" ? null : timezone,
    ...filters,
  };
  for (const [name, value] of Object.entries(more)) if (value !== null) query.set(name, value);
  return `/portal/usage?${query}`;
}
