// The last 30 days of keys or organizations, for the small charts in tables of usage pages.
import type { UsageFilter } from "../../../db/meter/usage_sums.ts";
import { keyUsagePeriod } from "../../../domain/meter/key_usage.ts";
import { microsToNumber } from "../../../domain/meter/quantity.ts";
import { isoTime } from "../../../domain/time.ts";
import type { JobContext } from "../../reports/job_context.ts";
import { readUsageSums, type UsageScope } from "./usage_sums.ts";

/**
 * Returns the quantities of the last 30 days by id, today last.
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
): Promise<Map<string, number[]>> {
  const trends = new Map<string, number[]>();
  if (ids.length === 0) return trends;
  const { start, end } = keyUsagePeriod(scope.now, timezone);
  const { data, range } = await readUsageSums(context, {
    ...scope,
    timezone,
    from: isoTime(start),
    to: isoTime(end),
    window: "day",
    groupBy: [group],
    ...filter,
    ...(group === "apiKey" ? { apiKey: ids } : { organizationIds: ids }),
    mergeRotations: true,
  });
  for (const { apiKey, organizationId, position, micros } of data) {
    const id = group === "apiKey" ? apiKey : organizationId;
    if (!id) continue;
    const values = trends.get(id) ?? range.windows.map(() => 0);
    values[position] = microsToNumber(micros);
    trends.set(id, values);
  }
  return trends;
}
