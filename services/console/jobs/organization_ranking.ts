// How organizations compare, read by the reports thread: by usage this month, by its growth, and by their limits. Of many
// organizations, the latest results are kept for a short time.
import {
  countOrganizations,
  findLastOrganizationNumber,
  findPressed,
  type NumberRange,
  rankMonth,
  rankPartOfMonth,
} from "../../../db/meter/mod.ts";
import { isOneOf } from "../../../db/console/organizations.ts";
import type { DatabaseReader } from "../../../db/engine/database.ts";
import { overviewKeptMs, rollupQuarterMs } from "../../../domain/limits.ts";
import { monthSoFar } from "../../../domain/meter/month_so_far.ts";
import type { LimitLevel, OrganizationSort } from "../../../domain/console/organization.ts";
import type { JobContext, JobTime } from "../../reports/job_context.ts";

const stepOrganizations = 5_000;
/** Up to this number of organizations, nothing is cached. */
const unkeptOrganizationsMax = 2_000;
/** Each has up to 2 MB. */
const keptMax = 8;

/** The orders that need the usage of all organizations. */
export type RankedSort = "usage" | "growth";

export const isRankedSort = (sort: OrganizationSort): sort is RankedSort =>
  sort === "usage" || sort === "growth";

/** An organization, by its number, and its usage. */
export interface Rank {
  readonly organization: number;
  readonly sum: number;
  /** Usage in the same part of last month. Only for growth. */
  readonly previous: number;
}

/** Organizations and their usage, in parallel arrays. */
interface Sums {
  readonly organizations: Int32Array;
  readonly sums: Float64Array;
}

/** Organizations that used something, in order. */
interface Ranking extends Sums {
  readonly previous: Float64Array;
}

/**
 * The orders, newer organizations first where both are equal. `growth`: by how many times as much was used, without any usage before first,
 * then by usage.
 */
export const rankOrders: Readonly<Record<RankedSort, (a: Rank, b: Rank) => number>> = {
  usage: (a, b) => b.sum - a.sum || b.organization - a.organization,
  growth: (a, b) => compare(growthOf(b), growthOf(a)) || b.sum - a.sum || b.organization - a.organization,
};

/** Unused organizations have −1, less than those that used something before. */
const growthOf = ({ sum, previous }: Rank) => previous > 0 ? sum / previous : sum > 0 ? Infinity : -1;
/** As two infinite numbers have no difference. */
const compare = (a: number, b: number) => a === b ? 0 : a < b ? -1 : 1;

interface Kept {
  readonly since: number;
  readonly until: number;
  readonly value: unknown;
}

const kept = new WeakMap<DatabaseReader, Map<string, Kept>>();

/** Returns the cached value of a name, or reads it. @param options `last`: the highest number of an organization. */
async function keep<T>(
  database: DatabaseReader,
  { name, now, last, until = now + overviewKeptMs }: JobTime & { name: string; last: number; until?: number },
  read: () => Promise<T>,
): Promise<T> {
  if (last <= unkeptOrganizationsMax) return await read();
  const values = kept.get(database) ?? new Map<string, Kept>();
  kept.set(database, values);
  for (const [other, { since, until }] of values) if (now < since || now >= until) values.delete(other);
  const known = values.get(name);
  if (known !== undefined) return known.value as T;
  const value = await read();
  const [oldest] = values.keys();
  if (values.size >= keptMax && oldest !== undefined) values.delete(oldest);
  values.set(name, { since: now, until, value });
  return value;
}

/** Sorts organizations, given the newest first, by their usage of a metric or its growth; those without any come last. */
export async function rankOrganizations(
  context: JobContext,
  numbers: readonly number[],
  { sort, metric, now }: JobTime & { sort: RankedSort; metric: string | null },
) {
  const unused = (organization = 0): Rank => ({ organization, sum: 0, previous: 0 });
  if (metric === null) return { numbers, rankAt: (index: number) => unused(numbers[index]) };
  const { organizations, sums, previous } = await readRanking(context, { sort, metric, now });
  const [isFound, isRanked] = [isOneOf(numbers), isOneOf(organizations)];
  const positions: number[] = [];
  const ordered: number[] = [];
  organizations.forEach((organization, position) => {
    if (!isFound(organization)) return;
    positions.push(position);
    ordered.push(organization);
  });
  for (const number of numbers) if (!isRanked(number)) ordered.push(number);
  await context.pause();
  return {
    numbers: ordered,
    rankAt(index: number) {
      const position = positions[index];
      const rank = unused(ordered[index]);
      return position === undefined
        ? rank
        : { ...rank, sum: sums[position] ?? 0, previous: previous[position] ?? 0 };
    },
  };
}

