// The use of one key with its rotations.
import type { Catalogue, CatalogueMetric } from "./catalogue.ts";

/** `product`: the product's name. */
export interface LastRecord {
  readonly product: string;
  readonly metric: CatalogueMetric;
  readonly quantity: number | string;
}

export interface KeyReport {
  /** The names and units of the organization's products and metrics. */
  readonly catalogue: Catalogue;
  /** The start of the last quarter of an hour with usage, by anyone who recorded it: milliseconds since 1970; null without any. */
  readonly lastUsageAt: number | null;
  /** Null if nothing was recorded. */
  readonly lastRecord: LastRecord | null;
  /** The metric with the most records today, and its total as an exact decimal text; null without usage. */
  readonly today: { readonly metric: CatalogueMetric; readonly total: string } | null;
}
