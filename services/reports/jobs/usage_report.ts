// A report of a period: the totals of every metric, and of the chosen one a chart and tables of products and of keys or
// organizations. Read by the reports thread.
import type { UsageFilter } from "../../../db/meter/usage_sums.ts";
import { AppError } from "../../../domain/errors.ts";
import { type Catalogue, coloredProducts } from "../../../domain/meter/catalogue.ts";
import { reportLines, stackOf } from "../../../domain/meter/report_lines.ts";
import { type UsageWindow, type WindowUnit, windowUnits } from "../../../domain/meter/usage_window.ts";
import { isoTime } from "../../../domain/time.ts";
import type { JobContext } from "../job_context.ts";
import { readCatalogue } from "./catalogue.ts";
import { metricTotals } from "./metric_totals.ts";
import { readUsageSums, type UsageQuery, type UsageScope, type UsageSum } from "./usage_sums.ts";

/** Keys with a series of their own. */
const keySeriesMax = 5;
/** Lines of a table on one page. */
export const reportLinesMax = 50;

export type ReportStack = "productSlug" | "apiKey";
type ReportGroup = "productSlug" | "apiKey" | "organization";

export interface UsageReportQuery {
  readonly period: UsageWindow & { readonly compared: UsageWindow };
  /** The length of the chart's windows, unless there are too many. */
  readonly unit: WindowUnit;
  readonly timezone: string;
  readonly filter: UsageFilter;
  /** Picks the metric; undefined: the one with the most records. */
  readonly pickMetric?: ((metrics: readonly string[]) => Promise<string | null>) | undefined;
  /** The subject of the second table. */
  readonly group: "apiKey" | "organization";
  readonly stack: ReportStack;
  /** The pages of the tables, from 1 on. */
  readonly pages: { readonly products: number; readonly groups: number };
}

/** The report, and what it was chosen from. */
export type ReportNumbers = Pick<
  Awaited<ReturnType<typeof readUsageReport>>,
  "catalogue" | "metrics" | "metric" | "report"
>;

/**
 * Reads the report.
 *
 * @returns `report` null if nothing was ever recorded, or if `problem` says why it can't be shown.
 */
export async function readUsageReport(context: JobContext, input: UsageScope & UsageReportQuery) {
  const { period, filter, group, stack, pages } = input;
  const catalogue = await readCatalogue(context, input);
  const failed = (metrics: ReturnType<typeof metricTotals>, { message }: AppError) => ({
    catalogue,
    metrics,
    metric: null,
    unit: input.unit,
    report: null,
    problem: message,
  });
  const byProduct = await bothPeriods(context, input, { groupBy: ["metric", "productSlug"], ...filter });
  if (byProduct instanceof AppError) return failed([], byProduct);
  const metrics = metricTotals(byProduct.now, byProduct.before);
  const names = metrics.map(({ metric }) => metric);
  const metric = input.pickMetric === undefined ? names[0] ?? null : await input.pickMetric(names);
  if (metric === null) return { catalogue, metrics, metric, unit: input.unit, report: null, problem: null };
  const ofMetric = { metric: [metric] };
  const byGroup = await bothPeriods(context, input, { groupBy: [group], ...filter, ...ofMetric });
  if (byGroup instanceof AppError) return failed(metrics, byGroup);
  const isChosen = (sum: UsageSum) => sum.metric === metric;
  const products = linesOf("productSlug", {
    now: byProduct.now.filter(isChosen),
    before: byProduct.before.filter(isChosen),
  });
  const groups = linesOf(group, byGroup);
  const chart = await readChart(context, input, {
    filter: { ...filter, ...ofMetric },
    lines: stack === "productSlug" ? products : groups,
    catalogue,
  });
  if (chart instanceof AppError) return failed(metrics, chart);
  const total = metrics.find((one) => one.metric === metric);
  return {
    catalogue,
    metrics,
    metric,
    unit: chart.unit,
    problem: null,
    report: {
      total: total ?? { metric, micros: 0n, before: 0n, records: 0 },
      period,
      ...chart,
      products: pageOf(products, pages.products),
      groups: pageOf(groups, pages.groups),
    },
  };
}

/** A line of a table with the name of what it is about. */
export type NamedLine = ReturnType<typeof linesOf>[number];

function linesOf(
  group: ReportGroup,
  { now, before }: { now: readonly UsageSum[]; before: readonly UsageSum[] },
) {
  const names = new Map([...before, ...now].map((sum) => [idOf(group, sum), nameOf(group, sum)]));
  const sums = (all: readonly UsageSum[]) =>
    all.map((sum) => ({ id: idOf(group, sum), micros: sum.micros, count: sum.count }));
  return reportLines(sums(now), sums(before)).map((line) => ({
    ...line,
    name: names.get(line.id) ?? line.id,
  }));
}

