// The SQL of prices of metrics, also of those by the values of a dimension. A list of prices never changes: another one replaces it.
import { isPriceList, pricedNames, ValuePrices } from "../../domain/billing/price.ts";
import type { DimensionNames } from "../../domain/meter/dimension.ts";
import type { ProductMetric } from "../../domain/meter/product.ts";
import { type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import { isDimensionOf, valueOf } from "./dimensions.ts";
import { testTotalsNumber } from "./environments.ts";
import { isOfMetrics, type UsageFilter } from "./usage_sums.ts";

/** The current price of a metric: one of the two. */
export interface MetricPriceRow {
  readonly productSlug: string;
  readonly metric: string;
  readonly unitPrice: string | null;
  /** The number of its list. */
  readonly priceList: number | null;
}

/** Returns the metrics of a query that have a price. */
export async function findMetricPrices(
  database: DatabaseReader,
  filter: Pick<UsageFilter, "productSlug" | "metric"> = {},
): Promise<MetricPriceRow[]> {
  const rows = await database.read<MetricPriceRow>(sql`
    SELECT product AS productSlug, slug AS metric, unit_price AS unitPrice, price_list AS priceList FROM product_metrics
    WHERE unit_price IS NOT NULL OR price_list IS NOT NULL`);
  return rows.filter(isOfMetrics(filter));
}

/** Lists of prices by number, each read once. */
export class PriceLists {
  readonly #database: DatabaseReader;
  readonly #lists = new Map<number, ValuePrices>();

  constructor(database: DatabaseReader) {
    this.#database = database;
  }

  /** @param prices Those whose lists are needed. */
  async read(prices: Iterable<{ readonly priceList: number | null }>): Promise<void> {
    const numbers = [...new Set([...prices].flatMap(({ priceList }) => priceList ?? []))]
      .filter((number) => !this.#lists.has(number));
    if (numbers.length === 0) return;
    const rows = await this.#database.read<{ number: number; prices: string }>(sql`
      SELECT v.number, v.prices FROM json_each(${
      JSON.stringify(numbers)
    }) n JOIN value_prices v ON v.number = n.value`);
    for (const { number, prices } of rows) this.#lists.set(number, new ValuePrices(JSON.parse(prices)));
  }

  of({ priceList }: { readonly priceList: number | null }): ValuePrices | null {
    return priceList === null ? null : this.#lists.get(priceList) ?? null;
  }
}

/** True once a metric has had prices by value. */
export async function hasValuePrices(database: DatabaseReader): Promise<boolean> {
  return await database.readFirst(sql`SELECT 1 FROM value_prices LIMIT 1`) !== undefined;
}

type PricedMetric = Pick<ProductMetric, "slug" | "unitPrice">;

/** Returns the metrics with prices by value, as JSON: `[slug, names, prices]`. */
function listsOf(metrics: readonly PricedMetric[]): Statement {
  const lists = metrics.flatMap(({ slug, unitPrice }) =>
    isPriceList(unitPrice) ? [[slug, JSON.stringify(pricedNames(unitPrice)), JSON.stringify(unitPrice)]] : []
  );
  return sql`json_each(${JSON.stringify(lists)})`;
}

/** The number of the list of a metric with a slug. */
export const priceListOf = (product: string, metric: Statement, prices: Statement): Statement =>
  sql`(SELECT v.number FROM value_prices v WHERE v.product = ${product} AND v.metric = ${metric} AND v.prices = ${prices})`;

/** Inserts the lists of a product's metrics that are new. @param options `if`: a condition. */
export function insertPriceLists(
  product: string,
  metrics: readonly PricedMetric[],
  { if: condition }: { if: Statement },
): Statement {
  return sql`INSERT INTO value_prices (product, metric, names, prices)
    SELECT ${product}, w.value ->> 0, w.value ->> 1, w.value ->> 2 FROM ${listsOf(metrics)} w
    WHERE ${condition} AND ${priceListOf(product, sql`w.value ->> 0`, sql`w.value ->> 2`)} IS NULL`;
}

/** Keeps the values that the lists of a product name apart from now on, once its dimensions are declared. @param options `if`: a condition. */
export function insertPricedValues(product: string, { if: condition }: { if: Statement }): Statement {
  const properties = sql`(e.value -> 'properties')`;
  return sql`INSERT INTO usage_priced_values (dimension, value, after_number)
    SELECT d.number, ${valueOf(properties)}, coalesce((SELECT max(number) FROM usage_dimension_values), 0)
    FROM (SELECT product AS product_slug, slug AS metric, price_list FROM product_metrics WHERE product = ${product}) s
    CROSS JOIN value_prices v ON v.number = s.price_list
    CROSS JOIN usage_dimensions d ON ${isDimensionOf} AND d.names = v.names CROSS JOIN json_each(v.prices) e
    WHERE ${properties} IS NOT NULL AND ${condition} ON CONFLICT DO NOTHING`;
}

/**
 * A condition of dimensions `d` that are kept after they were removed from the catalogue: lines of closed statements are priced by their
 * values, and are adjusted by them.
 */
export const isCharged = (d: Statement): Statement =>
  sql`EXISTS (SELECT 1 FROM value_prices v WHERE v.product = ${d}.product AND v.metric = ${d}.metric
    AND v.names = ${d}.names AND (EXISTS (SELECT 1 FROM statement_lines l WHERE l.price_list = v.number)
      OR EXISTS (SELECT 1 FROM statements WHERE status = 'closing')))`;

interface PricedProduct {
  readonly slug: string;
  readonly metrics: readonly (PricedMetric & { readonly dimensions: readonly DimensionNames[] })[];
  /** Of the first open month, before the first statement. */
  readonly openSince: number;
}

/** Selects metrics with prices by the values of a dimension that lacks usage of an open month. */
function incompleteMetrics({ slug, metrics, openSince }: PricedProduct): Statement {
  const since = sql`coalesce((SELECT start_at FROM statements WHERE status = 'closing'),
    (SELECT max(end_at) FROM statements), ${openSince})`;
  const isComplete = sql`coalesce((SELECT d.unfilled_seq = 0 AND coalesce(d.complete_since, 0) <= ${since}
    FROM usage_dimensions d WHERE d.product = ${slug} AND d.metric = w.value ->> 0 AND d.names = w.value ->> 1
      AND d.removed_at IS NULL), NOT EXISTS (SELECT 1 FROM usage_series s
    WHERE s.organization IN (0, ${
    integer(testTotalsNumber)
  }) AND s.product_slug = ${slug} AND s.metric = w.value ->> 0))`;
  return sql`SELECT w.value ->> 0 AS metric, w.value ->> 1 AS names FROM ${
    listsOf(metrics)
  } w WHERE NOT ${isComplete}`;
}

/** A condition: all metrics with prices by value can have them. */
export const hasCompletePrices = (product: PricedProduct): Statement =>
  sql`NOT EXISTS (${incompleteMetrics(product)})`;

export function findIncompletePrices(
  database: DatabaseReader,
  product: PricedProduct,
): Promise<{ metric: string; names: string }[]> {
  return database.read(incompleteMetrics(product));
}
