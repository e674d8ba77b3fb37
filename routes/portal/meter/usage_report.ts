// The report of the usage page, from the service's numbers.
import { percentChange } from "../../../domain/meter/usage_report.ts";
import type { ReportPeriod } from "../../../domain/meter/usage_period.ts";
import type { WindowUnit } from "../../../domain/meter/usage_window.ts";
import { isoTime } from "../../../domain/time.ts";
import type { UsageOverview } from "../../../services/meter/usage_overview.ts";
import { daysWords, windowNames, zoneWords } from "../../../views/text/zone.ts";
import type { UsageReport } from "../../../views/meter/usage.tsx";
import { operatorRecordsName } from "../../../views/meter/usage_tables.tsx";
import { type UsageAddress, usageHref } from "../../../views/meter/usage_filters.tsx";

/** @param options `unit`: the length of the windows. `now`: milliseconds since 1970. */
export function reportOf(
  { range, totals, before, chart, keys }: NonNullable<UsageOverview["report"]>,
  options: {
    unit: WindowUnit;
    period: ReportPeriod;
    address: UsageAddress;
    keys: readonly { readonly id: string; readonly name: string }[];
    now: number;
    /** The file with the numbers. Default: that of the portal. */
    csv?: { readonly path: string; readonly groupBy: string };
  },
): UsageReport {
  const { period, address, now, unit: by } = options;
  const { timezone, filters } = address;
  const keyNames = new Map(options.keys.map(({ id, name }) => [id, name]));
  const names = windowNames(range.windows, { unit: by, timezone, now });
  const nameAt = (position: number) => names[position] ?? { label: "", name: "", startsDay: false };
  const unit = filters.metric ?? "records";
  const busiest = totals.busiest === null
    ? null
    : { label: nameAt(totals.busiest.position).name, value: totals.busiest.sum };
  return {
    figures: {
      sum: totals.sum,
      metricLabel: unit,
      recordCount: totals.count,
      busiest,
      activeKeys: keys.keys,
      change: {
        percent: percentChange(totals.micros, before),
        period: address.range === "24h" ? "the previous 24 hours" : daysWords(period.compared, timezone, now),
      },
    },
    chart: {
      title: `${unit} by ${by}, ${daysWords(period, timezone)}, ${zoneWords(timezone)}`,
      description: [
        chart.series.length > 1 ? `Stacked bars for ${chart.series.join(", ")}.` : "Bars.",
        ...(busiest === null ? [] : [`The highest is ${busiest.label}.`]),
        "The table below has the same numbers.",
      ].join(" "),
      windows: chart.windows.map((window, position) => ({ ...nameAt(position), ...window })),
      series: chart.series,
      unit,
      by,
    },
    keys: {
      keys: keys.most.map(({ apiKeyId, ...key }) => ({
        ...key,
        ...(apiKeyId === null ? { name: operatorRecordsName, href: null } : {
          name: keyNames.get(apiKeyId) ?? apiKeyId,
          href: usageHref({ ...address, filters: { ...filters, apiKey: apiKeyId } }),
        }),
      })),
      others: keys.others,
      unit,
    },
    csvHref: csvHref(period, { address, unit: by, csv: options.csv ?? portalCsv }),
  };
}

const portalCsv = { path: "/api/portal/usage.csv", groupBy: "productSlug,metric" };

/** The numbers of the chart as a file. */
function csvHref(
  { start, end }: ReportPeriod,
  { address: { filters, timezone }, unit, csv }: {
    address: UsageAddress;
    unit: WindowUnit;
    csv: { readonly path: string; readonly groupBy: string };
  },
): string {
  const query = new URLSearchParams({ from: isoTime(start), to: isoTime(end), window: unit, timezone });
  for (const [name, value] of Object.entries(filters)) if (value !== null) query.set(name, value);
  query.set("groupBy", csv.groupBy);
  return `${csv.path}?${query}`;
}
