// The usage of some organizations this month, in UTC, read by the reports thread.
import {
  findBusiestTotals,
  isKnownMetric,
  type SignedWindow,
  sumOrganizations,
} from "../../../db/meter/mod.ts";
import type { NumberedRow } from "../../../db/console/organizations.ts";
import { validationError } from "../../../domain/errors.ts";
import { overviewSeriesMax } from "../../../domain/limits.ts";
import { keyUsageDays, keyUsagePeriod } from "../../../domain/meter/key_usage.ts";
import { type MonthSoFar, monthSoFar } from "../../../domain/meter/month_so_far.ts";
import { microsToDecimal, microsToNumber, sumMicros } from "../../../domain/meter/quantity.ts";
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

const monthPositions = { now: 0, before: 1 } as const;
/** The positions of the days of a trend. */
const firstDay = 2;

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
    rows: readonly NumberedRow[];
    metric: string | null;
    hasDays?: boolean;
  },
): Promise<(row: NumberedRow) => OrganizationUsage | null> {
  if (metric === null) return () => null;
  const days = hasDays ? dayWindows(now) : [];
  const windows = [...monthWindows(monthSoFar(now)), ...days];
  const sums = new Map<number, { months: [bigint, bigint]; days: number[] }>();
  const numbers = rows.map(({ number }) => number);
  for (const number of numbers) sums.set(number, { months: [0n, 0n], days: days.map(() => 0) });
  const step = hasDays ? stepWithDays : stepOfMonths;
  for (let from = 0; from < numbers.length; from += step) {
    const organizations = numbers.slice(from, from + step);
    for (
      const { key, position, ...parts } of await sumOrganizations(database, {
        organizations,
        metric,
        windows,
      })
    ) {
      const of = sums.get(key);
      const micros = sumMicros(parts);
      if (position >= firstDay) of?.days.splice(position - firstDay, 1, microsToNumber(micros));
      else of?.months.splice(position, 1, micros);
    }
    await pause();
  }
  return ({ number }) => {
    const { months: [micros, previousMicros] = [0n, 0n], days = [] } = sums.get(number) ?? {};
    return { micros, previousMicros, days };
  };
}

function monthWindows({ start, end, before }: MonthSoFar): SignedWindow[] {
  return [
    { position: monthPositions.now, sign: 1, start, end },
    ...before.map((window) => ({ position: monthPositions.before, ...window })),
  ];
}

function dayWindows(now: number): SignedWindow[] {
  const { start } = keyUsagePeriod(now, "UTC");
  return Array.from({ length: keyUsageDays }, (_, day) => ({
    position: firstDay + day,
    sign: 1,
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