async function readRanking(
  context: JobContext,
  { now, sort, metric }: JobTime & { sort: RankedSort; metric: string },
): Promise<Ranking> {
  const { database } = context;
  const last = await findLastOrganizationNumber(database);
  const { number } = monthSoFar(now);
  return await keep(database, { now, last, name: `${sort} ${metric}` }, async () => {
    const ranks: Rank[] = [];
    const ofMonth = { month: number, metric };
    for (
      const [organization, sum] of await inSteps(
        context,
        last,
        (range) => rankMonth(database, { ...range, ...ofMonth }),
      )
    ) {
      ranks.push({ organization, sum, previous: 0 });
    }
    const sorted = sort === "usage" ? ranks : await withPrevious(context, ranks, { metric, last, now });
    sorted.sort(rankOrders[sort]);
    await context.pause();
    return {
      organizations: Int32Array.from(sorted, ({ organization }) => organization),
      sums: Float64Array.from(sorted, ({ sum }) => sum),
      previous: Float64Array.from(sorted, ({ previous }) => previous),
    };
  });
}

/** Adds organizations' usage in the same part of last month, including those without usage since. */
async function withPrevious(
  context: JobContext,
  ranks: readonly Rank[],
  { metric, last, now }: JobTime & { metric: string; last: number },
): Promise<Rank[]> {
  const { database } = context;
  const { number, before } = monthSoFar(now);
  // Until the part is longer: late records and voids in a month that ended hardly change the order.
  const part = { name: `before ${metric} ${before.end}`, now, last, until: now + rollupQuarterMs };
  const { organizations, sums } = await keep(database, part, async () => {
    const query = { month: number - 1, metric, part: before };
    const pairs = await inSteps(context, last, (range) => rankPartOfMonth(database, { ...range, ...query }));
    return {
      organizations: Int32Array.from(pairs, ([organization]) => organization),
      sums: Float64Array.from(pairs, ([, sum]) => sum),
    };
  });
  const all = new Map(ranks.map((rank) => [rank.organization, rank]));
  organizations.forEach((organization, index) => {
    const sum = all.get(organization)?.sum ?? 0;
    all.set(organization, { organization, sum, previous: sums[index] ?? 0 });
  });
  return [...all.values()];
}

/** Counts all organizations, and those that were used this month. */
export async function readOrganizationCounts({ database }: JobContext, { now }: JobTime) {
  const last = await findLastOrganizationNumber(database);
  return await keep(
    database,
    { now, last, name: "counts" },
    () => countOrganizations(database, monthSoFar(now).number),
  );
}

/** Reads which organizations, by number, have nearly or completely used a limit. */
export async function readLimitLevels(
  context: JobContext,
  { now }: JobTime,
): Promise<ReadonlyMap<number, LimitLevel>> {
  const { database } = context;
  const last = await findLastOrganizationNumber(database);
  return await keep(database, { now, last, name: "levels" }, async () => {
    const levels = new Map<number, LimitLevel>();
    for (const one of await inSteps(context, last, (range) => findPressed(database, { ...range, now }))) {
      levels.set(one.organization, one.isRejecting ? "rejected" : one.isReached ? "above" : "near");
    }
    return levels;
  });
}

/** Reads some organizations after the other, and lets other jobs run in between. @param last The highest number of an organization. */
export async function inSteps<T>(
  { pause }: JobContext,
  last: number,
  read: (range: NumberRange) => Promise<T[]>,
): Promise<T[]> {
  const steps: T[][] = [];
  for (let from = 1; from <= last; from += stepOrganizations) {
    steps.push(await read({ from, to: from + stepOrganizations }));
    await pause();
  }
  return steps.flat();
}
