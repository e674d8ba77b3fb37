// The numbers of the operator's overview, in UTC, read by the reports thread.
import {
  type ActiveOrganizations,
  countActiveOrganizations,
  findBusiestTotals,
  findLastOrganizationNumber,
  findReachedLimits,
  findSeriesOf,
  findSuspended,
  findTopCustomers,
  type OverviewSeries,
  type ReachedLimit,
  type SeriesSumRow,
  type SignedWindow,
  sumSeries,
  type SuspendedOrganizations,
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
import { type Catalogue, coloredProducts } from "../../../domain/meter/catalogue.ts";
import {
  percentChange,
  percentOf,
  reportStack,
  type UsageStack,
} from "../../../domain/meter/usage_report.ts";
import type { RunningOut } from "../../../domain/console/organization_list.ts";
import type { UsageWindow } from "../../../domain/meter/usage_window.ts";
import { findCatalogue } from "../../meter/jobs/mod.ts";
import { inSteps } from "./organization_ranking.ts";
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
  readonly records: number;
  /** By how many percent the sum exceeds that of the time before; null if there was nothing. */
  readonly change: number | null;
}

export interface OperatorOverview {
  readonly updatedAt: number;
  /** By records of the two months, most first. Today is compared with the same day a week before until this time of day, the
   *  month with the same part of the month before. */
  readonly metrics: readonly {
    readonly metric: string;
    readonly today: OverviewFigure;
    readonly month: OverviewFigure;
  }[];
  /** The metric of what follows; null without any usage. */
  readonly metric: string | null;
  /** By product, in the same order. */
  readonly products: readonly {
    readonly productSlug: string;
    readonly today: OverviewFigure;
    readonly month: OverviewFigure;
  }[];
  readonly days: readonly UsageWindow[];
  readonly chart: UsageStack;
  readonly catalogue: Catalogue;
  /** True if there are more products and metrics than these sums include. */
  readonly isPartial: boolean;
  readonly organizations: ActiveOrganizations;
  readonly customers: readonly TopCustomer[];
  /** Suspended organizations that sent requests in the last day. */
  readonly suspended: SuspendedOrganizations;
  /** Organizations that have hit a hard limit, the latest first; at most 100. */
  readonly reachedLimits: readonly ReachedLimit[];
  readonly runningOut: RunningOut;
}

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

const positions = { today: 0, todayBefore: 1, month: 2, monthBefore: 3 } as const;

