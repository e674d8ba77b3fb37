// A report of a period: the totals of every metric, and of the chosen one a chart and tables of what used it. Read by the reports
// thread.
import type { DatabaseReader } from "../../../db/engine/database.ts";
import { findDimensions } from "../../../db/meter/dimension_list.ts";
import { isOfMetrics, type UsageFilter } from "../../../db/meter/usage_sums.ts";
import { AppError } from "../../../domain/errors.ts";
import { type Catalogue, coloredProducts } from "../../../domain/meter/catalogue.ts";
import { noneValue, propertiesShownMax } from "../../../domain/meter/dimension.ts";
import { microsToDecimal, microsToNumber } from "../../../domain/meter/quantity.ts";
import { reportLines, stackOf } from "../../../domain/meter/usage_report.ts";
import { type UsageWindow, type WindowUnit, windowUnits } from "../../../domain/meter/usage_window.ts";
import { isoTime } from "../../../domain/time.ts";
import type { JobContext, JobScope } from "../../reports/job_context.ts";
import { findCatalogue } from "./catalogue.ts";
import { type MetricTotal, metricTotals } from "./metric_totals.ts";
import { isOfAll, readUsageSums, type UsageQuery, type UsageScope, type UsageSum } from "./usage_sums.ts";

/** Keys or organizations with a series of their own. */
const groupSeriesMax = 5;
/** Lines of a page of a table: pages stay short. */
const linesMax = 8;
const noPartsText = "This metric can't be filtered by properties. Remove the filter.";

type PropertyGroup = `properties.${string}`;
export type ReportGroup = "productSlug" | "apiKey" | "organization" | PropertyGroup;

export interface UsageReportQuery {
  /** Null for a report without numbers. */
  readonly period: (UsageWindow & { readonly before: UsageWindow; readonly compared: UsageWindow }) | null;
  /** The length of the chart's windows, unless there are too many. */
  readonly unit: WindowUnit;
  readonly timezone: string;
  readonly filter: UsageFilter;
  /** The metric, if it was used in the period; otherwise, the one with the most records. */
  readonly metric?: string | null;
  /** Picks another metric of those that were used, the one with the most records first. */
  readonly pickMetric?: (metrics: readonly string[]) => Promise<string | null>;
  /** The subjects of tables, besides properties of the metric. */
  readonly groups: readonly Exclude<ReportGroup, PropertyGroup>[];
  /** The subject that the chart stacks, if it has a table; otherwise, the first one. */
  readonly stack: ReportGroup | null;
  /** The page of the table that the chart stacks, from 1 on. */
  readonly page: number;
  /** True to also read the tables of properties, and the windows of the period before. */
  readonly isDetailed: boolean;
}

/** The report, and the choices of its filters. */
export type ReportNumbers = Pick<
  Awaited<ReturnType<typeof readUsageReport>>,
  "catalogue" | "metrics" | "metric" | "report"
>;

type Input = UsageScope & UsageReportQuery;
type Reading = UsageScope & Pick<UsageReportQuery, "timezone">;
type SumGroups = Pick<UsageQuery, "groupBy" | "groupByProperties">;
type Period = NonNullable<UsageReportQuery["period"]>;

