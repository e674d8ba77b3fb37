// The usage of one key with its rotations, as its page shows it.
import { findNamedKey } from "../../../db/access/mod.ts";
import { findLastUsage } from "../../../db/meter/last_usage.ts";
import { type Catalogue, coloredProducts, metricOf, productOf } from "../../../domain/meter/catalogue.ts";
import type { KeyReport } from "../../../domain/meter/key_report.ts";
import { keyUsagePeriod } from "../../../domain/meter/key_usage.ts";
import { microsToDecimal } from "../../../domain/meter/quantity.ts";
import { percentChange, percentOf, reportStack } from "../../../domain/meter/usage_report.ts";
import { isoTime } from "../../../domain/time.ts";
import type { JobContext, JobScope } from "../../reports/job_context.ts";
import { findCatalogue } from "./catalogue.ts";
import { readMetricTotals } from "./metric_totals.ts";
import { readUsageRecordPage } from "./usage_record_list.ts";
import { readUsageSums } from "./usage_sums.ts";

export interface KeyReportQuery {
  readonly apiKeyId: string;
  /** The metric to draw; the one with the most records if it is null or was not used. */
  readonly metric: string | null;
  /** The time zone of the days, a known IANA name. */
  readonly timezone: string;
}

/** Reads the last 30 days with today, compared with the 30 days before them. */
export async function readKeyReport(
  context: JobContext,
  { organizationId, now, apiKeyId, metric: wanted, timezone }: JobScope & KeyReportQuery,
): Promise<KeyReport> {
  const scope = { organizationId, now };
  const { start, end } = keyUsagePeriod(now, timezone);
  const compared = { start: start - (end - start), end: start - (end - now) };
  const period = { start, end, compared };
  const totals = await readMetricTotals(context, { ...scope, period, apiKeyId });
  const { data: sums } = await readUsageSums(context, {
    ...scope,
    from: isoTime(start),
    to: isoTime(end),
    window: "total",
    groupBy: ["metric"],
    environment: (await findNamedKey(context.database, { id: apiKeyId, organizationId }))?.environment ??
      "live",
    metric: totals.map(({ metric }) => metric),
  });
  const ofAllKeys = new Map(sums.map(({ metric, micros }) => [metric, micros]));
  const catalogue = await findCatalogue(context, { organizationId });
  const main = totals.find(({ metric }) => metric === wanted) ?? totals[0];
  const { usageRecords: [lastRecord] } = await readUsageRecordPage(context, {
    ...scope,
    apiKey: [apiKeyId],
    mergeRotations: true,
    limit: 1,
  });
  const lastUsage = await findLastUsage(context.database, { organizationId, ids: [apiKeyId] });
  return {
    catalogue,
    lastUsageAt: lastUsage.get(apiKeyId) ?? null,
    metrics: totals.map(({ metric, micros, before }) => ({
      ...metricOf(catalogue, metric),
      total: microsToDecimal(micros),
      change: percentChange(micros, before),
      share: percentOf(micros, ofAllKeys.get(metric) ?? 0n),
    })),
    lastRecord: lastRecord === undefined ? null : {
      product: productOf(catalogue, lastRecord.productSlug).name,
      metric: metricOf(catalogue, lastRecord.metric),
      quantity: lastRecord.quantity,
    },
    chart: main === undefined ? null : await readChart(
      context,
      { ...scope, apiKeyId, metric: main.metric, timezone, start, end },
      catalogue,
    ),
  };
}

async function readChart(
  context: JobContext,
  { apiKeyId, metric, start, end, ...scope }: JobScope & {
    apiKeyId: string;
    metric: string;
    timezone: string;
    start: number;
    end: number;
  },
  catalogue: Catalogue,
): Promise<KeyReport["chart"]> {
  const { range: { windows }, data } = await readUsageSums(context, {
    ...scope,
    from: isoTime(start),
    to: isoTime(end),
    window: "day",
    groupBy: ["productSlug"],
    apiKey: [apiKeyId],
    metric: [metric],
    mergeRotations: true,
  });
  const sums = data.map(({ position, productSlug = "", micros }) => ({
    position,
    part: productSlug,
    micros,
  }));
  const today = sums.filter(({ position }) => position === windows.length - 1);
  const parts = new Set(sums.map(({ part }) => part));
  return {
    metric: metricOf(catalogue, metric),
    windows,
    stack: reportStack(sums, { windows: windows.length, named: coloredProducts(catalogue) }),
    products: new Map([...parts].map((slug) => [slug, productOf(catalogue, slug)])),
    today: microsToDecimal(today.reduce((sum, { micros }) => sum + micros, 0n)),
  };
}
