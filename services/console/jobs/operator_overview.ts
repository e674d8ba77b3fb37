// The numbers of the operator's overview, in UTC, read by the reports thread.
import {
  countActiveOrganizations,
  countSeries,
  findBusiestTotals,
  findLastOrganizationNumber,
  findReachedLimits,
  findSuspended,
  findTopCustomers,
  type ReachedLimit,
  sumWindows,
  type WindowTotalRow,
} from "../../../db/meter/mod.ts";
import type { DatabaseReader } from "../../../db/engine/database.ts";
import {
  apiKeyUsedIntervalMs,
  overviewKeptMs,
  overviewSeriesMax,
  rollupQuarterMs,
} from "../../../domain/limits.ts";
import { microsToDecimal, sumMicros } from "../../../domain/meter/quantity.ts";
import { monthSoFar } from "../../../domain/meter/month_so_far.ts";
import { coloredProducts } from "../../../domain/meter/catalogue.ts";
import { percentChange, percentOf, reportStack } from "../../../domain/meter/usage_report.ts";
import { findCatalogue } from "../../meter/jobs/mod.ts";
import { inSteps, readLimitLevels } from "./organization_ranking.ts";
import { readRunningOut } from "./running_out.ts";
import type { JobContext, JobTime } from "../../reports/job_context.ts";

const dayMs = 86_400_000;
const topCustomersMax = 10;
const customerSeriesMax = 100;
const suspendedNamedMax = 3;
const reachedLimitsMax = 100;

/** An amount, and how much more it is than before. */
interface OverviewFigure {
  /** An exact decimal text. */
  readonly sum: string;
  /** By how many percent the sum exceeds that of the time before; null if there was nothing. */
  readonly change: number | null;
}

/** The numbers of {@linkcode readAnew}. */
export type OperatorOverview = Awaited<ReturnType<typeof readAnew>>;

interface TopCustomer extends OverviewFigure {
  readonly id: string;
  readonly name: string;
  readonly externalId: string | null;
  /** Percentage of all organizations, to one decimal place; null when that is 0. */
  readonly share: number | null;
}

/** The latest overviews by metric, for each database that this thread reads. */
const kept = new WeakMap<DatabaseReader, Map<string, OperatorOverview>>();

/** Reads the overview, at most every 30 seconds for each metric. */
export async function readOverview(
  context: JobContext,
  { now, metric: wanted }: JobTime & { readonly metric: string | null },
): Promise<OperatorOverview> {
  const overviews = kept.get(context.database) ?? new Map<string, OperatorOverview>();
  kept.set(context.database, overviews);
  for (const [key, { updatedAt }] of overviews) {
    if (now < updatedAt || now >= updatedAt + overviewKeptMs) overviews.delete(key);
  }
  const known = overviews.get(wanted ?? "");
  if (known !== undefined) return known;
  const overview = await readAnew(context, { now, metric: wanted });
  // An unknown metric is not kept: anyone could invent any number of them.
  if (wanted === null || wanted === overview.metric) overviews.set(wanted ?? "", overview);
  return overview;
}

