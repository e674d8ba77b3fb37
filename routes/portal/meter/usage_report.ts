// What the usage page shows of an organization's sums: values of the service in, values of the view out.
import { percentChange } from "../../../domain/meter/usage_report.ts";
import type { ReportPeriod } from "../../../domain/meter/usage_period.ts";
import { isoTime, type UsageWindow, type WindowUnit } from "../../../domain/meter/usage_window.ts";
import type { UsageOverview } from "../../../services/meter/usage_overview.ts";
import { daysWords, windowNames, zoneWords } from "../../../views/text/zone.ts";
import { type UsageAddress, usageHref, type UsageReport } from "../../../views/meter/usage.tsx";

/**
 * @param options `now`: milliseconds since 1970.
 * @returns What the page shows of them.
 */
export function reportOf(
  { range, totals, before, chart, keys }: NonNullable<UsageOverview["report"]>,
  options: {
    by: WindowUnit;
    period: ReportPeriod;
    address: UsageAddress;
    keys: readonly { readonly id: string; readonly name: string }[];
    now: number;
  },
): UsageReport {
  const { period, address, now, by } = options;
  const { timezone, filters } = address;
  const keyNames = new Map(options.keys.map(({ id, name }) => [id, name]));
  const names = windowNames(range.windows, { unit: by, timezone, now });
  const nameAt = (position: number) => names[position] ?? { label: "", name: "", startsDay: false };
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
        percent: percentChange(totals.micros, before),
        than: address.range === "24h" ? "the 24 hours before" : daysWords(period.before, timezone),
        isRunning: period.compared.end !== period.before.end,
      },
    },
    chart: {
      title: `${unit} by ${by}, ${daysWords(period, timezone)}, ${zoneWords(timezone)}`,
      description: [
        chart.series.length > 1 ? `Bars of ${chart.series.join(", ")}, one on the other.` : "Bars.",
        busiestName === null ? "" : `The highest is ${busiestName}.`,
        "The table below has the same numbers.",
      ].filter((sentence) => sentence !== "").join(" "),
      windows: chart.windows.map((window, position) => ({ ...nameAt(position), ...window })),
      series: chart.series,
      unit,
      by,
    },
    keys: {
      keys: keys.most.map(({ apiKeyId, ...key }) => ({
        ...key,
        name: keyNames.get(apiKeyId) ?? apiKeyId,
        href: usageHref({ ...address, filters: { ...filters, apiKey: apiKeyId } }),
      })),
      others: keys.others,
      unit,
    },
    csvHref: csvHref(period, { address, unit: by }),
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

function span({ start, end }: UsageWindow): { from: string; to: string } {
  return { from: isoTime(start), to: isoTime(end) };
}
