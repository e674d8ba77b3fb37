// The page of usage: totals, a chart, the latest records.
import type { Session } from "../../domain/session.ts";
import {
  percentChange,
  reportChart,
  reportPeriod,
  reportRanges,
  reportTotals,
} from "../../domain/usage_report.ts";
import { isoTime, type UsageWindow } from "../../domain/usage_window.ts";
import { exampleCurl } from "../../views/components/code.tsx";
import { dateRangeWords, windowWords } from "../../views/text/time.ts";
import type { Assets } from "../../views/layout.tsx";
import { usagePage } from "../../views/usage.tsx";
import type { App, AppContext, AppParts } from "../env.ts";
import { portalFrame, sendPage, signedIn } from "./page.ts";

const latestRecords = 10;

/** Mounts `/portal/usage`. */
export function portalUsageRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { usage, usageRecords, apiKeys, clock } = parts.services;

  app.get(
    "/portal/usage",
    signedIn(parts, async (c, session) => {
      const now = clock();
      const rangeId = reportRanges.find((range) => range === c.req.query("range")) ?? "month";
      const period = reportPeriod(rangeId, now);
      const series = await usage.listUsageSeries(session);
      const filters = await chosenFilters(c, session, { series, period });
      const selected = {
        productSlug: filters.productSlug ?? undefined,
        metric: filters.metric ?? undefined,
        apiKeyId: filters.apiKey ?? undefined,
      };
      const read = (window: UsageWindow, more: { groupBy?: ["productSlug" | "apiKey"] } = {}) =>
        usage.readUsage(session, {
          from: isoTime(window.start),
          to: isoTime(window.end),
          window: period.unit,
          ...selected,
          ...more,
        });
      const [byProduct, byKey, before, records, keys] = await Promise.all([
        read(period, { groupBy: ["productSlug"] }),
        read(period, { groupBy: ["apiKey"] }),
        read(period.before),
        usageRecords.listUsageRecords(session, { limit: latestRecords, ...selected }),
        apiKeys.listApiKeys(session, { limit: 100 }),
      ]);
      const sums = byProduct.data.map((sum) => ({ ...sum, productSlug: sum.productSlug ?? "" }));
      const totals = reportTotals(sums);
      const { series: names, values } = reportChart(sums, byProduct.range.windows.length);
      const unit = filters.metric ?? "records";
      const label = `${dateRangeWords(period)}, UTC`;
      const busiest = totals.busiest === null ? undefined : byProduct.range.windows[totals.busiest.position];
      return sendPage(
        c,
        usagePage({
          frame: portalFrame(parts, assets, session),
          range: { id: rangeId, label },
          filters,
          choices: {
            products: distinct(series.map(({ productSlug }) => productSlug)),
            metrics: distinct(series.map(({ metric }) => metric)),
            apiKeys: keys.apiKeys.map(({ id, name }) => ({ id, name })),
          },
          figures: {
            sum: totals.sum,
            metricLabel: unit,
            count: totals.count,
            busiest: busiest === undefined || totals.busiest === null ? null : {
              label: busiestWords(busiest.start, period.unit),
              value: totals.busiest.sum,
            },
            activeKeys: new Set(byKey.data.map(({ apiKey }) => apiKey)).size,
            change: {
              percent: percentChange(totals.micros, reportTotals(before.data).micros),
              than: dateRangeWords(period.before),
            },
          },
          chart: {
            title: `${unit} by ${period.unit}`,
            description: `Bars for each ${period.unit}, ${label}; the table below has the same numbers.`,
            windows: byProduct.range.windows.map(({ start }, position) => ({
              start: isoTime(start),
              label: windowWords(start, period.unit),
              values: values[position] ?? [],
            })),
            series: names,
            unit,
            by: period.unit,
          },
          records: records.usageRecords,
          example: series.length > 0
            ? null
            : { curl: exampleCurl(`${parts.config.baseUrl.origin}/api/v1/usage`, null) },
        }),
      );
    }),
  );

  /** Sums of different metrics mean nothing: without a choice, the metric with the most records is shown. */
  async function chosenFilters(
    c: AppContext,
    session: Session,
    known: { series: readonly { metric: string }[]; period: UsageWindow },
  ): Promise<{ productSlug: string | null; metric: string | null; apiKey: string | null }> {
    const given = (name: string) => c.req.query(name)?.slice(0, 100) || null;
    const chosen = { productSlug: given("productSlug"), metric: given("metric"), apiKey: given("apiKey") };
    if (chosen.metric !== null || known.series.length === 0) return chosen;
    const { data } = await usage.readUsage(session, {
      from: isoTime(known.period.start),
      to: isoTime(known.period.end),
      groupBy: ["metric"],
    });
    const counts = new Map<string, number>();
    for (const { metric = "", count } of data) counts.set(metric, (counts.get(metric) ?? 0) + count);
    const [most] = [...counts].sort(([, a], [, b]) => b - a);
    return { ...chosen, metric: most?.[0] ?? known.series[0]?.metric ?? null };
  }
}

function busiestWords(start: number, unit: "hour" | "day"): string {
  const day = windowWords(start, "day");
  return unit === "day" ? day : `${day}, ${windowWords(start, "hour")}`;
}

function distinct(values: readonly string[]): string[] {
  return [...new Set(values)].sort();
}
