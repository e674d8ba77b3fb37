// Links to the alerts of an organization.
import type { UsageFilters } from "./usage_address.ts";

/** Returns the address of the form that adds an alert, with a filter of usage filled in. */
export function newAlertHref(base: string, { productSlug, metric, apiKey }: UsageFilters): string {
  const filter = { productSlug: productSlug ?? "", metric: metric ?? "", apiKey: apiKey ?? "" };
  return `${base}/alerts/new?${new URLSearchParams(filter)}`;
}