async function readAnew(
  context: JobContext,
  { now, metric: wanted }: { now: number; metric: string | null },
) {
  const { database } = context;
  const times = timesAt(now);
  const found = await findBusiestTotals(database, {
    months: [times.number - 1, times.number],
    limit: overviewSeriesMax + 1,
  });
  const totals = found.slice(0, overviewSeriesMax);
  const metrics = [...new Set(totals.map(({ metric }) => metric))];
  const metric = metrics.find((one) => one === wanted) ?? metrics[0] ?? null;
  const series = totals.filter((one) => one.metric === metric).map(({ series }) => series);
  const { today, todayBefore, month, monthBefore, days } = times;
  const sums = await sumWindows(database, [today, todayBefore, month, monthBefore], { series });
  const at = (position: number) => sumOf(sums.filter((row) => row.position === position));
  const ofDays = await sumWindows(database, days, { series });
  await context.pause();
  const organizations = await countActiveOrganizations(database, {
    month: times.number,
    today: Math.floor(today.start / rollupQuarterMs),
    before: Math.floor(monthBefore.end / rollupQuarterMs),
  });
  await context.pause();
  const catalogue = await findCatalogue(context, {});
  return {
    updatedAt: now,
    /** By records of the two months, most first. */
    metrics,
    /** The metric of what follows; null without any usage. */
    metric,
    /** Compared with the same day a week before until this time of day. */
    today: figureOf(at(0), at(1)),
    /** Compared with the same part of the month before. */
    month: figureOf(at(2), at(3)),
    days,
    chart: reportStack(
      ofDays.map((row) => ({ position: row.position, part: row.productSlug, micros: sumMicros(row) })),
      { windows: days.length, named: coloredProducts(catalogue) },
    ),
    catalogue,
    /** True if there are more products and metrics than these sums include. */
    isPartial: found.length > totals.length,
    organizations,
    customers: metric === null ? [] : await readCustomers(context, { metric, times, total: at(2) }),
    /** Suspended organizations that sent requests in the last day. */
    suspended: await findSuspended(database, {
      since: now - dayMs,
      noteMs: apiKeyUsedIntervalMs,
      limit: suspendedNamedMax,
    }),
    /** Organizations that have hit a hard or cutoff limit, the latest first. */
    reachedLimits: await readReachedLimits(context, { now }),
    /** Organizations that have used up only soft limits. */
    aboveCount: [...(await readLimitLevels(context, { now })).values()].filter((level) => level === "above")
      .length,
    runningOut: await readRunningOut(context, { now }),
  };
}

async function readReachedLimits(context: JobContext, { now }: JobTime): Promise<ReachedLimit[]> {
  const { database } = context;
  const last = await findLastOrganizationNumber(database);
  const query = { now, since: now - dayMs, limit: reachedLimitsMax };
  const reached = await inSteps(
    context,
    last,
    (range) => findReachedLimits(database, { ...range, ...query }),
  );
  return reached.toSorted((a, b) => b.reachedAt - a.reachedAt).slice(0, reachedLimitsMax);
}

type Times = ReturnType<typeof timesAt>;

function timesAt(now: number) {
  const { before: monthBefore, ...month } = monthSoFar(now);
  const day = Math.floor(now / dayMs) * dayMs;
  const passed = (Math.floor(now / rollupQuarterMs) + 1) * rollupQuarterMs;
  return {
    /** The number of this month. */
    number: month.number,
    today: { start: day, end: day + dayMs },
    todayBefore: { start: day - 7 * dayMs, end: passed - 7 * dayMs },
    month,
    monthBefore,
    days: Array.from({ length: (day - month.start) / dayMs + 1 }, (_, n) => ({
      start: month.start + n * dayMs,
      end: month.start + (n + 1) * dayMs,
    })),
  };
}

function sumOf(rows: readonly WindowTotalRow[]): bigint {
  return rows.reduce((sum, row) => sum + sumMicros(row), 0n);
}

function figureOf(micros: bigint, before: bigint): OverviewFigure {
  return { sum: microsToDecimal(micros), change: percentChange(micros, before) };
}

async function readCustomers(
  context: JobContext,
  { metric, times, total }: { metric: string; times: Times; total: bigint },
): Promise<TopCustomer[]> {
  const { database } = context;
  const found = await findTopCustomers(database, { month: times.number, metric, limit: 2 * topCustomersMax });
  const rows = found.filter(({ isDeleted }) => isDeleted === 0).slice(0, topCustomersMax);
  await context.pause();
  const organizations: number[] = [];
  for (const { number } of rows) {
    const series = await countSeries(database, { organizations: [number], metric: [metric] });
    if (series <= customerSeriesMax) organizations.push(number);
  }
  const before = await sumWindows(database, [times.monthBefore], { organizations, metric });
  return rows.map(({ number, id, name, externalId, ...parts }) => {
    const micros = sumMicros(parts);
    const its = before.filter(({ organization }) => organization === number);
    return { id, name, externalId, ...figureOf(micros, sumOf(its)), share: percentOf(micros, total) };
  });
}
