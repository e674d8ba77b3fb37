// What a metric counts of its usage records in a window: see decision 93.

export const aggregations = ["sum", "count", "max", "last", "unique"] as const;
export type Aggregation = (typeof aggregations)[number];

/** Distinct values that an organization has in a calendar month. Further ones aren't counted. */
export const uniqueValuesMax = 100_000;

/** The aggregation of a metric, which makes one value of its usage. */
export interface Counting {
  readonly aggregation: Aggregation;
  /** The property whose distinct values `unique` counts; null for all others. */
  readonly uniqueProperty: string | null;
}

/** A condition of rows over several products whose metrics are counted differently. */
export const mixed = "mixed";

/** Descriptions for pages and forms. */
export const aggregationLabels: Readonly<Record<Aggregation | typeof mixed, string>> = {
  sum: "Sum of quantities",
  count: "Number of records",
  max: "Largest quantity of each API key, added up",
  last: "Latest quantity of each API key, added up",
  unique: "Distinct values of a property",
  mixed: "Counted differently by product, added up",
};
