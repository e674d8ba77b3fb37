// The names, units and colors of an organization's products and metrics, for every page.

import { type Aggregation, mixed } from "./aggregation.ts";

/** The number of products with a color of their own. */
export const seriesColors = 5;

/** A color of charts and legends: one of five, or the one that all other products share. */
export type SeriesColor = 1 | 2 | 3 | 4 | 5 | "other";

export interface CatalogueProduct {
  readonly slug: string;
  readonly name: string;
  readonly color: SeriesColor;
  /** The slugs of its metrics, if it is in the operator's catalogue. */
  readonly metrics?: readonly string[];
}

export interface CatalogueMetric {
  readonly slug: string;
  /** Such as `Requests`. */
  readonly name: string;
  /** Such as `bytes`; null if the name says it already, or nothing is known. */
  readonly unit: string | null;
  /** Undefined if it is a sum; `mixed` if its products differ. */
  readonly aggregation?: Exclude<Aggregation, "sum"> | typeof mixed;
}

export interface ExampleUsage {
  readonly productSlug: string;
  readonly metric: string;
}

/** Known names only; read it with {@linkcode productOf} and {@linkcode metricOf}. */
export interface Catalogue {
  readonly products: ReadonlyMap<string, CatalogueProduct>;
  readonly metrics: ReadonlyMap<string, CatalogueMetric>;
}

export interface CatalogueInput {
  /** The operator's products, the oldest first. */
  readonly products: readonly {
    readonly slug: string;
    readonly name: string;
    readonly metrics:
      readonly (Omit<CatalogueMetric, "aggregation"> & { readonly aggregation?: Aggregation })[];
  }[];
  /** Slugs of products that the organization uses, in the order of their first use. */
  readonly used: readonly string[];
}

/**
 * Gives products their colors: in the order of the operator's products, then of first use. If the operator has more products than
 * there are colors, only those that the organization uses count. A product's color doesn't depend on how much it is used.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * const tiles = { slug: "tiles", name: "Map tiles", metrics: [{ slug: "bytes", name: "Data transfer", unit: "bytes" }] };
 * const catalogue = catalogueOf({ products: [tiles], used: ["search", "tiles"] });
 * assert.equal(productOf(catalogue, "tiles").color, 1);
 * assert.equal(productOf(catalogue, "search").color, 2);
 * assert.equal(metricOf(catalogue, "bytes").unit, "bytes");
 * assert.equal(metricOf(catalogue, "map_loads").name, "Map loads");
 * ```
 */
export function catalogueOf({ products, used }: CatalogueInput): Catalogue {
  const known = new Map(products.map((product) => [product.slug, product]));
  const listed = products.length <= seriesColors
    ? products
    : products.filter(({ slug }) => used.includes(slug));
  const order = [...new Set([...listed.map(({ slug }) => slug), ...used])].slice(0, seriesColors);
  const slugs = new Set([...order, ...known.keys()]);
  return {
    products: new Map([...slugs].map((slug) => [slug, {
      slug,
      name: known.get(slug)?.name ?? slug,
      color: order.includes(slug) ? order.indexOf(slug) + 1 as SeriesColor : "other",
      metrics: known.get(slug)?.metrics.map(({ slug }) => slug) ?? [],
    }])),
    metrics: metricsOf(products),
  };
}

/** A metric of several products has its first name, and a unit only if they agree. */
function metricsOf(products: CatalogueInput["products"]): Map<string, CatalogueMetric> {
  const metrics = new Map<string, CatalogueMetric>();
  for (const { slug, name, unit, aggregation = "sum" } of products.flatMap(({ metrics }) => metrics)) {
    const known = metrics.get(slug);
    const counted = aggregation === "sum" ? {} : { aggregation };
    metrics.set(
      slug,
      known === undefined ? { slug, name, unit, ...counted } : {
        ...known,
        ...(known.unit !== unit && { unit: null }),
        ...((known.aggregation ?? "sum") !== aggregation && { aggregation: mixed }),
      },
    );
  }
  for (const [slug, metric] of metrics) {
    if (metric.unit !== null && saysUnit(metric.name, metric.unit)) {
      metrics.set(slug, { ...metric, unit: null });
    }
  }
  return metrics;
}

/** Returns a product's slug as its name if it isn't known. */
export function productOf({ products }: Catalogue, slug: string): CatalogueProduct {
  return products.get(slug) ?? { slug, name: slug, color: "other" };
}

/** Returns a metric's slug in words as its name if it isn't known. */
export function metricOf({ metrics }: Catalogue, slug: string): CatalogueMetric {
  return metrics.get(slug) ?? { slug, name: slugWords(slug), unit: null };
}

/** Returns a metric for pages that show sums of its quantities, also if it counts something else. */
export function summedMetricOf(catalogue: Catalogue, slug: string): CatalogueMetric {
  const { aggregation, ...metric } = metricOf(catalogue, slug);
  return aggregation === undefined ? metric : { ...metric, name: `${metric.name} (sum)` };
}

/** Returns the metric of a statement's line, which has the names of its month. */
export function billedMetric(
  { metric: slug, metricName, unit }: { metric: string; metricName: string | null; unit: string | null },
): CatalogueMetric {
  const name = metricName ?? slugWords(slug);
  return { slug, name, unit: unit !== null && saysUnit(name, unit) ? null : unit };
}

function slugWords(slug: string): string {
  const words = slug.replaceAll(/[._:-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Sorts metrics in the catalogue's order, then by name: their places don't depend on how much was used. */
export function metricsInOrder<Total extends { readonly metric: string }>(
  catalogue: Catalogue,
  totals: readonly Total[],
): Total[] {
  const order = [...catalogue.metrics.keys()];
  const place = ({ metric }: Total) => order.includes(metric) ? order.indexOf(metric) : order.length;
  const name = ({ metric }: Total) => metricOf(catalogue, metric).name;
  return totals.toSorted((a, b) => place(a) - place(b) || (name(a) < name(b) ? -1 : 1));
}

/** Returns slugs of the products with a color of their own, in the order of the colors. */
export function coloredProducts({ products }: Catalogue): string[] {
  return [...products.values()].filter(({ color }) => color !== "other")
    .sort((a, b) => Number(a.color) - Number(b.color)).map(({ slug }) => slug);
}

/** True if a name ends with a unit, in the singular or plural: “Map loads” and “load”. */
function saysUnit(name: string, unit: string): boolean {
  const lastWord = name.toLowerCase().split(/\s+/).at(-1) ?? "";
  const singular = (word: string) => word.replace(/s$/, "");
  return singular(lastWord) === singular(unit.toLowerCase());
}
