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
import { findIncompletePrices } from "../../db/meter/value_prices.ts";
import { isPriceList, pricedNames } from "../../domain/billing/price.ts";
import { nextMonth } from "../../domain/billing/statement.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { AppError, notFoundError, validationError } from "../../domain/errors.ts";
import { productsMax } from "../../domain/limits.ts";
import { slugForm } from "../../domain/meter/usage_record.ts";
import type { Counting } from "../../domain/meter/aggregation.ts";
import type { DimensionNames } from "../../domain/meter/dimension.ts";
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

type Metrics = readonly ProductMetric[];

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
export async function getProduct(context: SessionContext, slug: string): Promise<Product> {
  return toProduct(await readProduct(context, slug));
}

async function readProduct({ database }: SessionContext, slug: string): Promise<ProductRow> {
  const row = await findProduct(database, slug);
  if (row === undefined) throw notFoundError();
  return row;
}

/** Changes of a metric that would be rejected now. */
export interface MetricLocks {
  /** A month with usage of it is closed, so its aggregation can't. */
  readonly isBilled: boolean;
  /** Dimensions that lack usage of an open month, so their values can't get prices. */
  readonly incomplete: readonly DimensionNames[];
}

export async function readMetricLocks(
  context: SessionContext,
  { slug, metric }: { slug: string; metric: ProductMetric },
): Promise<MetricLocks> {
  const { database } = context;
  const openSince = firstOpenMonth(context);
  // Every aggregation differs from none, and values of every dimension are priced.
  const [fixed, ...incomplete] = await Promise.all([
    findFixedMetrics(database, { slug, metrics: [{ ...metric, aggregation: "" }] }),
    ...metric.dimensions.map(async (names) => {
      const properties = Object.fromEntries(names.map((name) => [name, ""]));
      const priced = { ...metric, unitPrice: [{ properties, unitPrice: "0" }] };
      return (await findIncompletePrices(database, { slug, metrics: [priced], openSince })).length > 0
        ? [names]
        : [];
    }),
  ]);
  return { isBilled: fixed.length > 0, incomplete: incomplete.flat() };
}

