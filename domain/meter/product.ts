// The optional catalogue of products: names and units for recorded usage.

import type { PriceList } from "../billing/price.ts";
import type { Counting } from "./aggregation.ts";
import type { DimensionNames } from "./dimension.ts";

export interface ProductMetric extends Counting {
  readonly slug: string;
  readonly name: string;
  /** The unit of its quantities, such as `GB`; null if not set. */
  readonly unit: string | null;
  /** The price of one unit of the quantity, a decimal of up to 12 places in `CURRENCY`, or prices by value; null if not set. */
  readonly unitPrice: string | PriceList | null;
  /** The properties that its usage is also summed by. */
  readonly dimensions: readonly DimensionNames[];
  /** The properties whose values events about limits per value may name. */
  readonly shareable: readonly string[];
}

export interface Product {
  readonly slug: string;
  readonly name: string;
  /** In display order. */
  readonly metrics: readonly ProductMetric[];
  /** ISO 8601 UTC. */
  readonly createdAt: string;
}

/** A metric whose aggregation changed, in all its months. */
export interface RecountedMetric {
  readonly metric: string;
  readonly from: Counting;
  readonly to: Counting;
}

const sum: Counting = { aggregation: "sum", uniqueProperty: null };

export function recountedMetrics(
  before: readonly ProductMetric[],
  after: readonly ProductMetric[],
): RecountedMetric[] {
  const countingIn = (metrics: readonly ProductMetric[], slug: string): Counting => {
    const { aggregation, uniqueProperty } = metrics.find((metric) => metric.slug === slug) ?? sum;
    return { aggregation, uniqueProperty };
  };
  return [...new Set([...before, ...after].map(({ slug }) => slug))]
    .map((metric) => ({ metric, from: countingIn(before, metric), to: countingIn(after, metric) }))
    .filter(({ from, to }) =>
      from.aggregation !== to.aggregation || from.uniqueProperty !== to.uniqueProperty
    );
}

interface ProductAndMetric {
  readonly productSlug: string;
  readonly metric: string;
}

/** Returns a function that compares places in a list of products. Products and metrics that aren't in it come last, by slug. */
export function catalogueOrder(
  products: readonly Pick<Product, "slug" | "metrics">[],
): (a: ProductAndMetric, b: ProductAndMetric) => number {
  const places = new Map<string, number>();
  for (const { slug, metrics } of products) {
    for (const metric of metrics) places.set(`${slug} ${metric.slug}`, places.size);
    places.set(slug, places.size);
  }
  const place = ({ productSlug, metric }: ProductAndMetric) =>
    places.get(`${productSlug} ${metric}`) ?? places.get(productSlug) ?? places.size;
  return (a, b) => place(a) - place(b) || compareSlugs(a, b);
}

/** Compares as the database does. */
export function compareSlugs(a: ProductAndMetric, b: ProductAndMetric): number {
  return compareText(a.productSlug, b.productSlug) || compareText(a.metric, b.metric);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a === b ? 0 : 1;
}
