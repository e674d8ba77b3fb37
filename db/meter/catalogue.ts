// The SQL of the names that pages show for usage: the operator's products, and those that an organization uses.
import { type DatabaseReader, integer, sql } from "../engine/database.ts";
import type { Product } from "../../domain/meter/product.ts";
import { productMetrics, type ProductRow, selectProducts } from "./products.ts";
import { isUsageOf, ofAnyKey, testTotalsNumber } from "./environments.ts";
import { numberOf } from "./usage_sums.ts";

export async function findProductsByAge(
  database: DatabaseReader,
): Promise<Pick<Product, "slug" | "name" | "metrics">[]> {
  const rows = await database.read<ProductRow>(sql`${selectProducts} ORDER BY p.created_at, p.slug`);
  return rows.map(({ slug, name, metrics }) => ({ slug, name, metrics: productMetrics(metrics) }));
}

export function findOldestProduct(database: DatabaseReader): Promise<ProductRow | undefined> {
  return database.readFirst(sql`${selectProducts} ORDER BY p.created_at, p.slug LIMIT 1`);
}

/**
 * @param options `organizationId`: null for all organizations together. `limit`: the maximum number of products.
 * @returns Slugs of the products that it has recorded, also with test keys, in the order of first use; if there are too many, those in the operator's
 *   list are among them.
 */
export async function listUsedProducts(
  database: DatabaseReader,
  { organizationId, limit }: { organizationId: string | null; limit: number },
): Promise<string[]> {
  const number = organizationId === null ? null : numberOf(organizationId);
  const isIts = number === null
    ? sql`organization IN (0, ${integer(testTotalsNumber)})`
    : isUsageOf(sql`organization`, number, ofAnyKey);
  const rows = await database.read<{ slug: string }>(sql`
    SELECT slug FROM (
      SELECT product_slug AS slug, min(id) AS first FROM usage_series
      WHERE ${isIts} GROUP BY product_slug
      ORDER BY product_slug IN (SELECT slug FROM products) DESC, min(id) LIMIT ${limit})
    ORDER BY first`);
  return rows.map(({ slug }) => slug);
}