async function readAnew(
  context: JobContext,
  { now, metric: wanted }: { now: number; metric: string | null },
): Promise<OperatorOverview> {
  const { database } = context;
  const times = timesAt(now);
  const found = await findBusiestTotals(database, {
    months: [times.number - 1, times.number],
    limit: overviewSeriesMax + 1,
  });
  const totals = found.slice(0, overviewSeriesMax);
  const figures = figuresOf(
    totals,
    await sumSeries(database, { series: totals.map(({ series }) => series), windows: times.windows }),
  );
  await context.pause();
  const metrics = figures.by(({ metric }) => metric).map(([metric, values]) => ({ metric, ...values }));
  const metric = metrics.find((one) => one.metric === wanted)?.metric ?? metrics[0]?.metric ?? null;
  const ofMetric = totals.filter((one) => one.metric === metric);
  const days = await sumSeries(database, {
    series: ofMetric.map(({ series }) => series),
    windows: times.days.map((day, position) => ({ ...day, position, sign: 1 })),
  });
  await context.pause();
  const organizations = await countActiveOrganizations(database, {
    month: times.number,
    today: Math.floor(times.today.start / rollupQuarterMs),
    before: Math.floor(times.monthBeforeEnd / rollupQuarterMs),
  });
  await context.pause();
  const catalogue = await findCatalogue(context, {});
  const products = new Map(ofMetric.map(({ series, productSlug }) => [series, productSlug]));
  return {
    updatedAt: now,
    metrics,
    metric,
    products: figures.by(({ productSlug }) => productSlug, (one) => one.metric === metric)
      .map(([productSlug, values]) => ({ productSlug, ...values })),
    days: times.days,
    chart: reportStack(
      days.map((row) => ({
        position: row.position,
        part: products.get(row.series) ?? "",
        micros: sumMicros(row),
      })),
      { windows: times.days.length, named: coloredProducts(catalogue) },
    ),
    catalogue,
    isPartial: found.length > totals.length,
    organizations,
    customers: metric === null
      ? []
      : await readCustomers(context, { metric, times, total: figures.monthOf(metric) }),
    suspended: await findSuspended(database, {
      since: now - dayMs,
      noteMs: apiKeyUsedIntervalMs,
      limit: suspendedNamedMax,
    }),
    reachedLimits: await readReachedLimits(context, { now }),
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
  const { number, start, end, before, beforeEnd } = monthSoFar(now);
  const day = Math.floor(now / dayMs) * dayMs;
  const passed = (Math.floor(now / rollupQuarterMs) + 1) * rollupQuarterMs;
  const today = { start: day, end: day + dayMs };
  const at = (position: number) => (window: Omit<SignedWindow, "position">) => ({ position, ...window });
  return {
    /** The number of this month. */
    number,
    today,
    days: Array.from({ length: (day - start) / dayMs + 1 }, (_, n) => ({
      start: start + n * dayMs,
      end: start + (n + 1) * dayMs,
    })),
    monthBeforeEnd: beforeEnd,
    monthBefore: before.map(at(positions.monthBefore)),
    windows: [
      ...[{ sign: 1, ...today } as const].map(at(positions.today)),
      ...[{ sign: 1, start: day - 7 * dayMs, end: passed - 7 * dayMs } as const].map(
        at(positions.todayBefore),
      ),
      ...[{ sign: 1, start, end } as const].map(at(positions.month)),
      ...before.map(at(positions.monthBefore)),
    ],
  };
}

class Sums {
  readonly micros = [0n, 0n, 0n, 0n];
  readonly records = [0, 0, 0, 0];

  add({ position, count, ...parts }: SeriesSumRow): void {
    this.micros[position] = this.at(position) + sumMicros(parts);
    this.records[position] = (this.records[position] ?? 0) + count;
  }

  at(position: number): bigint {
    return this.micros[position] ?? 0n;
  }

  figure(position: number, before: number): OverviewFigure {
    const micros = this.at(position);
    return {
      sum: microsToDecimal(micros),
      records: this.records[position] ?? 0,
      change: percentChange(micros, this.at(before)),
    };
  }
}

function figuresOf(totals: readonly OverviewSeries[], rows: readonly SeriesSumRow[]) {
  const bySeries = new Map(totals.map((one) => [one.series, one]));
  const group = (keyOf: (one: OverviewSeries) => string, isIncluded: (one: OverviewSeries) => boolean) => {
    const groups = new Map<string, Sums>();
    // In the order of the totals, most records first.
    for (const one of totals) if (isIncluded(one)) groups.set(keyOf(one), new Sums());
    for (const row of rows) {
      const one = bySeries.get(row.series);
      if (one !== undefined && isIncluded(one)) groups.get(keyOf(one))?.add(row);
    }
    return [...groups];
  };
  return {
    by: (keyOf: (one: OverviewSeries) => string, isIncluded: (one: OverviewSeries) => boolean = () => true) =>
      group(keyOf, isIncluded).map(([key, sums]) =>
        [key, {
          today: sums.figure(positions.today, positions.todayBefore),
          month: sums.figure(positions.month, positions.monthBefore),
        }] as const
      ),
    /** The sum of a metric in this month, in millionths. */
    monthOf: (metric: string) =>
      group((one) => one.metric, (one) => one.metric === metric)[0]?.[1].at(positions.month) ?? 0n,
  };
}

async function readCustomers(
  context: JobContext,
  { metric, times, total }: { metric: string; times: Times; total: bigint },
): Promise<TopCustomer[]> {
  const { database } = context;
  const found = await findTopCustomers(database, { month: times.number, metric, limit: 2 * topCustomersMax });
  const rows = found.filter(({ isDeleted }) => isDeleted === 0).slice(0, topCustomersMax);
  await context.pause();
  const customers: TopCustomer[] = [];
  for (const { number: organization, id, name, externalId, count, ...parts } of rows) {
    const limit = customerSeriesMax + 1;
    const series = await findSeriesOf(database, { organization, metric, limit });
    const before = series.length > customerSeriesMax
      ? []
      : await sumSeries(database, { series, windows: times.monthBefore });
    const micros = sumMicros(parts);
    customers.push({
      id,
      name,
      externalId,
      sum: microsToDecimal(micros),
      records: count,
      change: percentChange(micros, before.reduce((sum, row) => sum + sumMicros(row), 0n)),
      share: percentOf(micros, total),
    });
  }
  return customers;
}