function idOf(group: ReportGroup, sum: UsageSum): string | null {
  return (group === "organization" ? sum.organizationId : sum[group]) ?? null;
}

/** Null for usage without a key. */
function nameOf(group: ReportGroup, sum: UsageSum): string | null {
  if (group === "productSlug") return sum.productSlug ?? null;
  return (group === "apiKey" ? sum.apiKeyName : sum.organizationName) ?? null;
}

/** Returns some of the lines; the last page for a number beyond it. */
function pageOf(lines: readonly NamedLine[], wanted: number) {
  const pages = Math.max(1, Math.ceil(lines.length / reportLinesMax));
  const page = Math.min(wanted, pages);
  return {
    lines: lines.slice((page - 1) * reportLinesMax, page * reportLinesMax),
    all: lines.length,
    page,
    pages,
  };
}

/** Reads the windows of the largest lines and of everything: those that were requested, or longer ones if there are too many. */
async function readChart(
  context: JobContext,
  input: UsageScope & UsageReportQuery,
  { filter, lines, catalogue }: {
    filter: UsageFilter;
    lines: readonly NamedLine[];
    catalogue: Catalogue;
  },
) {
  const { stack, period } = input;
  const used = lines.filter(({ records }) => records > 0);
  const named = namedOf(stack, used, catalogue);
  const others = used.filter(({ id }) => id === null || !named.includes(id));
  const read = (window: WindowUnit, query: UsageFilter & Pick<UsageQuery, "groupBy">) =>
    sumsOrProblem(context, input, { ...period, window, ...filter, ...query });
  let problem: AppError | null = null;
  for (const unit of windowUnits.slice(windowUnits.indexOf(input.unit))) {
    const sums = await read(unit, { [stack]: named, groupBy: [stack] });
    const all = sums instanceof AppError ? sums : await read(unit, { groupBy: [] });
    if (sums instanceof AppError) problem = sums;
    else if (all instanceof AppError) problem = all;
    else {
      const totals = all.range.windows.map(() => 0n);
      for (const { position, micros } of all.data) totals[position] = micros;
      const ofNamed = sums.data.map((sum) => ({ ...sum, id: idOf(stack, sum) }));
      const result = stackOf(ofNamed, { named, others, totals });
      const parts = new Set([...result.series, ...(result.others?.largest ?? []).map(({ part }) => part)]);
      const names = used.flatMap(({ id, name }) => id !== null && parts.has(id) ? [[id, name] as const] : []);
      return { unit, windows: all.range.windows, stack: result, /** By part. */ names: new Map(names) };
    }
  }
  return problem ?? new AppError("range_too_long", "Choose a shorter range.");
}

/** Returns the ids that have a series of their own: products with a color in their order, or the largest keys. */
function namedOf(stack: ReportStack, used: readonly NamedLine[], catalogue: Catalogue): string[] {
  const ids = used.map(({ id }) => id).filter((id) => id !== null);
  return stack === "apiKey"
    ? ids.slice(0, keySeriesMax)
    : coloredProducts(catalogue).filter((slug) => ids.includes(slug));
}

async function bothPeriods(
  context: JobContext,
  input: UsageScope & UsageReportQuery,
  query: UsageFilter & Pick<UsageQuery, "groupBy">,
) {
  const { period } = input;
  const now = await sumsOrProblem(context, input, { ...period, window: "total", ...query });
  if (now instanceof AppError) return now;
  const before = await sumsOrProblem(context, input, { ...period.compared, window: "total", ...query });
  return before instanceof AppError ? before : { now: now.data, before: before.data };
}

/** Returns the sums of a period, or the error that there are too many. */
async function sumsOrProblem(
  context: JobContext,
  input: UsageScope & UsageReportQuery,
  { start, end, ...query }: UsageWindow & UsageFilter & Pick<UsageQuery, "window" | "groupBy">,
) {
  const scope = "organizationId" in input
    ? { organizationId: input.organizationId }
    : { organizationIds: input.organizationIds };
  try {
    return await readUsageSums(context, {
      ...scope,
      now: input.now,
      timezone: input.timezone,
      from: isoTime(start),
      to: isoTime(end),
      ...query,
      mergeRotations: true,
    });
  } catch (error) {
    if (error instanceof AppError && error.code === "range_too_long") return error;
    throw error;
  }
}
