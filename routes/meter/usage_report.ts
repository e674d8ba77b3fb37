// The report of the usage pages, from the services' numbers.
import { type Catalogue, metricOf, metricsInOrder, productOf } from "../../domain/meter/catalogue.ts";
import { microsToDecimal } from "../../domain/meter/quantity.ts";
import type { ReportPeriod } from "../../domain/meter/usage_period.ts";
import { noPart, percentChange } from "../../domain/meter/usage_report.ts";
import type { UsageWindow, WindowUnit } from "../../domain/meter/usage_window.ts";
import { isoTime, isoTimeIn } from "../../domain/time.ts";
import type { ReportNumbers } from "../../services/meter/jobs/mod.ts";
import { chartOf, seriesColor } from "../../views/components/chart_props.ts";
import type { MetricTotal } from "../../views/components/metric_strip.tsx";
import { operatorRecordsName } from "../../views/meter/record_table.tsx";
import type { UsageReport } from "../../views/meter/usage.tsx";
import {
  filteredHref,
  firstPages,
  isPropertyName,
  type UsageAddress,
  usageHref,
  type UsageStackName,
} from "../../views/meter/usage_address.ts";
import { propertyTitle } from "../../views/meter/usage_filters.tsx";
import type { BreakdownProps } from "../../views/meter/usage_tables.tsx";
import { daysWords, shortDaysWords, zoneWords } from "../../views/text/zone.ts";

interface ReportOptions {
  readonly period: ReportPeriod;
  readonly address: UsageAddress;
  readonly timezone: string;
  readonly now: number;
  /** The subject of the second table. `hrefOf`: the page of a line; null if there is none. */
  readonly groups: {
    readonly title: string;
    readonly column: string;
    readonly hrefOf: (id: string) => string | null;
    /** Null for the name that the numbers have. */
    readonly nameOf?: (id: string) => string | undefined;
    /** The name of usage without an id. */
    readonly noName?: string;
    /** A state that stands out, such as `Revoked`. */
    readonly stateOf?: (id: string) => string | null;
  };
  /** Subjects that the chart can stack, the default first. */
  readonly stacks?: readonly UsageStackName[];
  /** The last 30 days of lines of the second table, by id. */
  readonly trends?: ReadonlyMap<string, readonly number[]>;
}

/** Metrics with a place above the chart. */
const stripMax = 8;

type Numbers = ReportNumbers & { readonly report: NonNullable<ReportNumbers["report"]> };

function reportOf(numbers: Numbers, options: ReportOptions): UsageReport {
  const { catalogue, metric, report } = numbers;
  const { period, timezone, now, address } = options;
  const compared = comparedWords(options);
  const measure = metricOf(catalogue, metric ?? "");
  const { stacks = ["product", "key"], groups: { nameOf, hrefOf, noName = operatorRecordsName } } = options;
  const all = [...stacks, ...report.values.map(({ property }) => property)];
  const stacked = all.find((one) => one === address.stack) ?? all[0];
  const series = (part: string) => {
    if (part === noPart) return { name: noName };
    if (isPropertyName(stacked)) return { name: part, href: filteredHref(address, { [stacked]: part }) };
    if (!isByProduct) {
      return { name: nameOf?.(part) ?? report.names.get(part) ?? part, href: hrefOf(part) ?? undefined };
    }
    const { name, color } = productOf(catalogue, part);
    return { name, color, href: filteredHref(address, { productSlug: part }) };
  };
  const isByProduct = stacked === "product";
  return {
    strip: { metrics: stripOf(numbers, address), period: compared },
    chart: report.total.records === 0 ? null : chartOf(report.stack, {
      measure,
      by: report.unit,
      period: `${daysWords(period, timezone)}, ${zoneWords(timezone)}`,
      windows: report.windows,
      timezone,
      now,
      series,
      hrefOf: (window) => windowHref(window, { unit: report.unit, address, timezone }),
    }),
    stacks: all.map((stack, index) => ({
      href: usageHref({ ...address, stack: index === 0 ? null : stack }),
      label: `By ${isPropertyName(stack) ? propertyTitle(stack).toLowerCase() : stack}`,
      isCurrent: stack === stacked,
    })),
    products: { ...productsOf(report, { catalogue, address, isByProduct }), measure, period: compared },
    keys: {
      ...groupsOf(report, { ...options, isByProduct: isByProduct || isPropertyName(stacked) }),
      measure,
      period: compared,
    },
    isComplete: report.total.isComplete,
    values: report.values.map(({ property, lines, all }) => ({
      title: `By ${propertyTitle(property).toLowerCase()}`,
      column: propertyTitle(property),
      lines: lines.map(({ id, name, ...line }) => ({
        ...line,
        name: name ?? "",
        href: filteredHref(address, { [property]: id }),
        ...(property === stacked ? { color: seriesColor(report.stack.series.indexOf(id ?? noPart)) } : {}),
      })),
      ...{ all, newerHref: null, olderHref: null, measure, period: compared },
    })),
  };
}

