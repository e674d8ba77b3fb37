// The numbers of an explorer of usage, read by the reports thread: the report, and choices for the filters.
import { findNamedKey } from "../../../db/access/mod.ts";
import { withoutTag } from "../../../domain/keys/api_key.ts";
import type { Environment } from "../../../domain/environment.ts";
import { listUsageKeys, listUsageNames, type UsageFilter } from "../../../db/meter/usage_sums.ts";
import type { DatabaseReader } from "../../../db/engine/database.ts";
import { AppError } from "../../../domain/errors.ts";
import type { ChosenOutcome } from "../../../domain/meter/outcome.ts";
import { usagePageChoicesMax } from "../../../domain/limits.ts";
import type { JobContext, JobScope } from "../../reports/job_context.ts";
import { addOutcomes, type ExplorerGroup } from "./outcome_report.ts";
import { readUsageReport, type UsageReportQuery } from "./usage_report.ts";
import { findSplit } from "./usage_split.ts";
import type { UsageScope } from "./usage_sums.ts";

/** Slugs and ids to filter by; null for all. */
export interface UsagePageFilters {
  readonly productSlug: string | null;
  readonly metric: string | null;
  readonly apiKey: string | null;
  /** Null: that of the key; live without one. */
  readonly environment?: Environment | null;
  /** Property values by name. */
  readonly properties?: Readonly<Record<string, string>>;
  /** Of requests, in the tab of outcomes. */
  readonly outcome?: ChosenOutcome | null;
}

export interface UsagePageQuery
  extends Pick<UsageReportQuery, "period" | "unit" | "timezone" | "page" | "groups"> {
  readonly stack: ExplorerGroup | null;
  readonly filters: UsagePageFilters;
  /** The metric to show if the filters have none; null: the one with the most records. */
  readonly usualMetric: string | null;
}

export type UsagePageNumbers = Awaited<ReturnType<typeof readUsagePage>>;

/** The filters in effect: without a key or property that the organization doesn't have. */
type Selected = Omit<UsagePageFilters, "metric" | "outcome">;

/**
 * Reads a report with the choices of its filters.
 *
 * @param query `organizationId`: null for a report of several organizations. `pickMetric`: as in `UsageReportQuery`, for the filters in effect.
 */
export async function readFilteredReport(
  context: JobContext,
  scope: UsageScope,
  { organizationId, filters: requested, pickMetric, stack, ...query }:
    & Omit<UsageReportQuery, "filter" | "metric" | "pickMetric" | "isDetailed" | "stack">
    & Pick<UsagePageQuery, "stack">
    & {
      readonly organizationId: string | null;
      readonly filters: UsagePageFilters;
      readonly pickMetric?: (metrics: readonly string[], selected: Selected) => Promise<string | null>;
    },
) {
  const { database } = context;
  const { productSlug, metric: wanted, apiKey: alsoId } = requested;
  const environment = requested.environment ??
    (await findNamedKey(database, { id: alsoId, organizationId }))?.environment ?? "live";
  const limit = usagePageChoicesMax;
  const keys = organizationId === null
    ? null
    : await listUsageKeys(database, { organizationId, environment, alsoId, limit, now: scope.now });
  const selected = {
    productSlug,
    apiKey: keys?.find(({ hasAlso }) => hasAlso === 1)?.id ?? null,
    environment,
    // Values of all organizations together have no totals, and would be slow to add up for a page.
    properties: organizationId === null ? {} : await knownProperties(database, requested),
  };
  const { metric, report, ...read } = await readUsageReport(context, {
    ...query,
    ...scope,
    stack: stack === "outcome" ? null : stack,
    filter: toUsageFilter(selected),
    metric: wanted,
    isDetailed: true,
    ...pickMetric && { pickMetric: (metrics) => pickMetric(metrics, selected) },
  });
  const hasOutcomes = productSlug === null && Object.keys(selected.properties).length === 0;
  const { period } = query;
  return {
    ...read,
    metric,
    report: report === null || period === null || organizationId === null || !hasOutcomes
      ? report
      : await addOutcomes(context, report, {
        ...{ organizationId, now: scope.now, period, environment, mergeRotations: true },
        apiKey: selected.apiKey === null ? undefined : [selected.apiKey],
        isShown: stack === "outcome",
        outcome: requested.outcome ?? null,
      }),
    filters: { ...selected, metric },
    apiKeys: keys && withDistinctNames(keys),
  };
}

