// All SQL of the catalogue of products.
import { isPriceList, type PriceList } from "../../domain/billing/price.ts";
import type { ProductMetric } from "../../domain/meter/product.ts";
import type { Aggregation } from "../../domain/meter/aggregation.ts";
import type { DimensionNames } from "../../domain/meter/dimension.ts";
import { ifAudited } from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { keepsBilled, replaceAggregations } from "./aggregation_list.ts";
import { replaceDimensions } from "./dimension_list.ts";
import { hasCompletePrices, insertPricedValues, insertPriceLists, priceListOf } from "./value_prices.ts";

export interface ProductRow {
  readonly slug: string;
  readonly name: string;
  readonly createdAt: number;
  /** JSON: a list of `[slug, name, unit, unitPrice, dimensions, counting, prices by value, shareable]`. */
  readonly metrics: string;
}

export function productMetrics(json: string): ProductMetric[] {
  const list = JSON.parse(json) as [
    slug: string,
    name: string,
    unit: string | null,
    unitPrice: string | null,
    dimensions: DimensionNames[],
    counting: [Aggregation, string | null] | null,
    prices: PriceList | null,
    shareable: string[],
  ][];
  return list.map(([slug, name, unit, price, dimensions, counting, prices, shareable]) => {
    const [aggregation, uniqueProperty] = counting ?? ["sum", null];
    const unitPrice = prices ?? price;
    return { slug, name, unit, unitPrice, dimensions, shareable, aggregation, uniqueProperty };
  });
}

/** The metrics of a product `p`, as in {@linkcode ProductRow}. */
const metricsColumn = sql`(
    SELECT json_group_array(json_array(m.slug, m.name, m.unit, m.unit_price, (
        SELECT json_group_array(json(d.names)) FROM (SELECT d.names FROM usage_dimensions d
          WHERE d.product = p.slug AND d.metric = m.slug AND d.removed_at IS NULL AND d.is_kept = 0 ORDER BY d.number) d), (
        SELECT json_array(g.aggregation, g.property) FROM usage_aggregations g
          WHERE g.product = p.slug AND g.metric = m.slug AND g.removed_at IS NULL), (
        SELECT json(v.prices) FROM value_prices v WHERE v.number = m.price_list), json(m.shareable)))
      FROM (SELECT slug, name, unit, unit_price, price_list, shareable FROM product_metrics WHERE product = p.slug ORDER BY position) m)`;

export const selectProducts = sql`
  SELECT p.slug, p.name, p.created_at AS createdAt, ${metricsColumn} AS metrics FROM products p`;

/** Returns products by slug, from after the slug `after`. */
export function findProducts(
  database: DatabaseReader,
  { limit, after = "" }: { limit: number; after?: string | undefined },
): Promise<ProductRow[]> {
  return database.read(sql`${selectProducts} WHERE p.slug > ${after} ORDER BY p.slug LIMIT ${limit}`);
}

export function findProduct(database: DatabaseReader, slug: string) {
  return database.readFirst<ProductRow>(sql`${selectProducts} WHERE p.slug = ${slug}`);
}

type WrittenProduct = Pick<ProductRow, "slug" | "name"> & {
  readonly metrics: readonly ProductMetric[];
  /** As in `hasCompletePrices`. */
  readonly openSince: number;
};

/**
 * Inserts a product, unless its slug is taken, there are `productsMax` products, closed statements have its metrics with another
 * aggregation, or prices by value are of an incomplete dimension.
 */
export function insertProduct(
  { slug, name, metrics, openSince, now }: WrittenProduct & { now: number },
  { productsMax }: { productsMax: number },
) {
  return sql`
    INSERT INTO products (slug, name, created_at)
    SELECT ${slug}, ${name}, ${now} WHERE (SELECT count(*) FROM products) < ${productsMax}
      AND ${keepsBilled(slug, metrics)} AND ${hasCompletePrices({ slug, metrics, openSince })}
    ON CONFLICT DO NOTHING`;
}

/**
 * Renames a product, also to the name that it has, unless closed statements have its metrics with another aggregation than it will, prices
 * by value will be of an incomplete dimension, or its metrics aren't those that were read.
 */
export function updateProductName(
  { slug, name, metrics, openSince }: WrittenProduct,
  { before }: { before: ProductRow["metrics"] },
) {
  return sql`UPDATE products AS p SET name = ${name} WHERE slug = ${slug} AND ${keepsBilled(slug, metrics)}
    AND ${hasCompletePrices({ slug, metrics, openSince })} AND ${metricsColumn} = ${before}`;
}

/** Replaces the metrics of a product, their prices, dimensions and how they are counted, after its audited change. */
export function replaceProductMetrics(
  slug: string,
  metrics: readonly ProductMetric[],
  { audited, now }: { audited: string; now: number },
): Statement[] {
  const list = JSON.stringify(
    metrics.map(({ slug, name, unit, unitPrice, shareable }) => [
      ...[slug, name, unit],
      ...isPriceList(unitPrice) ? [null, JSON.stringify(unitPrice)] : [unitPrice, null],
      JSON.stringify(shareable),
    ]),
  );
  const condition = { if: ifAudited(audited) };
  return [
    insertPriceLists(slug, metrics, condition),
    sql`DELETE FROM product_metrics WHERE product = ${slug} AND ${ifAudited(audited)}`,
    sql`
      INSERT INTO product_metrics (product, slug, name, unit, unit_price, position, price_list, shareable)
      SELECT ${slug}, m.value ->> 0, m.value ->> 1, m.value ->> 2, m.value ->> 3, m.key,
        ${priceListOf(slug, sql`m.value ->> 0`, sql`m.value ->> 4`)}, m.value ->> 5
      FROM json_each(${list}) m WHERE ${ifAudited(audited)}`,
    ...replaceDimensions(slug, metrics, { now, ...condition }),
    ...replaceAggregations(slug, metrics, { now, ...condition }),
    insertPricedValues(slug, condition),
  ];
}

export function deleteProductRow(slug: string) {
  return sql`DELETE FROM products WHERE slug = ${slug}`;
}