/** Returns `report` null without a period or usage, or if `problem` says why it can't be shown. */
export async function readUsageReport(context: JobContext, input: Input) {
  const { unit, filter } = input;
  const catalogue = await findCatalogue(context, input);
  let metrics: MetricTotal[] = [];
  const none = { catalogue, metrics, metric: null, unit, report: null, problem: null };
  const { period } = input;
  if (period === null) return { ...none, metric: await pickFrom([], input) };
  const inPeriod = { ...input, period };
  try {
    const byProduct = await bothPeriods(context, inPeriod, { groupBy: ["metric", "productSlug"], ...filter });
    metrics = metricTotals(byProduct.now, byProduct.before);
    const metric = await pickFrom(metrics.map(({ metric }) => metric), input);
    if (metric === null) return { ...none, metrics };
    const ofMetric = (sums: readonly UsageSum[]) => sums.filter((sum) => sum.metric === metric);
    const chosen = { now: ofMetric(byProduct.now), before: ofMetric(byProduct.before) };
    const hasNoParts = chosen.now.some(({ aggregation }) =>
      aggregation === "last" || aggregation === "unique"
    );
    if (hasNoParts && Object.keys(filter.properties ?? {}).length > 0) {
      return { ...none, metrics, metric, problem: noPartsText };
    }
    const total = metrics.find((one) => one.metric === metric) ??
      { metric, micros: 0n, before: 0n, records: 0, isComplete: true };
    const chart = { filter: { ...filter, metric: [metric] }, catalogue };
    const tables = await readTables(context, inPeriod, { ...chart, chosen, total, hasNoParts });
    const stacked = tables.find(({ group }) => group === input.stack) ?? tables[0];
    if (stacked === undefined) throw new Error("A report has no tables.");
    const read = await readChart(context, inPeriod, { ...chart, ...stacked });
    return {
      ...none,
      metrics,
      metric,
      unit: read.unit,
      report: {
        total,
        ...read,
        /** The subject that the chart stacks. */
        stacked: stacked.group,
        tables: tables.map((table) => ({
          group: table.group,
          ...pageOf(table.lines, table === stacked ? input.page : 1),
        })),
      },
    };
  } catch (error) {
    // The chosen metric has no dimension with the properties of the filter.
    if (hasCode(error, "dimension_unknown")) return { ...none, metrics, problem: noPartsText };
    if (!hasCode(error, "range_too_long")) throw error;
    return { ...none, metrics, problem: error.message };
  }
}

/** Adds up each metric of an organization that was used in the period or in the compared one, and reads their names. */
export async function readUsageTotals(
  context: JobContext,
  input: JobScope & Pick<UsageReportQuery, "timezone"> & { readonly period: Period },
) {
  const { now, before } = await bothPeriods(context, input, { groupBy: ["metric"] });
  return { catalogue: await findCatalogue(context, input), metrics: metricTotals(now, before) };
}

export function isProperty(group: string | null): group is PropertyGroup {
  return group?.startsWith("properties.") === true;
}

function propertyOf(group: PropertyGroup): string {
  return group.slice("properties.".length);
}

/** A table of all that used the metric, with the subject of its lines. */
interface Table {
  readonly group: ReportGroup;
  readonly lines: readonly NamedLine[];
}

/** Reads the tables of the groups, then of properties that some of the usage has: for one organization, and metrics that have parts. */
async function readTables(
  context: JobContext,
  input: Input & { period: Period },
  { chosen, total, filter, hasNoParts }: {
    chosen: BothSums;
    total: MetricTotal;
    filter: UsageFilter;
    hasNoParts: boolean;
  },
): Promise<Table[]> {
  const tables: Table[] = [];
  for (const group of input.groups) {
    const sums = group === "productSlug"
      ? chosen
      : await bothPeriods(context, input, { groupBy: [group], ...filter });
    tables.push({
      group,
      lines: linesOf(group, group === "organization" ? withDeleted(input, total, sums) : sums),
    });
  }
  const isOfOne = "organizationId" in input || input.organizationIds?.length === 1;
  if (!input.isDetailed || !isOfOne || hasNoParts) return tables;
  const productSlug = linesOf("productSlug", chosen).flatMap(({ id }) => id ?? []);
  for (const group of await findProperties(context.database, { ...filter, productSlug })) {
    const query = { groupByProperties: [propertyOf(group)], ...filter };
    const lines = linesOf(group, await bothPeriods(context, input, query));
    const hasValues = lines.some(({ id }) => id !== noneValue);
    if (hasValues || filter.properties?.[propertyOf(group)]) {
      const isSet = Map.groupBy(lines, ({ id }) => id !== noneValue);
      tables.push({ group, lines: [...isSet.get(true) ?? [], ...isSet.get(false) ?? []] });
    }
  }
  return tables;
}

