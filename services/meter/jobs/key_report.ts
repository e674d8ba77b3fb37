// The use of one key with its rotations: today, its last usage and its last record.
import { findLastUsage } from "../../../db/meter/last_usage.ts";
import { metricOf, productOf } from "../../../domain/meter/catalogue.ts";
import type { KeyReport } from "../../../domain/meter/key_report.ts";
import { microsToDecimal } from "../../../domain/meter/quantity.ts";
import { startOf } from "../../../domain/meter/usage_window.ts";
import { isoTime, zonedTime } from "../../../domain/time.ts";
import type { JobContext, JobScope } from "../../reports/job_context.ts";
import { findCatalogue } from "./catalogue.ts";
import { readUsageRecordPage } from "./usage_record_list.ts";
import { readUsageSums } from "./usage_sums.ts";

export interface KeyReportQuery {
  readonly apiKeyId: string;
  /** The time zone of today, a known IANA name. */
  readonly timezone: string;
}

export async function readKeyReport(
  context: JobContext,
  { organizationId, now, apiKeyId, timezone }: JobScope & KeyReportQuery,
): Promise<KeyReport> {
  const ofKey = { organizationId, now, apiKey: [apiKeyId], mergeRotations: true };
  const catalogue = await findCatalogue(context, { organizationId });
  const today = startOf("day", zonedTime(now, timezone));
  const { data: sums } = await readUsageSums(context, {
    ...ofKey,
    timezone,
    from: isoTime(today.epochMilliseconds),
    to: isoTime(today.add({ days: 1 }).epochMilliseconds),
    window: "total",
    groupBy: ["metric"],
  });
  const [most] = sums.toSorted((a, b) => b.count - a.count);
  const { usageRecords: [lastRecord] } = await readUsageRecordPage(context, { ...ofKey, limit: 1 });
  const lastUsage = await findLastUsage(context.database, { organizationId, ids: [apiKeyId] });
  return {
    catalogue,
    lastUsageAt: lastUsage.get(apiKeyId) ?? null,
    lastRecord: lastRecord === undefined ? null : {
      product: productOf(catalogue, lastRecord.productSlug).name,
      metric: metricOf(catalogue, lastRecord.metric),
      quantity: lastRecord.quantity,
    },
    today: most === undefined
      ? null
      : { metric: metricOf(catalogue, most.metric ?? ""), total: microsToDecimal(most.micros) },
  };
}
