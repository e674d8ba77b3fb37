// How organizations compare, read by the reports thread: by usage this month, by its growth, and by their limits. Of many
// organizations, the latest results are kept for a short time.
import {
  findLastOrganizationNumber,
  findPressed,
  rankMonth,
  rankPartOfMonth,
} from "../../../db/operator/organization_ranking.ts";
import { isOneOf } from "../../../db/operator/organizations.ts";
import type { DatabaseReader } from "../../../db/engine/database.ts";
import { overviewKeptMs, rollupQuarterMs } from "../../../domain/limits.ts";
import { monthSoFar } from "../../../domain/meter/month_so_far.ts";
import type { LimitLevel, OrganizationSort } from "../../../domain/operator/organization.ts";
import type { JobContext, JobTime } from "../job_context.ts";

/** Organizations that are read at a time. */
const stepOrganizations = 5_000;
/** Of so few organizations, nothing is kept. */
const unkeptOrganizationsMax = 2_000;
/** Each has up to 2 MB. */
const keptMax = 8;

/** The orders that need the usage of all organizations. */
export type RankedSort = "usage" | "growth";

export const isRankedSort = (sort: OrganizationSort): sort is RankedSort =>
  sort === "usage" || sort === "growth";

/** An organization by its number, and what it used. */
export interface Rank {
  readonly organization: number;
  readonly sum: number;
  /** In the same part of the month before. Only for growth. */
  readonly previous: number;
}

/** Organizations and what they used. The arrays belong together. */
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

/** Returns what was read before under a name, or reads it. @param options `last`: the highest number of an organization. */
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
): Promise<Rank[]> {
  const unused = (organization: number): Rank => ({ organization, sum: 0, previous: 0 });
  if (metric === null) return numbers.map(unused);
  const { organizations, sums, previous } = await readRanking(context, { sort, metric, now });
  const [isFound, isRanked] = [isOneOf(numbers), isOneOf([...organizations])];
  const ranks: Rank[] = [];
  organizations.forEach((organization, index) => {
    if (!isFound(organization)) return;
    ranks.push({ organization, sum: sums[index] ?? 0, previous: previous[index] ?? 0 });
  });
  for (const number of numbers) if (!isRanked(number)) ranks.push(unused(number));
  await context.pause();
  return ranks;
}

/** Reads the ranking by a metric. */
async function readRanking(
  context: JobContext,
  { now, sort, metric }: JobTime & { sort: RankedSort; metric: string },
): Promise<Ranking> {
  const { database } = context;
  const last = await findLastOrganizationNumber(database);
  const { number, before, beforeEnd } = monthSoFar(now);
  return await keep(database, { now, last, name: `${sort} ${metric}` }, async () => {
    const ranks = new Map<number, Rank>();
    await inSteps(context, last, async (range) => {
      for (const [organization, sum] of await rankMonth(database, { ...range, month: number, metric })) {
        ranks.set(organization, { organization, sum, previous: 0 });
      }
    });
    if (sort === "growth") {
      // Until the compared part is longer: what is recorded or voided in a month that ended hardly changes the order.
      const part = { name: `before ${metric} ${beforeEnd}`, now, last, until: now + rollupQuarterMs };
      const { organizations, sums } = await keep(database, part, async () => {
        const pairs: [organization: number, sum: number][] = [];
        const month = { month: number - 1, metric, until: beforeEnd, windows: before };
        await inSteps(context, last, async (range) => {
          for (const pair of await rankPartOfMonth(database, { ...range, ...month })) pairs.push(pair);
        });
        return {
          organizations: Int32Array.from(pairs, ([organization]) => organization),
          sums: Float64Array.from(pairs, ([, sum]) => sum),
        };
      });
      organizations.forEach((organization, index) => {
        const sum = ranks.get(organization)?.sum ?? 0;
        ranks.set(organization, { organization, sum, previous: sums[index] ?? 0 });
      });
    }
    const sorted = [...ranks.values()].sort(rankOrders[sort]);
    await context.pause();
    return {
      organizations: Int32Array.from(sorted, ({ organization }) => organization),
      sums: Float64Array.from(sorted, ({ sum }) => sum),
      previous: Float64Array.from(sorted, ({ previous }) => previous),
    };
  });
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
    await inSteps(context, last, async (range) => {
      for (const { organization, isReached } of await findPressed(database, { ...range, now })) {
        levels.set(organization, isReached === 1 ? "over" : "near");
      }
    });
    return levels;
  });
}

async function inSteps(
  { pause }: JobContext,
  last: number,
  read: (range: { from: number; to: number }) => Promise<void>,
): Promise<void> {
  for (let from = 1; from <= last; from += stepOrganizations) {
    await read({ from, to: from + stepOrganizations });
    await pause();
  }
}
