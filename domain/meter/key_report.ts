// The usage of one key with its rotations, as its page shows it.
import type { Catalogue, CatalogueMetric } from "./catalogue.ts";
import type { UsageStack } from "./usage_report.ts";
import type { UsageWindow } from "./usage_window.ts";

/** The total of a metric as an exact decimal text. */
interface KeyMetric extends CatalogueMetric {
  readonly total: string;
  /** Percentages to one decimal place: of the 30 days before, and of the total of all keys; null if that is 0. */
  readonly change: number | null;
  readonly share: number | null;
}

/** `product`: the product's name. */
export interface LastRecord {
  readonly product: string;
  readonly metric: CatalogueMetric;
  readonly quantity: number | string;
}

/** The last 30 days with today. */
export interface KeyReport {
  /** The names and units of the organization's products and metrics. */
  readonly catalogue: Catalogue;
  /** The metrics with the most records first. */
  readonly metrics: readonly KeyMetric[];
  /** The start of the last quarter of an hour with usage, by anyone who recorded it: milliseconds since 1970; null without any. */
  readonly lastUsageAt: number | null;
  /** Null if nothing was recorded. */
  readonly lastRecord: LastRecord | null;
  /** One metric by day and product; null without usage. */
  readonly chart: {
    readonly metric: CatalogueMetric;
    readonly windows: readonly UsageWindow[];
    readonly stack: UsageStack;
    /** The sum of today as an exact decimal text. */
    readonly today: string;
  } | null;
}
