// The usage of one key with its rotations, as its page shows it.
import { findNamedKey } from "../../../db/access/mod.ts";
import { findLastUsage } from "../../../db/meter/last_usage.ts";
import { metricOf, productOf } from "../../../domain/meter/catalogue.ts";
import type { KeyReport } from "../../../domain/meter/key_report.ts";
import { keyUsagePeriod } from "../../../domain/meter/key_usage.ts";
import { microsToDecimal } from "../../../domain/meter/quantity.ts";
import { percentChange, percentOf } from "../../../domain/meter/usage_report.ts";
import { isoTime } from "../../../domain/time.ts";
import type { JobContext, JobScope } from "../../reports/job_context.ts";
import { readUsageRecordPage } from "./usage_record_list.ts";
import { readUsageReport } from "./usage_report.ts";
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
  const { catalogue, metrics, report } = await readUsageReport(context, {
    ...{ ...scope, period, timezone, metric: wanted, filter: { apiKey: [apiKeyId] } },
    ...{ unit: "day", group: null, stack: "productSlug", pages: { products: 1, groups: 1 } },
  });
  const { data: sums } = await readUsageSums(context, {
    ...scope,
    from: isoTime(start),
    to: isoTime(end),
    window: "total",
    groupBy: ["metric"],
    environment: (await findNamedKey(context.database, { id: apiKeyId, organizationId }))?.environment ??
      "live",
    metric: metrics.map(({ metric }) => metric),
  });
  const ofAllKeys = new Map(sums.map(({ metric, micros }) => [metric, micros]));
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
    metrics: metrics.map(({ metric, micros, before }) => ({
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
    chart: report && {
      metric: metricOf(catalogue, report.total.metric),
      windows: report.windows,
      stack: report.stack,
      today: report.stack.windows.at(-1)?.total ?? "0",
    },
  };
}
