// Reading usage on the reports thread.
import { findOldestProduct, findProductsByAge } from "../../db/meter/catalogue.ts";
import type { UsageGroup } from "../../db/meter/usage_sums.ts";
import { productMetrics } from "../../db/meter/products.ts";
import { type Catalogue, catalogueOf, type ExampleUsage } from "../../domain/meter/catalogue.ts";
import type { Access } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import type { UsageQuery } from "./jobs/usage_sums.ts";
import type { JobScope } from "../reports/job_context.ts";
import type { JobInput, JobResult } from "../reports/job_list.ts";
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

/** Adds up usage. @throws {AppError} As {@linkcode usageScope}; `validation_failed`, `range_too_long`, `dimension_unknown`, `amount_unknown`, `unavailable`. */
export async function sumUsage(
  context: SessionContext,
  access: UsageAccess,
  { query, format, signal }: { query: GivenUsageQuery; format: "json" | "csv"; signal: AbortSignal },
): Promise<JobBytes> {
  const { currency } = context.config;
  const input = {
    ...inEnvironment(access, query),
    ...groupsOf(query),
    ...usageScope(context, access),
    currency,
  };
  return await context.reports.bytes(format === "json" ? "usageJson" : "usageCsv", input, {
    reader: access.reader,
    signal,
  });
}

/** The jobs on the usage of one organization. */
type UsageJob =
  | "findCatalogue"
  | "readKeyReport"
  | "readLastUsage"
  | "readUsageNames"
  | "readUsagePage"
  | "readUsageTotals"
  | "sumOutcomes"
  | "sumKeyUsage"
  | "sumRecentUsage";

/** Runs a job on the usage of an organization. @throws {AppError} As {@linkcode usageScope}; `validation_failed`, `unavailable`. */
export async function readUsage<Job extends UsageJob>(
  context: SessionContext,
  access: Access,
  { job, query, signal }: {
    job: Job;
    query: Omit<JobInput<Job>, keyof JobScope>;
    signal: AbortSignal;
  },
): Promise<JobResult<Job>> {
  const input = { ...query, ...usageScope(context, access) } as JobInput<Job>;
  return await context.reports.read(job, input, { reader: access.reader, signal });
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