/** Returns the choices of the filters by property: the most used values, and the chosen one. */
export function propertyChoices({ report }: ReportNumbers, filters: UsageAddress["filters"]) {
  return (report?.values ?? []).map(({ property: name, lines }) => {
    const values = new Set(lines.flatMap(({ id }) => id ?? []));
    const chosen = filters[name];
    if (chosen) values.add(chosen);
    return { name, values: [...values].map((value) => ({ value, label: value })) };
  });
}

/** Returns metrics that have no place above the chart. */
export function otherMetrics({ metrics, catalogue }: Pick<ReportNumbers, "metrics" | "catalogue">) {
  if (metrics.length <= stripMax) return [];
  return metrics.map(({ metric }) => ({ value: metric, label: metricOf(catalogue, metric).name }));
}

/** Returns the time that changes are compared with, such as `Oct 1–21`. */
export function comparedWords(
  { address, period, timezone, now }: Pick<ReportOptions, "address" | "period" | "timezone" | "now">,
): string {
  if (address.range === "24h" && address.compare === "previous") return "the 24 hours before";
  return shortDaysWords(period.compared, timezone, now);
}

/** Returns some of the metrics, with the chosen one. */
function stripOf({ metrics, metric, report, catalogue }: Numbers, address: UsageAddress): MetricTotal[] {
  const shown = metrics.slice(0, stripMax);
  const hasChosen = shown.some((one) => one.metric === metric);
  const all = hasChosen || metric === null ? shown : [...shown.slice(0, stripMax - 1), report.total];
  return metricsInOrder(catalogue, all).map((one) => ({
    metric: metricOf(catalogue, one.metric),
    total: microsToDecimal(one.micros),
    change: percentChange(one.micros, one.before),
    href: filteredHref(address, { metric: one.metric }),
    isChosen: one.metric === metric,
  }));
}

/** Returns the page of a bar: the hours of a day, the days of a week or month. */
function windowHref(
  { start, end }: UsageWindow,
  { unit, address, timezone }: { unit: WindowUnit; address: UsageAddress; timezone: string },
): string | undefined {
  if (unit === "hour") return undefined;
  const [from = "", to = ""] = [start, end - 1].map((ms) => isoTimeIn(ms, timezone).slice(0, 10));
  return usageHref({ ...address, range: "custom", days: { from, to }, window: null });
}

/** The lines of the table that the chart stacks have its colors. */
interface Stacked {
  readonly isByProduct: boolean;
}

type Table = Omit<BreakdownProps, "measure" | "period">;

function productsOf(
  { products }: Numbers["report"],
  { catalogue, address, isByProduct }: Stacked & { catalogue: Catalogue; address: UsageAddress },
): Table {
  const pageHref = (products: number) =>
    usageHref({ ...address, pages: { ...address.pages, products: products === 1 ? null : products } });
  return {
    title: "Products",
    column: "Product",
    lines: products.lines.map(({ id, ...line }) => {
      const { name, color } = productOf(catalogue, id ?? "");
      return {
        ...line,
        name,
        ...(isByProduct ? { color } : {}),
        href: filteredHref(address, { productSlug: id }),
      };
    }),
    ...pagesOf(products, pageHref),
  };
}

