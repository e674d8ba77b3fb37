// The report of an explorer, from the services' numbers: metrics, a chart, and the tabs of its table.
import {
  type Catalogue,
  type CatalogueMetric,
  metricOf,
  metricsInOrder,
  productOf,
} from "../../domain/meter/catalogue.ts";
import { noneValue, otherValue } from "../../domain/meter/dimension.ts";
import { microsToDecimal } from "../../domain/meter/quantity.ts";
import type { ReportPeriod } from "../../domain/meter/usage_period.ts";
import type { ChosenOutcome, Outcome } from "../../domain/meter/outcome.ts";
import { noPart, percentChange } from "../../domain/meter/usage_report.ts";
import type { UsageWindow, WindowUnit } from "../../domain/meter/usage_window.ts";
import { isoTimeIn } from "../../domain/time.ts";
import type { ExplorerGroup, ExplorerNumbers, ReportNumbers } from "../../services/meter/jobs/mod.ts";
import { wideBarsMax } from "../../views/components/chart_geometry.ts";
import { chartOf, seriesColor } from "../../views/components/chart_props.ts";
import type { MetricTotal } from "../../views/components/metric_strip.tsx";
import { operatorRecordsName } from "../../views/meter/record_table.tsx";
import type { UsageReport } from "../../views/meter/explorer.tsx";
import {
  filteredHref,
  isPropertyName,
  propertyTitle,
  type UsageAddress,
  usageHref,
  type UsageStackName,
} from "../../views/meter/usage_address.ts";
import type { BreakdownProps } from "../../views/meter/usage_tables.tsx";
import { outcomeWords } from "../../views/text/outcome.ts";
import { daysWords, shortDaysWords, zoneWords } from "../../views/text/zone.ts";

/** A key that usage is of. */
export interface ReportKey {
  readonly id: string;
  readonly name: string;
  readonly revokedAt?: number | null;
  readonly expiresAt?: number | null;
}

interface ReportOptions {
  readonly period: ReportPeriod;
  readonly address: UsageAddress;
  readonly timezone: string;
  readonly now: number;
  readonly keys: readonly ReportKey[];
}

/** Metrics with a place above the chart. */
const stripMax = 8;

type Numbers = ExplorerNumbers & { readonly report: NonNullable<ExplorerNumbers["report"]> };

/** The names of groups in addresses. */
const stackNames = {
  productSlug: "product",
  apiKey: "key",
  organization: "organization",
  outcome: "outcome",
} as const;
const groups = {
  product: "productSlug",
  key: "apiKey",
  organization: "organization",
  outcome: "outcome",
} as const;

/** In place of a metric in the tab of outcomes. */
const requests: CatalogueMetric = { slug: "", name: "Requests", unit: null };

/** Returns the subject of numbers that a tab of the address has. */
export function groupOf(stack: UsageStackName): ExplorerGroup {
  return isPropertyName(stack) ? stack : groups[stack];
}

export function stackOf(group: ExplorerGroup): UsageStackName {
  return isPropertyName(group) ? group : stackNames[group];
}

/** A subject that usage can be split by. */
interface Subject {
  readonly label: string;
  /** Undefined for the name that the numbers have. */
  readonly nameOf: (id: string) => string | undefined;
  /** The name of usage without an id. */
  readonly noName?: string;
  /** The filters that select a line's usage only. */
  readonly filtersOf: (id: string) => Parameters<typeof filteredHref>[1];
  /** A state that stands out, such as `Revoked`. */
  readonly stateOf?: (id: string) => string | null;
}

function subjectOf(
  group: ExplorerGroup,
  { catalogue, keys, now }: Pick<ReportOptions, "keys" | "now"> & { readonly catalogue: Catalogue },
): Subject {
  if (isPropertyName(group)) {
    const names = new Map([[noneValue, "Not set"], [otherValue, "Other values"]]);
    return {
      label: propertyTitle(group),
      nameOf: (value) => names.get(value),
      filtersOf: (value) => ({ [group]: value }),
    };
  }
  const keyOf = (id: string) => keys.find((key) => key.id === id);
  return {
    productSlug: {
      label: "Product",
      nameOf: (slug: string) => productOf(catalogue, slug).name,
      filtersOf: (productSlug: string) => ({ productSlug }),
    },
    apiKey: {
      label: "API key",
      nameOf: (id: string) => keyOf(id)?.name,
      noName: operatorRecordsName,
      filtersOf: (apiKey: string) => ({ apiKey }),
      stateOf: (id: string) => stateOf(keyOf(id), now),
    },
    organization: {
      label: "Organization",
      nameOf: () => undefined,
      noName: "Deleted organizations",
      filtersOf: (organizationId: string) => ({ organizationId, apiKey: null }),
    },
    outcome: {
      label: "Outcome",
      nameOf: (id: string) => outcomeWords[id as Outcome],
      filtersOf: (outcome: string) => ({ outcome: outcome as Outcome }),
    },
  }[group];
}

function stateOf(key: ReportKey | undefined, now: number): string | null {
  if (key?.revokedAt) return "Revoked";
  return key?.expiresAt && key.expiresAt <= now ? "Expired" : null;
}