/** Adds a product. @throws {AppError} `validation_failed`, `product_taken`, `limit_reached`, `aggregation_fixed`, `dimension_incomplete`. */
export async function createProduct(
  context: SessionContext,
  actor: OperatorActor,
  { slug, name, metrics }: Pick<Product, "slug" | "name" | "metrics">,
): Promise<Product> {
  const [now, openSince] = [context.clock(), firstOpenMonth(context)];
  requirePriceable([], metrics);
  const isCreated = await writeChange(context, actor, {
    statement: insertProduct({ slug, name, metrics, openSince, now }, { productsMax }),
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
  await requireCompletePrices(context, { slug, metrics, openSince });
  throw await findProduct(context.database, slug) === undefined
    ? new AppError("limit_reached", `The catalogue has the maximum of ${productsMax} products.`)
    : new AppError("product_taken", "A product with this slug already exists.");
}

/**
 * Renames a product, or replaces its metrics. Also returns the metrics whose aggregation changes.
 *
 * @param change `metrics`: the new list, or a function that returns it for the current one.
 * @throws {AppError} `validation_failed`, `not_found`, `aggregation_fixed`, `dimension_priced`, `dimension_incomplete`.
 */
export async function changeProduct(
  context: SessionContext,
  actor: OperatorActor,
  { slug, ...change }: {
    slug: string;
    name?: string | undefined;
    metrics?: Metrics | ((before: Metrics) => Metrics) | undefined;
  },
): Promise<{ product: Product; recounted: RecountedMetric[] }> {
  const row = await readProduct(context, slug);
  const before = toProduct(row);
  const { name = before.name } = change;
  const metrics = typeof change.metrics === "function"
    ? change.metrics(before.metrics)
    : change.metrics ?? before.metrics;
  const hasNewMetrics = metricsText(metrics) !== metricsText(before.metrics);
  if (name === before.name && !hasNewMetrics) return { product: before, recounted: [] };
  requirePriceable(before.metrics, metrics);
  const openSince = firstOpenMonth(context);
  const isChanged = await writeChange(context, actor, {
    statement: updateProductName({ slug, name, metrics, openSince }, { before: row.metrics }),
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
    await requireCompletePrices(context, { slug, metrics, openSince });
    // Another change came first.
    if ((await readProduct(context, slug)).metrics !== row.metrics) {
      return await changeProduct(context, actor, { slug, ...change });
    }
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
      { slug, name, unit, unitPrice, dimensions, shareable, aggregation, uniqueProperty },
    ) => [slug, name, unit, unitPrice, dimensions, shareable, aggregation, uniqueProperty]),
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

/** Returns the start of the first month that isn't closed before the first statement. */
function firstOpenMonth({ clock, config }: Pick<SessionContext, "clock" | "config">): number {
  return nextMonth(undefined, { now: clock(), timezone: config.billingTimezone }).start;
}

/**
 * Checks that prices by value are over a declared dimension of a sum or count.
 *
 * @throws {AppError} `dimension_priced` if the dimension or the aggregation of one that has such prices already changes; otherwise
 *   `validation_failed`.
 */
function requirePriceable(before: readonly ProductMetric[], after: readonly ProductMetric[]): void {
  for (const [index, { slug, unitPrice, dimensions, aggregation }] of after.entries()) {
    if (!isPriceList(unitPrice)) continue;
    const names = JSON.stringify(pricedNames(unitPrice));
    const isDeclared = dimensions.some((one) => JSON.stringify(one) === names);
    const priced = before.find((one) => one.slug === slug && isPriceList(one.unitPrice));
    const wasDeclared = priced?.dimensions.some((one) => JSON.stringify(one) === names);
    if (priced !== undefined && (priced.aggregation !== aggregation || (wasDeclared && !isDeclared))) {
      throw new AppError(
        "dimension_priced",
        `“${slug}” has prices by value, so its dimension and aggregation can't change. Remove the prices first.`,
      );
    }
    const message = aggregation !== "sum" && aggregation !== "count"
      ? "can have prices by value only if the aggregation is sum or count."
      : !isDeclared && "must name the properties of one of the metric's dimensions.";
    if (message) throw validationError([{ path: `metrics[${index}].unitPrice`, message }]);
  }
}

/** Months that aren't closed yet must have prices of all their values. @throws {AppError} `dimension_incomplete`. */
async function requireCompletePrices(
  { database }: Pick<SessionContext, "database">,
  product: Parameters<typeof findIncompletePrices>[1],
): Promise<void> {
  const [incomplete] = await findIncompletePrices(database, product);
  if (incomplete === undefined) return;
  const names = (JSON.parse(incomplete.names) as string[]).join(" + ");
  throw new AppError(
    "dimension_incomplete",
    `The dimension ${names} of “${incomplete.metric}” lacks usage of a month that isn't closed. Set prices once it has all usage of the open months.`,
  );
}

/** Changes of prices that an audit entry lists. */
const pricesAuditedMax = 20;

/** Returns the prices of a metric by what they are for, such as `requests` or `tokens (large, output)`. */
function pricesOf(metrics: readonly ProductMetric[], slug: string): Map<string, string> {
  const price = metrics.find((metric) => metric.slug === slug)?.unitPrice ?? null;
  if (!isPriceList(price)) return new Map(price === null ? [] : [[slug, price]]);
  const names = pricedNames(price);
  return new Map(price.map(({ properties, unitPrice }) => [
    `${slug} (${properties ? names.map((name) => properties[name]).join(", ") : "other values"})`,
    unitPrice,
  ]));
}

/** Returns new prices, aggregations and shareable properties for the audit log, such as `requests: none → 0.5`. */
function changesOf(
  before: readonly ProductMetric[],
  after: readonly ProductMetric[],
  { currency }: Pick<SessionContext["config"], "currency">,
) {
  const slugs = [...new Set([...before, ...after].map(({ slug }) => slug))];
  const changed = slugs.flatMap((slug) => {
    const [earlier, later] = [pricesOf(before, slug), pricesOf(after, slug)];
    return [...new Set([...earlier.keys(), ...later.keys()])]
      .filter((name) => earlier.get(name) !== later.get(name))
      .map((name) => `${name}: ${earlier.get(name) ?? "none"} → ${later.get(name) ?? "none"}`);
  });
  const sharedOf = (metrics: readonly ProductMetric[], slug: string) =>
    metrics.find((metric) => metric.slug === slug)?.shareable.join(" + ") || "none";
  const shared = slugs.filter((slug) => sharedOf(before, slug) !== sharedOf(after, slug))
    .map((slug) => `${slug}: ${sharedOf(before, slug)} → ${sharedOf(after, slug)}`);
  const more = changed.length - pricesAuditedMax;
  const prices = [...changed.slice(0, pricesAuditedMax), ...more > 0 ? [`${more} more`] : []];
  const recounted = recountedMetrics(before, after)
    .map(({ metric, from, to }) => `${metric}: ${countingText(from)} → ${countingText(to)}`);
  return {
    ...(prices.length > 0 && { prices: prices.join(", "), ...(currency !== null && { currency }) }),
    ...(recounted.length > 0 && { aggregations: recounted.join(", ") }),
    ...(shared.length > 0 && { shareable: shared.join(", ") }),
  };
}

function countingText({ aggregation, uniqueProperty }: Counting): string {
  return uniqueProperty === null ? aggregation : `${aggregation} ${uniqueProperty}`;
}

function toProduct({ createdAt, metrics, ...product }: ProductRow): Product {
  return { ...product, metrics: productMetrics(metrics), createdAt: isoTime(createdAt) };
}
