// The usage of some organizations this month, in UTC, read by the reports thread.
import { findBusiestTotals, isKnownMetric, sumWindows } from "../../../db/meter/mod.ts";
import type { NumberedRow } from "../../../db/console/organizations.ts";
import { validationError } from "../../../domain/errors.ts";
import { overviewSeriesMax } from "../../../domain/limits.ts";
import { keyUsageDays, keyUsagePeriod } from "../../../domain/meter/key_usage.ts";
import { monthSoFar } from "../../../domain/meter/month_so_far.ts";
import { microsToDecimal, microsToNumber, sumMicros } from "../../../domain/meter/quantity.ts";
import type { UsageWindow } from "../../../domain/meter/usage_window.ts";
import type { ListedOrganization } from "../../../domain/console/organization.ts";
import type { JobContext, JobTime } from "../../reports/job_context.ts";

/** Organizations whose usage is read at a time, with and without days. */
const [stepWithDays, stepOfMonths] = [10, 50];
const dayMs = 86_400_000;

/** Returns the metrics with the most records in the two months, most first, with the chosen one before them. */
export async function readMetrics(
  { database }: JobContext,
  { metric, now }: JobTime & { readonly metric?: string | undefined },
): Promise<string[]> {
  const { number } = monthSoFar(now);
  const totals = await findBusiestTotals(database, {
    months: [number - 1, number],
    limit: overviewSeriesMax,
  });
  return [...new Set([...(metric === undefined ? [] : [metric]), ...totals.map(({ metric }) => metric)])];
}

/** @throws {AppError} `validation_failed` for an unknown metric. */
export async function requireMetric(
  context: JobContext,
  input: JobTime & { readonly metric?: string | undefined },
): Promise<string | null> {
  const { metric } = input;
  if (metric !== undefined && !await isKnownMetric(context.database, metric)) {
    throw validationError([{
      path: "metric",
      message: "must be a metric of a product, or one that was recorded.",
    }]);
  }
  const [chosen = null] = await readMetrics(context, input);
  return chosen;
}

interface OrganizationUsage {
  readonly micros: bigint;
  readonly previousMicros: bigint;
  /** The quantity of each of the last 30 days, today last; empty unless they were asked for. */
  readonly days: readonly number[];
}

/** Returns a function that returns the usage of an organization; null before anything was recorded. */
export async function readMonthUsage(
  { database, pause }: JobContext,
  { rows, metric, now, hasDays = false }: JobTime & {
    rows: readonly Pick<NumberedRow, "number">[];
    metric: string | null;
    hasDays?: boolean;
  },
): Promise<(row: Pick<NumberedRow, "number">) => OrganizationUsage | null> {
  if (metric === null) return () => null;
  const month = monthSoFar(now);
  const windows = [month, month.before, ...hasDays ? dayWindows(now) : []];
  const numbers = rows.map(({ number }) => number);
  const sums = new Map(numbers.map((number) => [number, windows.map(() => 0n)]));
  const step = hasDays ? stepWithDays : stepOfMonths;
  for (let from = 0; from < numbers.length; from += step) {
    const organizations = numbers.slice(from, from + step);
    for (const row of await sumWindows(database, windows, { organizations, metric })) {
      const all = sums.get(row.organization) ?? [];
      all[row.position] = (all[row.position] ?? 0n) + sumMicros(row);
    }
    await pause();
  }
  return ({ number }) => {
    const [micros = 0n, previousMicros = 0n, ...days] = sums.get(number) ?? [];
    return { micros, previousMicros, days: days.map(microsToNumber) };
  };
}

function dayWindows(now: number): UsageWindow[] {
  const { start } = keyUsagePeriod(now, "UTC");
  return Array.from({ length: keyUsageDays }, (_, day) => ({
    start: start + day * dayMs,
    end: start + (day + 1) * dayMs,
  }));
}

export function monthUsage(
  metric: string | null,
  usage: OrganizationUsage | null,
): ListedOrganization["usage"] {
  if (metric === null || usage === null) return null;
  return { metric, sum: microsToDecimal(usage.micros), previousSum: microsToDecimal(usage.previousMicros) };
}
