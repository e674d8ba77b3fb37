// The usage of keys and organizations in the last 30 days.
import type { Environment } from "../../../domain/environment.ts";
import { findLastUsage } from "../../../db/meter/last_usage.ts";
import type { UsageFilter } from "../../../db/meter/usage_sums.ts";
import { type KeyUsage, keyUsagePeriod } from "../../../domain/meter/key_usage.ts";
import { metricOf } from "../../../domain/meter/catalogue.ts";
import { microsToNumber } from "../../../domain/meter/quantity.ts";
import { isoTime } from "../../../domain/time.ts";
import type { JobContext, JobScope } from "../../reports/job_context.ts";
import { findCatalogue } from "./catalogue.ts";
import { streamUsageSums, type UsageScope } from "./usage_sums.ts";

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
    readLastDays(context, { organizationId, now }, {
      ...{ group: "apiKey", timezone, window, filter: { apiKey: apiKeyIds, environment } },
    });
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

/**
 * Returns the quantities of the last 30 days by id, today last, for the small charts of tables.
 *
 * @param options `group`: the subject of the ids. `filter`: with one metric.
 */
export async function readTrends(
  context: JobContext,
  scope: UsageScope,
  { group, ids, timezone, filter }: {
    group: "apiKey" | "organization";
    ids: readonly string[];
    timezone: string;
    filter: UsageFilter;
  },
): Promise<Map<string, readonly number[]>> {
  if (ids.length === 0) return new Map();
  const usage = group === "apiKey"
    ? await readLastDays(context, scope, { group, timezone, filter: { ...filter, apiKey: ids } })
    : await readLastDays(context, { ...scope, organizationIds: ids }, { group, timezone, filter });
  return new Map(
    [...usage].flatMap(([id, metrics]) => [...metrics.values()].map(({ values }) => [id, values])),
  );
}

/** Sums the last 30 days by the ids of keys or organizations, then by metric. */
async function readLastDays(
  context: JobContext,
  scope: UsageScope,
  { group, timezone, window = "day", filter }: {
    group: "apiKey" | "organization";
    timezone: string;
    window?: "day" | "total";
    filter: UsageFilter;
  },
): Promise<Map<string, Map<string, Sums>>> {
  const { start, end } = keyUsagePeriod(scope.now, timezone);
  const usage = new Map<string, Map<string, Sums>>();
  const { range, batches } = await streamUsageSums(context, {
    ...scope,
    ...filter,
    timezone,
    from: isoTime(start),
    to: isoTime(end),
    window,
    groupBy: ["metric", group],
    mergeRotations: true,
  });
  for await (const batch of batches()) {
    for (const { apiKey, organizationId, metric, position, micros, count } of batch) {
      const id = group === "apiKey" ? apiKey : organizationId;
      if (!id || metric === undefined) continue;
      const metrics = usage.get(id) ?? new Map<string, Sums>();
      usage.set(id, metrics);
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