export function reportOf(numbers: Numbers, options: ReportOptions): UsageReport {
  const { catalogue, metric, report } = numbers;
  const { period, timezone, now, address } = options;
  const isOfOutcomes = report.stacked === "outcome";
  const measure = isOfOutcomes ? requests : metricOf(catalogue, metric ?? "");
  const subject = subjectOf(report.stacked, { ...options, catalogue });
  const [first] = report.tables;
  const table = tableOf(numbers, { ...options, group: report.stacked });
  const isDense = report.windows.length > wideBarsMax;
  return {
    strip: { metrics: stripOf(numbers, address), period: comparedWords(options) },
    chart: (isOfOutcomes ? table.all : report.total.records) === 0 ? null : chartOf(report.stack, {
      measure,
      by: report.unit,
      period: `${daysWords(period, timezone)}, ${zoneWords(timezone)}`,
      windows: report.windows,
      before: report.before && { ...report.before, period: shortDaysWords(period.before, timezone, now) },
      timezone,
      now,
      numbersHref: isDense && !address.hasNumbers ? usageHref({ ...address, hasNumbers: true }) : undefined,
      series: (part) => ({
        name: part === noPart
          ? subject.noName ?? part
          : subject.nameOf(part) ?? report.names.get(part) ?? part,
        ...(report.stacked === "productSlug" && { color: productOf(catalogue, part).color }),
        ...(part !== noPart && { href: filteredHref(address, subject.filtersOf(part)) }),
      }),
      hrefOf: (window) => windowHref(window, { unit: report.unit, address, timezone }),
    }),
    tabs: report.tables.map(({ group, all }) => ({
      href: stackHref(address, group === first?.group ? null : stackOf(group)),
      label: subjectOf(group, { ...options, catalogue }).label,
      count: all,
      isCurrent: group === report.stacked,
    })),
    table,
    isComplete: isOfOutcomes || report.total.isComplete,
    isOfOutcomes,
    rejected: report.rejected && !isOfOutcomes
      ? { count: report.rejected, href: stackHref(address, "outcome", "rejected") }
      : null,
  };
}

/**
 * Returns the table of a group. The lines of the one that the chart stacks have its colors.
 *
 * @param options `hrefOf`: the page of a line; by default, that of its usage only.
 */
export function tableOf(
  { catalogue, metric, report }: Numbers,
  { group, address, hrefOf, ...options }: Pick<ReportOptions, "address" | "keys" | "now"> & {
    readonly group: ExplorerGroup;
    readonly hrefOf?: (id: string) => string;
  },
): BreakdownProps {
  const subject = subjectOf(group, { ...options, catalogue });
  const linkOf = hrefOf ?? ((id: string) => filteredHref(address, subject.filtersOf(id)));
  const { lines = [], all = 0, page = 1, pages = 1 } = report.tables.find((one) => one.group === group) ?? {};
  const colorOf = (id: string | null) =>
    group === "productSlug"
      ? productOf(catalogue, id ?? "").color
      : seriesColor(report.stack.series.indexOf(id ?? noPart));
  const pageHref = (page: number) => usageHref({ ...address, page: page === 1 ? null : page });
  return {
    column: subject.label,
    measure: group === "outcome" ? requests : metricOf(catalogue, metric ?? ""),
    lines: lines.map(({ id, name, sum, share, change }) => ({
      ...{ sum, share, change },
      name: id === null ? subject.noName ?? "" : subject.nameOf(id) ?? name ?? id,
      href: id === null ? null : linkOf(id),
      state: id === null ? null : subject.stateOf?.(id) ?? null,
      ...(group === report.stacked && { color: colorOf(id) }),
    })),
    all,
    newerHref: page === 1 ? null : pageHref(page - 1),
    olderHref: page === pages ? null : pageHref(page + 1),
  };
}

/** Returns the page with another tab. */
function stackHref(
  address: UsageAddress,
  stack: UsageAddress["stack"],
  outcome: ChosenOutcome | null = null,
) {
  return filteredHref({ ...address, stack }, { outcome });
}

/** Returns the choices of the filters by property: the most used values, and the chosen one. */
export function propertyChoices(
  { report }: Pick<ExplorerNumbers, "report">,
  filters: UsageAddress["filters"],
) {
  const tables = report?.tables ?? [];
  const names = [...tables.map(({ group }) => group), ...Object.keys(filters)].filter(isPropertyName);
  return [...new Set(names)].map((name) => {
    const { lines = [] } = tables.find(({ group }) => group === name) ?? {};
    const values = new Set([...lines.map(({ id }) => id), filters[name]].filter((id) => !!id));
    return {
      name,
      values: [...values].map((value) => ({
        value: value ?? "",
        label: value === noneValue ? "Not set" : value ?? "",
      })),
    };
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
  const isOfOutcomes = report.stacked === "outcome";
  const ofMetrics = isOfOutcomes ? { ...address, stack: null } : address;
  return metricsInOrder(catalogue, all).map((one) => ({
    metric: metricOf(catalogue, one.metric),
    total: microsToDecimal(one.micros),
    change: percentChange(one.micros, one.before),
    href: filteredHref(ofMetrics, { metric: one.metric, outcome: null }),
    isChosen: one.metric === metric && !isOfOutcomes,
  }));
}

/** Returns the page of a bar: the hours of a day or of a part of it, the days of a week or month. */
function windowHref(
  { start, end }: UsageWindow,
  { unit, address, timezone }: { unit: WindowUnit; address: UsageAddress; timezone: string },
): string | undefined {
  if (unit === "hour") return undefined;
  const [from = "", to = ""] = [start, end - 1].map((ms) => isoTimeIn(ms, timezone).slice(0, 10));
  return usageHref({ ...address, range: "custom", days: { from, to }, window: null, page: null });
}