/** Finds the properties by which usage can be summed, along with those of the filter. */
async function findProperties(database: DatabaseReader, filter: UsageFilter): Promise<PropertyGroup[]> {
  const filtered = Object.keys(filter.properties ?? {});
  const lists = (await findDimensions(database)).filter(isOfMetrics(filter)).map(({ names }): string[] =>
    JSON.parse(names)
  );
  const names = new Set(lists.flat());
  return [...names].filter((name) =>
    lists.some((list) => [name, ...filtered].every((one) => list.includes(one)))
  ).slice(0, propertiesShownMax).map((name) => `properties.${name}` as const);
}

async function pickFrom(
  used: readonly string[],
  { metric = null, pickMetric }: Input,
): Promise<string | null> {
  if (pickMetric !== undefined) return await pickMetric(used);
  return metric !== null && used.includes(metric) ? metric : used[0] ?? null;
}

function hasCode(error: unknown, code: AppError["code"]): error is AppError {
  return error instanceof AppError && error.code === code;
}

/** A line of a table with the name of its subject. */
type NamedLine = ReturnType<typeof linesOf>[number];

interface BothSums {
  readonly now: readonly UsageSum[];
  readonly before: readonly UsageSum[];
}

/** Adds sums without an id for organizations that have been deleted since, which only the total of all organizations includes. */
function withDeleted(input: Input, total: MetricTotal, { now, before }: BothSums): BothSums {
  if (!isOfAll(input)) return { now, before };
  const none = {
    ...{ position: 0, start: "", end: "", minMicros: null, maxMicros: null, sumMicros: 0n },
    ...{ aggregation: "sum", isKnown: true, isCapped: false } as const,
  };
  const rest = (sums: readonly UsageSum[], { micros, count }: { micros: bigint; count: number }) => ({
    ...none,
    micros: sums.reduce((left, sum) => left - sum.micros, micros),
    count: sums.reduce((left, sum) => left - sum.count, count),
  });
  const deleted = rest(now, { micros: total.micros, count: total.records });
  const deletedBefore = rest(before, { micros: total.before, count: 0 });
  // Records that arrived between the two reads are in the sums of organizations, but not in the total.
  return {
    now: deleted.count > 0 ? [...now, deleted] : now,
    before: deletedBefore.micros > 0n ? [...before, deletedBefore] : before,
  };
}

function linesOf(group: ReportGroup, { now, before }: BothSums) {
  const names = distinctNames([...before, ...now].map((sum) => ({
    id: idOf(group, sum),
    name: nameOf(group, sum),
    externalId: sum.externalId,
  })));
  const sums = (all: readonly UsageSum[]) =>
    all.map((sum) => ({ id: idOf(group, sum), micros: sum.micros, count: sum.count }));
  return reportLines(sums(now), sums(before)).map((line) => ({
    ...line,
    name: names.get(line.id) ?? line.id,
  }));
}

