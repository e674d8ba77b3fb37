// The catalogue of products: names and units for pages and statements.
import { ifAudited } from "../../db/access/mod.ts";
import { findFixedMetrics, replaceAggregations } from "../../db/meter/aggregation_list.ts";
import { replaceDimensions } from "../../db/meter/dimension_list.ts";
import {
  deleteProductRow,
  findProduct,
  findProducts,
  insertProduct,
  productMetrics,
  type ProductRow,
  replaceProductMetrics,
  updateProductName,
} from "../../db/meter/products.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { AppError, notFoundError } from "../../domain/errors.ts";
import { productsMax } from "../../domain/limits.ts";
import { slugForm } from "../../domain/meter/usage_record.ts";
import type { Counting } from "../../domain/meter/aggregation.ts";
import {
  type Product,
  type ProductMetric,
  type RecountedMetric,
  recountedMetrics,
} from "../../domain/meter/product.ts";
import { isoTime } from "../../domain/time.ts";
import { writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { invalidCursorError, type PageInput, readPage } from "../pages.ts";

/** Lists products by slug. @throws {AppError} `validation_failed` for an invalid cursor. */
export async function listProducts(
  { database }: SessionContext,
  { limit, cursor }: PageInput,
): Promise<{ products: Product[]; nextCursor: string | null }> {
  if (cursor !== undefined && !slugForm.test(cursor)) throw invalidCursorError();
  const { rows, nextCursor } = await readPage(
    (limit) => findProducts(database, { limit, after: cursor }),
    { limit, cursorOf: ({ slug }) => slug },
  );
  return { products: rows.map(toProduct), nextCursor };
}

/** @throws {AppError} `not_found`. */
export async function getProduct({ database }: SessionContext, slug: string): Promise<Product> {
  const row = await findProduct(database, slug);
  if (row === undefined) throw notFoundError();
  return toProduct(row);
}

/** Adds a product. @throws {AppError} `product_taken`, `limit_reached`, `aggregation_fixed`. */
export async function createProduct(
  context: SessionContext,
  actor: OperatorActor,
  { slug, name, metrics }: Pick<Product, "slug" | "name" | "metrics">,
): Promise<Product> {
  const now = context.clock();
  const isCreated = await writeChange(context, actor, {
    statement: insertProduct({ slug, name, metrics, now }, { productsMax }),
    entry: {
      action: "product.created",
      organizationId: null,
      target: { id: slug, name },
      details: changesOf([], metrics, context.config),
    },
    after: ({ audited }) => replaceProductMetrics(slug, metrics, { audited, now }),
  });
  if (isCreated) return { slug, name, metrics, createdAt: isoTime(now) };
  await requireBilledCounting(context, { slug, metrics });
  throw await findProduct(context.database, slug) === undefined
    ? new AppError("limit_reached", `The catalogue has the maximum of ${productsMax} products.`)
    : new AppError("product_taken", "A product with this slug already exists.");
}

/** Renames a product, or replaces its metrics. Also returns the metrics whose aggregation changes. @throws {AppError} `not_found`, `aggregation_fixed`. */
export async function changeProduct(
  context: SessionContext,
  actor: OperatorActor,
  { slug, ...change }: {
    slug: string;
    name?: string | undefined;
    metrics?: readonly ProductMetric[] | undefined;
  },
): Promise<{ product: Product; recounted: RecountedMetric[] }> {
  const before = await getProduct(context, slug);
  const { name = before.name, metrics = before.metrics } = change;
  const hasNewMetrics = metricsText(metrics) !== metricsText(before.metrics);
  if (name === before.name && !hasNewMetrics) return { product: before, recounted: [] };
  const isChanged = await writeChange(context, actor, {
    statement: updateProductName({ slug, name, metrics }),
    entry: {
      action: "product.changed",
      organizationId: null,
      target: { id: slug, name },
      details: {
        ...(name !== before.name && { from: before.name, to: name }),
        ...changesOf(before.metrics, metrics, context.config),
      },
    },
    after: ({ audited }) =>
      hasNewMetrics ? replaceProductMetrics(slug, metrics, { audited, now: context.clock() }) : [],
  });
  if (!isChanged) {
    await requireBilledCounting(context, { slug, metrics });
    throw notFoundError();
  }
  return { product: { ...before, name, metrics }, recounted: recountedMetrics(before.metrics, metrics) };
}

/** Deletes a product from the catalogue. Usage of it is not affected. @throws {AppError} `not_found`. */
export async function deleteProduct(context: SessionContext, actor: OperatorActor, slug: string) {
  const { name } = await getProduct(context, slug);
  const isDeleted = await writeChange(context, actor, {
    statement: deleteProductRow(slug),
    entry: { action: "product.deleted", organizationId: null, target: { id: slug, name } },
    after: ({ audited, now }) => [
      ...replaceDimensions(slug, [], { now, if: ifAudited(audited) }),
      ...replaceAggregations(slug, [], { now, if: ifAudited(audited) }),
    ],
  });
  if (!isDeleted) throw notFoundError();
}

function metricsText(metrics: readonly ProductMetric[]): string {
  return JSON.stringify(
    metrics.map((
      { slug, name, unit, unitPrice, dimensions, aggregation, uniqueProperty },
    ) => [slug, name, unit, unitPrice, dimensions, aggregation, uniqueProperty]),
  );
}

/** Closed statements must stay comparable with the usage of their months. @throws {AppError} `aggregation_fixed`. */
async function requireBilledCounting(
  { database }: Pick<SessionContext, "database">,
  product: Pick<Product, "slug" | "metrics">,
): Promise<void> {
  const [fixed] = await findFixedMetrics(database, product);
  if (fixed === undefined) return;
  throw new AppError(
    "aggregation_fixed",
    `A month with usage of “${fixed.metric}” is closed, so its aggregation must stay “${fixed.aggregation}”. ` +
      "To use another aggregation, add a metric with another slug.",
  );
}

/** Returns new prices and aggregations for the audit log, such as `requests: none → 0.5`. */
function changesOf(
  before: readonly ProductMetric[],
  after: readonly ProductMetric[],
  { currency }: Pick<SessionContext["config"], "currency">,
) {
  const priceIn = (metrics: readonly ProductMetric[], slug: string) =>
    metrics.find((metric) => metric.slug === slug)?.unitPrice ?? "none";
  const slugs = new Set([...before, ...after].map(({ slug }) => slug));
  const prices = [...slugs].filter((slug) => priceIn(before, slug) !== priceIn(after, slug))
    .map((slug) => `${slug}: ${priceIn(before, slug)} → ${priceIn(after, slug)}`);
  const recounted = recountedMetrics(before, after)
    .map(({ metric, from, to }) => `${metric}: ${countingText(from)} → ${countingText(to)}`);
  return {
    ...(prices.length > 0 && { prices: prices.join(", "), ...(currency !== null && { currency }) }),
    ...(recounted.length > 0 && { aggregations: recounted.join(", ") }),
  };
}

function countingText({ aggregation, uniqueProperty }: Counting): string {
  return uniqueProperty === null ? aggregation : `${aggregation} ${uniqueProperty}`;
}

function toProduct({ createdAt, metrics, ...product }: ProductRow): Product {
  return { ...product, metrics: productMetrics(metrics), createdAt: isoTime(createdAt) };
}
