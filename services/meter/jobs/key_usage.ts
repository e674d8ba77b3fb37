// The usage of keys in the last 30 days.
import type { Environment } from "../../../domain/environment.ts";
import { findLastUsage } from "../../../db/meter/last_usage.ts";
import type { UsageFilter } from "../../../db/meter/usage_sums.ts";
import { type KeyUsage, keyUsagePeriod } from "../../../domain/meter/key_usage.ts";
import { metricOf } from "../../../domain/meter/catalogue.ts";
import { microsToNumber } from "../../../domain/meter/quantity.ts";
import { isoTime } from "../../../domain/time.ts";
import type { JobContext, JobScope } from "../../reports/job_context.ts";
import { findCatalogue } from "./catalogue.ts";
import { streamUsageSums } from "./usage_sums.ts";

export interface KeyUsageQuery {
  /** Ids of keys; undefined for all keys of the organization. */
  readonly apiKeyIds?: readonly string[] | undefined;
  /** The time zone of the days, a known IANA name; UTC by default. */
  readonly timezone?: string | undefined;
  /** `total`: all days together are the only value. */
  readonly window?: "day" | "total";
}

/** Reads the usage of keys, with those that they replaced, by the id of the current one; without keys that have none. */
export async function sumKeyUsage(
  context: JobContext,
  { organizationId, now, apiKeyIds, timezone = "UTC", window = "day" }: JobScope & KeyUsageQuery,
): Promise<Map<string, KeyUsage>> {
  const read = (environment?: Environment) =>
    readLastDays(context, { organizationId, now, apiKey: apiKeyIds, environment, timezone, window });
  // Named keys may be of both environments.
  const usage = apiKeyIds === undefined ? [...await read("live"), ...await read("test")] : [...await read()];
  const catalogue = await findCatalogue(context, { organizationId });
  const main = (metrics: ReadonlyMap<string, Sums>): KeyUsage[] =>
    [...metrics].toSorted(mostRecordsFirst).slice(0, 1).map(([metric, sums]) => ({
      metric: metricOf(catalogue, metric),
      ...sums,
    }));
  return new Map(usage.flatMap(([id, metrics]) => main(metrics).map((ofKey) => [id, ofKey])));
}

/** Sums the last 30 days by the ids of keys, then by metric. */
async function readLastDays(
  context: JobContext,
  input: JobScope & UsageFilter & { readonly timezone: string; readonly window: "day" | "total" },
): Promise<Map<string, Map<string, Sums>>> {
  const { start, end } = keyUsagePeriod(input.now, input.timezone);
  const usage = new Map<string, Map<string, Sums>>();
  const { range, batches } = await streamUsageSums(context, {
    ...input,
    from: isoTime(start),
    to: isoTime(end),
    groupBy: ["metric", "apiKey"],
    mergeRotations: true,
  });
  for await (const batch of batches()) {
    for (const { apiKey, metric, position, micros, count } of batch) {
      if (!apiKey || metric === undefined) continue;
      const metrics = usage.get(apiKey) ?? new Map<string, Sums>();
      usage.set(apiKey, metrics);
      const sums = metrics.get(metric) ?? { micros: 0n, records: 0, values: range.windows.map(() => 0) };
      metrics.set(metric, sums);
      sums.micros += micros;
      sums.records += count;
      sums.values[position] = microsToNumber(micros);
    }
  }
  return usage;
}

/** Reads when keys had their last usage, by id; see {@linkcode findLastUsage}. */
export function readLastUsage(
  { database }: JobContext,
  { organizationId, apiKeyIds }: JobScope & { readonly apiKeyIds: readonly string[] },
): Promise<Map<string, number>> {
  return findLastUsage(database, { organizationId, ids: apiKeyIds });
}

interface Sums {
  micros: bigint;
  records: number;
  values: number[];
}

function mostRecordsFirst([metric, { records }]: [string, Sums], [other, sums]: [string, Sums]): number {
  return sums.records - records || (metric < other ? -1 : 1);
}