export async function readUsagePage(
  context: JobContext,
  { organizationId, now, usualMetric, ...query }: JobScope & UsagePageQuery,
) {
  const { database } = context;
  const scope = { organizationId, now };
  const { apiKeys, ...read } = await readFilteredReport(context, scope, {
    ...query,
    organizationId,
    pickMetric: (metrics, selected) =>
      pickMetric(context, { organizationId, filters: query.filters, usualMetric, selected }, metrics),
  });
  const listProducts = (environment: Environment) =>
    listUsageNames(database, {
      organizationId,
      column: "productSlug",
      filter: { environment },
      limit: usagePageChoicesMax,
    });
  const { environment } = read.filters;
  const products = await listProducts(environment);
  return {
    ...read,
    /** True if anything was ever recorded. */
    hasUsage: products.length > 0 ||
      (await listProducts(environment === "live" ? "test" : "live")).length > 0,
    choices: { products, apiKeys: apiKeys ?? [] },
  };
}

/** Returns no properties if usage isn't summed by them. */
async function knownProperties(
  database: DatabaseReader,
  { properties = {}, productSlug }: UsagePageFilters,
): Promise<Readonly<Record<string, string>>> {
  try {
    await findSplit(database, {
      properties: valuesOf(properties),
      productSlug: productSlug === null ? undefined : [productSlug],
    });
    return properties;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return {};
  }
}

const valuesOf = (properties: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, [value]]));

/** Returns the names of the products and metrics that an organization has recorded, some of each. */
export async function readUsageNames(
  { database }: JobContext,
  { organizationId, environment }: JobScope & Pick<UsageFilter, "environment">,
) {
  const names = (column: "productSlug" | "metric") =>
    listUsageNames(database, { organizationId, column, filter: { environment }, limit: usagePageChoicesMax });
  return { productSlugs: await names("productSlug"), metrics: await names("metric") };
}

type Picking = Pick<JobScope, "organizationId"> & Pick<UsagePageQuery, "filters" | "usualMetric"> & {
  readonly selected: Selected;
};

/** Different metrics can't be added up: without a valid choice, it is the person's usual one or the one with the most records. */
async function pickMetric(
  { database }: JobContext,
  { organizationId, filters: { metric }, usualMetric, selected }: Picking,
  metrics: readonly string[],
): Promise<string | null> {
  const [busiest] = metrics;
  if (metric !== null && metrics.includes(metric)) return metric;
  const ever = (filters: UsagePageFilters) =>
    listUsageNames(database, { organizationId, column: "metric", filter: toUsageFilter(filters), limit: 1 });
  if (metric !== null && (await ever({ ...selected, metric })).length > 0) return metric;
  if (usualMetric !== null && metrics.includes(usualMetric)) return usualMetric;
  const [any] = busiest === undefined ? await ever({ ...selected, metric: null }) : [busiest];
  return any ?? metric ?? (await ever({ ...selected, productSlug: null, apiKey: null, metric: null }))[0] ??
    null;
}

/** Returns keys by name; keys of the same name have their prefix added. */
export function withDistinctNames<Key extends { name: string; keyPrefix: string }>(keys: readonly Key[]) {
  const counts = new Map<string, number>();
  for (const { name } of keys) counts.set(name, (counts.get(name) ?? 0) + 1);
  return keys.map((key) => ({
    ...key,
    name: counts.get(key.name) === 1 ? key.name : `${key.name} (${withoutTag(key.keyPrefix)})`,
  })).sort((a, b) => a.name < b.name ? -1 : 1);
}

function toUsageFilter(
  { productSlug, metric = null, apiKey, environment, properties = {} }: Partial<UsagePageFilters>,
): UsageFilter {
  const only = (value: string | null = null) => value === null ? undefined : [value];
  return {
    productSlug: only(productSlug),
    metric: only(metric),
    apiKey: only(apiKey),
    environment: environment ?? undefined,
    properties: Object.keys(properties).length === 0 ? undefined : valuesOf(properties),
    mergeRotations: true,
  };
}