function groupsOf(
  { groups, stack }: Numbers["report"],
  { groups: shown, address, trends, isByProduct }: ReportOptions & Stacked,
): Table {
  const colorOf = (id: string | null) => seriesColor(stack.series.indexOf(id ?? noPart));
  const pageHref = (keys: number) =>
    usageHref({ ...address, pages: { ...address.pages, keys: keys === 1 ? null : keys } });
  return {
    title: shown.title,
    column: shown.column,
    lines: groups.lines.map(({ id, name, ...line }) => ({
      ...line,
      name: id === null ? shown.noName ?? operatorRecordsName : shown.nameOf?.(id) ?? name ?? id,
      href: id === null ? null : shown.hrefOf(id),
      state: id === null ? null : shown.stateOf?.(id) ?? null,
      ...(isByProduct ? {} : { color: colorOf(id) }),
      ...(trends === undefined || id === null ? {} : { trend: trends.get(id) ?? [0, 0] }),
    })),
    ...pagesOf(groups, pageHref),
  };
}

function pagesOf(
  { all, page, pages }: { all: number; page: number; pages: number },
  hrefOf: (page: number) => string,
) {
  return {
    all,
    newerHref: page === 1 ? null : hrefOf(page - 1),
    olderHref: page === pages ? null : hrefOf(page + 1),
  };
}

/** Returns the report of a usage page, and the address of its chart's numbers as a file; null if it can't be shown. */
export function shownReport(
  numbers: ReportNumbers,
  { period, csv, ...options }: Omit<ReportOptions, "period"> & {
    readonly period: ReportPeriod | null;
    readonly csv: { readonly path: string; readonly query: Readonly<Record<string, string>> };
  },
): { report: UsageReport | null; csvHref: string | null } {
  const { metric, report } = numbers;
  if (period === null || report === null) return { report: null, csvHref: null };
  const { address, timezone } = options;
  const query = new URLSearchParams({
    from: isoTime(period.start),
    to: isoTime(period.end),
    window: report.unit,
    timezone,
  });
  const filters = { ...address.filters, metric, ...csv.query };
  for (const [name, value] of Object.entries(filters)) if (value) query.set(name, value);
  return {
    report: reportOf({ ...numbers, report }, { ...options, period }),
    csvHref: `${csv.path}?${query}`,
  };
}

/** Returns this month's report for an overview. Metrics link to their charts there, everything else to the usage page. */
export function monthReport(
  numbers: Numbers,
  { base, days, metricHref, ...options }:
    & Pick<ReportOptions, "period" | "timezone" | "now" | "trends">
    & Pick<UsageAddress, "days">
    & {
      readonly base: string;
      readonly metricHref: (metric: string) => string;
      readonly groups: Omit<ReportOptions["groups"], "hrefOf">;
      /** The page of a key; null for the usage page. */
      readonly keyHref: (id: string) => string | null;
    },
): UsageReport {
  const address: UsageAddress = {
    path: `${base}/usage`,
    range: "month",
    days,
    window: null,
    compare: "previous",
    comparedDays: days,
    timezone: null,
    filters: { productSlug: null, metric: numbers.metric, apiKey: null, environment: null },
    stack: null,
    pages: firstPages,
  };
  const hrefOf = (id: string) => options.keyHref(id) ?? filteredHref(address, { apiKey: id });
  const report = reportOf(numbers, { ...options, address, groups: { ...options.groups, hrefOf } });
  const metrics = report.strip.metrics.map((one) => ({ ...one, href: metricHref(one.metric.slug) }));
  return { ...report, strip: { ...report.strip, metrics } };
}
