// The numbers of the usage page, read by the reports thread: choices for the filters, totals, the chart, the most active
// keys and the latest records.
import { listUsageKeys, listUsageNames, type UsageFilter } from "../../db/meter/usage_sums.ts";
import { AppError } from "../../domain/errors.ts";
import { usagePageChoicesMax } from "../../domain/limits.ts";
import { reportChart, reportKeys, reportTotals } from "../../domain/meter/usage_report.ts";
import { type UsageWindow, type WindowUnit, windowUnits } from "../../domain/meter/usage_window.ts";
import { isoTime } from "../../domain/time.ts";
import type { ReportContext, ReportScope } from "../reports/report_context.ts";
import { readUsageRecordPage } from "./usage_record_list.ts";
import { readUsageSums, type UsageQuery, type UsageScope } from "./usage_sums.ts";

const activeKeysMax = 5;
const latestRecordsMax = 10;

/** Slugs and ids to filter by; null for all. */
export interface OverviewFilters {
  readonly productSlug: string | null;
  readonly metric: string | null;
  readonly apiKey: string | null;
}

/** What the page requests. */
export interface UsageOverviewQuery {
  /** Null: no numbers. */
  readonly period: (UsageWindow & { readonly compared: UsageWindow }) | null;
  readonly unit: WindowUnit;
  readonly timezone: string;
  readonly filters: OverviewFilters;
}

/** What the page shows. */
export type UsageOverview = Awaited<ReturnType<typeof readUsageOverview>>;

/** Reads what the page shows. */
export async function readUsageOverview(context: ReportContext, input: ReportScope & UsageOverviewQuery) {
  const { organizationId, now } = input;
  const { filters, choices } = await selectFilters(context, input);
  const { report, ...read } = await readReport(context, { ...input, filters }, "apiKey");
  const { usageRecords: records } = await readUsageRecordPage(context, {
    organizationId,
    now,
    ...toUsageFilter(filters),
    limit: latestRecordsMax,
  });
  return {
    /** Whether anything was ever recorded. */
    hasUsage: choices.products.length > 0,
    /** The filters in effect: without a key or metric that the organization doesn't have. */
    filters,
    choices,
    records,
    ...read,
    report: report && withKeys(report),
  };
}

function withKeys({ groups, products: _products, ...report }: UsageReport) {
  return { ...report, keys: reportKeys(groups, activeKeysMax) };
}

/** Different metrics cannot be added up: without a valid choice, the metric with the most records is selected. */
async function selectFilters(context: ReportContext, input: ReportScope & UsageOverviewQuery) {
  const { database } = context;
  const { organizationId, filters: requested, period } = input;
  const limit = usagePageChoicesMax;
  const keys = await listUsageKeys(database, { organizationId, alsoId: requested.apiKey, limit });
  const isKey = keys.some(({ id }) => id === requested.apiKey);
  const selected = {
    productSlug: requested.productSlug,
    apiKey: isKey ? requested.apiKey : null,
    metric: null,
  };
  const names = (column: "productSlug" | "metric", filters: OverviewFilters, max = limit) =>
    listUsageNames(database, { organizationId, column, filter: toUsageFilter(filters), limit: max });
  const noFilters = { productSlug: null, metric: null, apiKey: null };
  const products = await names("productSlug", noFilters);
  const metrics = await names("metric", selected);
  const isMetric = requested.metric !== null &&
    (metrics.length === 0 ||
      (await names("metric", { ...selected, metric: requested.metric }, 1)).length > 0);
  let { metric } = requested;
  if (!isMetric) {
    const byMetric = period && await sumsOrProblem(context, { ...input, filters: selected }, {
      period,
      window: "total",
      groupBy: ["metric"],
    });
    const sums = byMetric === null || byMetric instanceof AppError ? [] : byMetric.data;
    const [busiest] = sums.toSorted((a, b) => b.count - a.count);
    metric = busiest?.metric ?? metrics[0] ?? (await names("metric", noFilters, 1))[0] ?? null;
  }
  return {
    filters: { ...selected, metric } satisfies OverviewFilters,
    /** Metrics are those of the selected product and key. */
    choices: { products, metrics, apiKeys: withDistinctNames(keys) },
  };
}

/** What {@linkcode readReport} reads. */
export type UsageReport = NonNullable<Awaited<ReturnType<typeof readReport>>["report"]>;

/**
 * Reads by the requested windows or, if there are too many, by the next longer ones.
 *
 * @param group What the report names the largest of.
 */
export async function readReport(
  context: ReportContext,
  input: UsageScope & UsageOverviewQuery,
  group: "apiKey" | "organization",
) {
  const { period, unit: requested } = input;
  if (period === null) return { unit: requested, report: null, problem: null };
  const failed = ({ message }: AppError) => ({ unit: requested, report: null, problem: message });
  let unit = requested;
  const read = (query: Omit<SumsQuery, "period">) => sumsOrProblem(context, input, { period, ...query });
  let byProduct = await read({ window: unit, groupBy: ["productSlug"] });
  for (const longer of windowUnits.slice(windowUnits.indexOf(requested) + 1)) {
    if (!(byProduct instanceof AppError)) break;
    unit = longer;
    byProduct = await read({ window: unit, groupBy: ["productSlug"] });
  }
  if (byProduct instanceof AppError) return failed(byProduct);
  const byGroup = await read({ window: "total", groupBy: [group] });
  if (byGroup instanceof AppError) return failed(byGroup);
  const before = await sumsOrProblem(context, input, {
    period: period.compared,
    window: "total",
    groupBy: [],
  });
  if (before instanceof AppError) return failed(before);
  const { range, data: productSums } = byProduct;
  return {
    unit,
    problem: null,
    report: {
      range,
      totals: reportTotals(productSums),
      /** The sum of the period to compare with, in millionths. */
      before: reportTotals(before.data).micros,
      chart: reportChart(productSums, range.windows.length),
      products: productSums,
      groups: byGroup.data,
    },
  };
}

type SumsQuery = Required<Pick<UsageQuery, "window" | "groupBy">> & { readonly period: UsageWindow };

/** @returns The sums of a period, or the error that there are too many. */
async function sumsOrProblem(
  context: ReportContext,
  { period: _period, unit: _unit, filters, ...input }: UsageScope & UsageOverviewQuery,
  { period, window, groupBy }: SumsQuery,
) {
  const [from, to] = [isoTime(period.start), isoTime(period.end)];
  const query = { from, to, window, groupBy, ...toUsageFilter(filters) };
  try {
    return await readUsageSums(context, { ...input, ...query });
  } catch (error) {
    if (error instanceof AppError && error.code === "range_too_long") return error;
    throw error;
  }
}

/** @returns Keys by name; keys of the same name have their prefix added. */
function withDistinctNames(keys: readonly { id: string; name: string; keyPrefix: string }[]) {
  const counts = new Map<string, number>();
  for (const { name } of keys) counts.set(name, (counts.get(name) ?? 0) + 1);
  return keys.map(({ id, name, keyPrefix }) => ({
    id,
    name: counts.get(name) === 1 ? name : `${name} (${keyPrefix.replace("service_live_", "")})`,
  })).sort((a, b) => a.name < b.name ? -1 : 1);
}

function toUsageFilter({ productSlug, metric, apiKey }: OverviewFilters): UsageFilter {
  const only = (value: string | null) => value === null ? undefined : [value];
  return { productSlug: only(productSlug), metric: only(metric), apiKey: only(apiKey) };
}
