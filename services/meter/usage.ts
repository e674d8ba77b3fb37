// Reading usage: sums, the usage page and the small charts of keys, all on the reports thread.
import { findOldestProduct, findProductsByAge } from "../../db/meter/catalogue.ts";
import type { UsageGroup } from "../../db/meter/usage_sums.ts";
import { productMetrics } from "../../db/meter/products.ts";
import { type Catalogue, catalogueOf, type ExampleUsage } from "../../domain/meter/catalogue.ts";
import type { KeyReport } from "../../domain/meter/key_report.ts";
import type { KeyUsage } from "../../domain/meter/key_usage.ts";
import type { Access } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import type { KeyReportQuery } from "./jobs/key_report.ts";
import type { KeyUsageQuery } from "./jobs/key_usage.ts";
import type { MetricTotalsQuery } from "./jobs/metric_totals.ts";
import type { UsagePageNumbers, UsagePageQuery } from "./jobs/usage_page.ts";
import type { UsageQuery } from "./jobs/usage_sums.ts";
import type { JobBytes } from "../reports/reports.ts";
import { inEnvironment, type UsageAccess, usageScope } from "./usage_access.ts";

/** Sums of usage as callers request them. */
export type GivenUsageQuery<G extends UsageGroup = UsageGroup> =
  & Omit<UsageQuery, "groupBy" | "groupByProperties">
  & {
    readonly groupBy?: readonly (G | `properties.${string}`)[] | undefined;
  };

/** Returns what to group a query's sums by, so that different metrics are never added up. */
export function groupsOf<G extends UsageGroup>({ groupBy = [], metric = [] }: GivenUsageQuery<G>) {
  const prefix = "properties.";
  const isProperty = (group: string): group is `properties.${string}` => group.startsWith(prefix);
  const groups = groupBy.filter((group): group is G => !isProperty(group));
  const isByMetric = metric.length === 1 || groups.some((group) => group === "metric");
  return {
    groupBy: isByMetric ? groups : [...groups, "metric" as const],
    groupByProperties: groupBy.filter(isProperty).map((group) => group.slice(prefix.length)),
  };
}

/** Adds up usage. @throws {AppError} As {@linkcode usageScope}; `validation_failed`, `range_too_long`, `dimension_unknown`, `unavailable`. */
export async function sumUsage(
  context: SessionContext,
  access: UsageAccess,
  { query, format, signal }: { query: GivenUsageQuery; format: "json" | "csv"; signal: AbortSignal },
): Promise<JobBytes> {
  const input = { ...inEnvironment(access, query), ...groupsOf(query), ...usageScope(context, access) };
  return await context.reports.bytes(format === "json" ? "usageJson" : "usageCsv", input, {
    reader: access.reader,
    signal,
  });
}

/** Reads the numbers of the usage page. @throws {AppError} As {@linkcode usageScope}; `unavailable`. */
export async function readUsagePage(
  context: SessionContext,
  access: Access,
  { query, signal }: { query: UsagePageQuery; signal: AbortSignal },
): Promise<UsagePageNumbers> {
  const input = { ...query, ...usageScope(context, access) };
  return await context.reports.read("readUsagePage", input, { reader: access.reader, signal });
}

/** Reads the totals of all metrics of a period. @throws {AppError} As {@linkcode usageScope}; `unavailable`. */
export async function readUsageTotals(
  context: SessionContext,
  access: Access,
  { query, signal }: { query: MetricTotalsQuery; signal: AbortSignal },
) {
  const input = { ...query, ...usageScope(context, access) };
  return await context.reports.read("readUsageTotals", input, { reader: access.reader, signal });
}

/** Reads the names of the products and metrics that an organization has recorded. @throws {AppError} As {@linkcode usageScope}; `unavailable`. */
export async function readUsageNames(
  context: SessionContext,
  access: Access,
  signal: AbortSignal,
): Promise<{ productSlugs: string[]; metrics: string[] }> {
  return await context.reports.read("readUsageNames", usageScope(context, access), {
    reader: access.reader,
    signal,
  });
}

/** Reads the names, units and colors of what an organization uses. @throws {AppError} As {@linkcode usageScope}; `unavailable`. */
export async function readCatalogue(
  context: SessionContext,
  access: Access,
  signal: AbortSignal,
): Promise<Catalogue> {
  return await context.reports.read("findCatalogue", usageScope(context, access), {
    reader: access.reader,
    signal,
  });
}

/** Reads the usage of keys by id, without keys that have none. @throws {AppError} As {@linkcode usageScope}; `validation_failed`, `unavailable`. */
export async function readKeyUsage(
  context: SessionContext,
  access: Access,
  { query, signal }: { query: KeyUsageQuery; signal: AbortSignal },
): Promise<Map<string, KeyUsage>> {
  const input = { ...query, ...usageScope(context, access) };
  return await context.reports.read("sumKeyUsage", input, { reader: access.reader, signal });
}

/** Reads when keys had their last usage: the start of a quarter of an hour, by id. @throws {AppError} As {@linkcode usageScope}; `unavailable`. */
export async function readLastUsage(
  context: SessionContext,
  access: Access,
  { apiKeyIds, signal }: { apiKeyIds: readonly string[]; signal: AbortSignal },
): Promise<Map<string, number>> {
  const input = { apiKeyIds, ...usageScope(context, access) };
  return await context.reports.read("readLastUsage", input, { reader: access.reader, signal });
}

/** Reads the usage of one key. @throws {AppError} As {@linkcode usageScope}; `unavailable`. */
export async function readKeyReport(
  context: SessionContext,
  access: Access,
  { query, signal }: { query: KeyReportQuery; signal: AbortSignal },
): Promise<KeyReport> {
  const input = { ...query, ...usageScope(context, access) };
  return await context.reports.read("readKeyReport", input, { reader: access.reader, signal });
}

/** Reads the operator's names and units of products and metrics, for text without usage. */
export async function readProductNames(
  { database }: Pick<SessionContext, "database">,
): Promise<Catalogue> {
  return catalogueOf({ products: await findProductsByAge(database), used: [] });
}

/** Returns names for an example: the first metric of the oldest product, because others may be rejected; made-up ones without products. */
export async function readExampleUsage(
  { database }: Pick<SessionContext, "database">,
): Promise<ExampleUsage> {
  const product = await findOldestProduct(database);
  const [metric] = product === undefined ? [] : productMetrics(product.metrics);
  return { productSlug: product?.slug ?? "my-product", metric: metric?.slug ?? "requests" };
}