/** Returns names by id. Organizations of the same name have their external id or id added. */
function distinctNames(
  all: readonly { id: string | null; name: string | null; externalId: string | null | undefined }[],
) {
  const lines = new Map(all.map((line) => [line.id, line]));
  const counts = new Map<string | null, number>();
  for (const { name } of lines.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map([...lines].map(([id, { name, externalId }]) => {
    const isAlone = name === null || externalId === undefined || counts.get(name) === 1;
    return [id, isAlone ? name : `${name} (${externalId ?? id})`];
  }));
}

function idOf(group: ReportGroup, sum: UsageSum): string | null {
  if (isProperty(group)) return sum.properties?.[propertyOf(group)] ?? null;
  return (group === "organization" ? sum.organizationId : sum[group]) ?? null;
}

/** Null for usage without a key. */
function nameOf(group: ReportGroup, sum: UsageSum): string | null {
  if (group === "productSlug") return sum.productSlug ?? null;
  if (isProperty(group)) return idOf(group, sum);
  return (group === "apiKey" ? sum.apiKeyName : sum.organizationName) ?? null;
}

/** Returns some of the lines; the last page for a number beyond it. */
function pageOf(lines: readonly NamedLine[], wanted: number) {
  const pages = Math.max(1, Math.ceil(lines.length / linesMax));
  const page = Math.min(wanted, pages);
  return { lines: lines.slice((page - 1) * linesMax, page * linesMax), all: lines.length, page, pages };
}

interface ChartInput extends Table {
  readonly filter: UsageFilter;
  readonly catalogue: Catalogue;
}

/** Reads the windows of the largest lines and of everything: those that were requested, or longer ones if there are too many. */
async function readChart(context: JobContext, input: Input & { period: Period }, chart: ChartInput) {
  let problem: unknown;
  for (const unit of windowUnits.slice(windowUnits.indexOf(input.unit))) {
    try {
      return await readWindows(context, { ...input, unit }, chart);
    } catch (error) {
      if (!hasCode(error, "range_too_long")) throw error;
      problem = error;
    }
  }
  throw problem;
}

async function readWindows(
  context: JobContext,
  input: Input & { period: Period },
  { filter, group: stack, lines, catalogue }: ChartInput,
) {
  const { period, unit } = input;
  const used = lines.filter(({ records }) => records > 0);
  const named = namedOf(stack, used, catalogue);
  const others = used.filter(({ id }) => id === null || !named.includes(id));
  const readTotals = (window: UsageWindow) =>
    readSums(context, input, { ...window, window: unit, ...filter, groupBy: [] });
  const sums = await readSums(context, {
    ...input,
    ...stack === "organization" && { organizationIds: named },
  }, {
    ...period,
    window: unit,
    ...filter,
    ...(isProperty(stack)
      ? {
        properties: { ...filter.properties, [propertyOf(stack)]: named },
        groupByProperties: [propertyOf(stack)],
      }
      : { ...stack !== "organization" && { [stack]: named }, groupBy: [stack] }),
  });
  const { range: { windows }, data: all } = await readTotals(period);
  const totals = windows.map(() => 0n);
  for (const { position, micros } of all) totals[position] = micros;
  const ofNamed = sums.data.map((sum) => ({ ...sum, id: idOf(stack, sum) }));
  const result = stackOf(ofNamed, { named, others, totals });
  const names = used.flatMap(({ id, name }) =>
    id !== null && result.series.includes(id) ? [[id, name] as const] : []
  );
  return {
    unit,
    windows,
    stack: result,
    before: input.isDetailed ? beforeOf(await readTotals(sameLength(period))) : null,
    /** By part. */
    names: new Map(names),
  };
}

/** Returns the part of the period before that has as many windows as the period, at most. */
function sameLength({ start, end, before }: Period): UsageWindow {
  return { start: before.start, end: Math.min(before.end, before.start + end - start) };
}

/** Returns the totals of the period before by window: numbers to draw, and exact decimal texts. */
function beforeOf({ range: { windows }, data }: Awaited<ReturnType<typeof readSums>>) {
  const totals = windows.map(() => 0n);
  for (const { position, micros } of data) totals[position] = micros;
  return { windows, values: totals.map(microsToNumber), sums: totals.map(microsToDecimal) };
}

/** Returns the ids that have a series of their own: products with a color in their order, or the largest keys or organizations. */
function namedOf(stack: ReportGroup, used: readonly NamedLine[], catalogue: Catalogue): string[] {
  const ids = used.map(({ id }) => id).filter((id) => id !== null);
  return stack === "productSlug"
    ? coloredProducts(catalogue).filter((slug) => ids.includes(slug))
    : ids.slice(0, groupSeriesMax);
}

async function bothPeriods(
  context: JobContext,
  input: Reading & { period: Period },
  query: UsageFilter & SumGroups,
) {
  const { period } = input;
  const read = async (window: UsageWindow) =>
    (await readSums(context, input, { ...window, window: "total", ...query })).data;
  return { now: await read(period), before: await read(period.compared) };
}

function readSums(
  context: JobContext,
  input: Reading,
  { start, end, ...query }: UsageWindow & UsageFilter & SumGroups & Pick<UsageQuery, "window">,
) {
  const scope = "organizationId" in input
    ? { organizationId: input.organizationId }
    : { organizationIds: input.organizationIds, planId: input.planId };
  return readUsageSums(context, {
    ...scope,
    now: input.now,
    timezone: input.timezone,
    from: isoTime(start),
    to: isoTime(end),
    ...query,
    mergeRotations: true,
  });
}
