// How many records some keys have, by window: the small charts on the page of keys.
import type { ReportContext, ReportScope } from "../reports/report_context.ts";
import { streamUsageSums, type UsageReadInput } from "./usage_sums.ts";

/** Counts of records by window. */
export interface UsageCounts {
  /** The first moment of each window, in milliseconds since 1970. */
  readonly starts: readonly number[];
  /** By key; a key without records is left out. */
  readonly counts: ReadonlyMap<string, readonly number[]>;
}

/** @returns The counts of the keys that are named. @throws {AppError} As `usageRange`. */
export async function countUsage(
  context: ReportContext,
  { apiKeyIds, ...input }: ReportScope & UsageReadInput & { readonly apiKeyIds: readonly string[] },
): Promise<UsageCounts> {
  const { range, parts } = await streamUsageSums(context, { ...input, groupBy: ["apiKey"] });
  const wanted = new Set(apiKeyIds);
  const counts = new Map<string, number[]>();
  for await (const part of parts()) {
    for (const { apiKey, position, count } of part) {
      if (apiKey === undefined || !wanted.has(apiKey)) continue;
      const ofKey = counts.get(apiKey) ?? range.windows.map(() => 0);
      ofKey[position] = count;
      counts.set(apiKey, ofKey);
    }
  }
  return { starts: range.windows.map(({ start }) => start), counts };
}
