// What the usage page shows of an organization's sums: values of the service in, values of the view out.
import { percentChange, reportChart, reportKeys, reportTotals } from "../../domain/usage_report.ts";
import type { ReportPeriod } from "../../domain/usage_period.ts";
import { isoTime, type UsageWindow, type WindowUnit } from "../../domain/usage_window.ts";
import type { UsageSums } from "../../services/usage.ts";
import { daysWords, windowNames, zoneWords } from "../../views/text/zone.ts";
import { type UsageAddress, type UsageChoices, usageHref, type UsageReport } from "../../views/usage.tsx";

const activeKeysShown = 5;

type Filters = UsageAddress["filters"];

/** What an organization has recorded with. */
export interface Known {
  readonly series: readonly {
    readonly productSlug: string;
    readonly metric: string;
    readonly apiKeyId: string;
  }[];
  /** Names of keys by their ids, no two alike. */
  readonly keyNames: ReadonlyMap<string, string>;
}

/** What was read of one range. */
export interface ReportSums {
  /** How long the windows of the chart are. */
  readonly unit: WindowUnit;
  /** By product, in the windows of the chart. */
  readonly byProduct: UsageSums;
  /** By key, in any windows. */
  readonly byKey: UsageSums;
  /** Of the stretch that the range is compared with. */
  readonly before: UsageSums;
}

/**
 * @param options `now`: milliseconds since 1970.
 * @returns What the page shows of them.
 */
export function reportOf(
  sums: ReportSums,
  options: { period: ReportPeriod; address: UsageAddress; known: Known; now: number },
): UsageReport {
  const { period, address, known, now } = options;
  const { timezone, filters } = address;
  const { range } = sums.byProduct;
  const byProduct = sums.byProduct.data.map((sum) => ({ ...sum, productSlug: sum.productSlug ?? "" }));
  const totals = reportTotals(byProduct);
  const chart = reportChart(byProduct, range.windows.length);
  const names = windowNames(range.windows, { unit: sums.unit, timezone, now });
  const nameAt = (position: number) => names[position] ?? { label: "", name: "", startsDay: false };
  const keys = reportKeys(
    sums.byKey.data.map((sum) => ({ ...sum, apiKeyId: sum.apiKey ?? "" })),
    activeKeysShown,
  );
  const unit = filters.metric ?? "records";
  const { busiest } = totals;
  const busiestName = busiest === null ? null : nameAt(busiest.position).name;
  return {
    figures: {
      sum: totals.sum,
      metricLabel: unit,
      count: totals.count,
      busiest: busiest === null || busiestName === null ? null : { label: busiestName, value: busiest.sum },
      activeKeys: keys.keys,
      change: {
        percent: percentChange(totals.micros, reportTotals(sums.before.data).micros),
        than: address.range === "24h" ? "the 24 hours before" : daysWords(period.before, timezone),
        isRunning: period.compared.end !== period.before.end,
      },
    },
    chart: {
      title: `${unit} by ${sums.unit}, ${daysWords(period, timezone)}, ${zoneWords(timezone)}`,
      description: [
        chart.series.length > 1 ? `Bars of ${chart.series.join(", ")}, one on the other.` : "Bars.",
        busiestName === null ? "" : `The highest is ${busiestName}.`,
        "The table below has the same numbers.",
      ].filter((sentence) => sentence !== "").join(" "),
      windows: chart.windows.map((window, position) => ({ ...nameAt(position), ...window })),
      series: chart.series,
      unit,
      by: sums.unit,
    },
    keys: {
      keys: keys.most.map(({ apiKeyId, ...key }) => ({
        ...key,
        name: known.keyNames.get(apiKeyId) ?? apiKeyId,
        href: usageHref({ ...address, filters: { ...filters, apiKey: apiKeyId } }),
      })),
      others: keys.others,
      unit,
    },
    csvHref: csvHref(period, { address, unit: sums.unit }),
  };
}

/** The same sums as a file, from `GET /api/portal/usage.csv`. */
function csvHref(
  period: UsageWindow,
  { address: { filters, timezone }, unit }: { address: UsageAddress; unit: WindowUnit },
): string {
  const query = new URLSearchParams({ ...span(period), window: unit, timezone });
  for (const [name, value] of Object.entries(filters)) if (value !== null) query.set(name, value);
  query.set("groupBy", "productSlug,metric");
  return `/api/portal/usage.csv?${query}`;
}

/** @returns A stretch of time as the API takes it. */
export function span({ start, end }: UsageWindow): { from: string; to: string } {
  return { from: isoTime(start), to: isoTime(end) };
}

/** @returns The series of a product and a key; null for any. */
export function fittingSeries(
  series: Known["series"],
  { productSlug, apiKey }: Pick<Filters, "productSlug" | "apiKey">,
): Known["series"] {
  return series.filter((one) =>
    (productSlug === null || one.productSlug === productSlug) &&
    (apiKey === null || one.apiKeyId === apiKey)
  );
}

/** @returns What the form offers; metrics are those of the chosen product and key. */
export function choicesOf({ series, keyNames }: Known, filters: Filters): Omit<UsageChoices, "timezones"> {
  const fitting = fittingSeries(series, filters);
  const ids = new Set([
    ...series.map(({ apiKeyId }) => apiKeyId),
    ...filters.apiKey ? [filters.apiKey] : [],
  ]);
  return {
    products: distinct(series.map(({ productSlug }) => productSlug)),
    metrics: distinct(fitting.map(({ metric }) => metric)),
    apiKeys: [...ids].map((id) => ({ id, name: keyNames.get(id) ?? id }))
      .sort((a, b) => a.name < b.name ? -1 : 1),
  };
}

/** @returns Names of keys by their ids; keys of the same name are told apart by how they begin. */
export function keyNames(
  keys: readonly { id: string; name: string; keyPrefix: string }[],
): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const { name } of keys) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(
    keys.map(({ id, name, keyPrefix }) => [
      id,
      counts.get(name) === 1 ? name : `${name} (${keyPrefix.replace("service_live_", "")})`,
    ]),
  );
}

function distinct(values: readonly string[]): string[] {
  return [...new Set(values)].sort();
}
