// The SQL of how all organizations compare: their usage of a metric in months of UTC, and the limits that they have nearly or
// completely used. There may be 100,000 organizations, so a part of them is read at a time.
import { lowBits } from "../../domain/meter/quantity.ts";
import { rollupNumber, signedPieces } from "../../domain/meter/rollup_unit.ts";
import type { LimitMode, LimitScope } from "../../domain/meter/usage_limit.ts";
import type { UsageWindow } from "../../domain/meter/usage_window.ts";
import type { RunningOutLimit } from "../../domain/console/organization_list.ts";
import { type DatabaseReader, integer, joinSql, sql, type Statement } from "../engine/database.ts";
import { isUsedOfRaised } from "./limit_notices.ts";
import { isAccount, raisedQuantity } from "./usage_grants.ts";
import {
  comparable,
  comparableQuantity,
  countedSeq,
  isApplied,
  isCurrentCounter,
  windowAt,
} from "./usage_limits.ts";

/** Organizations by their numbers, the last one excluded. */
export interface NumberRange {
  readonly from: number;
  readonly to: number;
}

export async function findLastOrganizationNumber(database: DatabaseReader): Promise<number> {
  const row = await database.readFirst<{ last: number }>(
    sql`SELECT coalesce(max(number), 0) AS last FROM organizations`,
  );
  return row?.last ?? 0;
}

export async function countOrganizations(
  database: DatabaseReader,
  month: number,
): Promise<{ all: number; active: number }> {
  const row = await database.readFirst<{ all: number; active: number }>(sql`
    SELECT (SELECT count(*) FROM organizations) -
        (SELECT count(*) FROM organizations WHERE deleted_at IS NOT NULL) AS "all",
      (SELECT count(DISTINCT organization) FROM usage_rollups_monthly
        WHERE month = ${month} AND organization > 0) AS active`);
  return row ?? { all: 0, active: 0 };
}

/** True for a metric that a product has, or that was recorded. */
export async function isKnownMetric(database: DatabaseReader, metric: string): Promise<boolean> {
  return await database.readFirst(sql`
    SELECT 1 AS found FROM usage_series WHERE organization = 0 AND metric = ${metric}
    UNION ALL SELECT 1 FROM product_metrics WHERE slug = ${metric} LIMIT 1`) !== undefined;
}

/** The number nearest to the sum of rows with parts. */
const total = (row: Statement) =>
  sql`(sum(${row}.sum_high) * ${
    integer(2 ** lowBits)
  }.0 + sum(${row}.sum_low) + sum(${row}.sum_micro) / 1e6)`;

/** Sums a metric by organization in a whole month; without organizations that have nothing. */
export async function rankMonth(
  database: DatabaseReader,
  { from, to, month, metric }: NumberRange & { month: number; metric: string },
): Promise<[organization: number, sum: number][]> {
  return await readPairs(
    database,
    sql`
    SELECT m.organization, ${total(sql`m`)} AS sum
    FROM usage_rollups_monthly m CROSS JOIN usage_series s ON s.id = m.series AND s.metric = ${metric}
    WHERE m.month = ${month} AND m.organization >= ${from} AND m.organization < ${to} GROUP BY 1`,
  );
}

/**
 * Sums a metric by organization in the first part of a month; without organizations that have nothing in the month. Rollups shorter than
 * a month are read only of series that were used both before and after the end of the part.
 *
 * @param query `part`: ends with a quarter of an hour.
 */
export async function rankPartOfMonth(
  database: DatabaseReader,
  { from, to, month, metric, part }: NumberRange & { month: number; metric: string; part: UsageWindow },
): Promise<[organization: number, sum: number][]> {
  const quarter = integer(rollupNumber("quarter", part.end));
  const whole = total(sql`r`);
  const parts = signedPieces(part).map(({ unit, sign, start, end }) => {
    if (unit === "month") return sql`+ w.whole`;
    const [first, after] = [integer(rollupNumber(unit, start)), integer(rollupNumber(unit, end))];
    const rows = unit === "hour"
      ? sql`usage_rollups_hourly r WHERE r.series = w.series AND r.hour >= ${first} AND r.hour < ${after}`
      : sql`usage_rollups r WHERE r.series = w.series AND r.quarter >= ${first} AND r.quarter < ${after}`;
    return sql`${sign === 1 ? sql`+` : sql`-`} coalesce((SELECT ${whole} FROM ${rows}), 0)`;
  });
  return await readPairs(
    database,
    sql`
    SELECT w.organization, sum(CASE WHEN w.first >= ${quarter} THEN 0 WHEN w.last < ${quarter} THEN w.whole
      ELSE 0 ${joinSql(parts, " ")} END) AS sum
    FROM (SELECT m.organization, m.series, m.first_quarter AS first, m.last_quarter AS last,
        m.sum_high * ${integer(2 ** lowBits)}.0 + m.sum_low + m.sum_micro / 1e6 AS whole
      FROM usage_rollups_monthly m CROSS JOIN usage_series s ON s.id = m.series AND s.metric = ${metric}
      WHERE m.month = ${month} AND m.organization >= ${from} AND m.organization < ${to}) w
    GROUP BY 1`,
  );
}

/** Reads pairs of numbers, without those whose second rounds to 0 millionths. As one text, because rows take longer. */
async function readPairs(database: DatabaseReader, query: Statement): Promise<[number, number][]> {
  const row = await database.readFirst<{ pairs: string }>(sql`
    SELECT json_group_array(json_array(organization, sum)) AS pairs FROM (${query}) WHERE sum >= 5e-7`);
  return JSON.parse(row?.pairs ?? "[]");
}

/** Organizations `o`. Their range is no condition of the join: an index of counters would be searched by it, instead of their key. */
const organizationsIn = ({ from, to }: NumberRange) =>
  sql`(SELECT number, id, name, timezone, plan, limits_seq, limits_at FROM organizations
    WHERE number >= ${from} AND number < ${to} AND deleted_at IS NULL LIMIT -1) o`;
/** The notice `x` says that the limit `l` was reached in its current window by the organization `o`, or rejected a request of it. */
const isNoted = (time: Statement) =>
  sql`x.usage_limit = l.number AND x.organization = o.number AND x.percent >= 100 AND x.window_number = ${
    windowAt(time, sql`iif(l.per IN ('minute', 'hour'), 'day', l.per)`)
  }`;
/** All of a limit of 0 is used, but it is reached only when it rejects a request. */
const isAnyUsed = sql`n.sum_high + n.sum_low + n.sum_micro > 0`;

/**
 * Finds organizations that have used 80% or more of a limit in its current window: `isReached` is 1 for those that have used all of one,
 * and `isRejecting` if it is a hard or cutoff limit. Usage that no counter has yet is missing.
 */
export async function findPressed(
  database: DatabaseReader,
  { now, ...range }: NumberRange & { now: number },
): Promise<{ organization: number; isReached: 0 | 1; isRejecting: 0 | 1 }[]> {
  const time = sql`CAST(${now} AS INTEGER)`;
  const isUsed = isUsedOfRaised(integer(100), time);
  return await database.read(sql`
    SELECT o.number AS organization, max(${isUsed}) AS isReached, max(${isUsed} AND l.mode <> 'soft') AS isRejecting
    FROM ${organizationsIn(range)} CROSS JOIN usage_limits l ON ${isApplied()}
    CROSS JOIN usage_limit_counters n ON ${isCurrentCounter(time)}
    LEFT JOIN usage_grant_accounts t ON ${isAccount(sql`o.number`)}
    WHERE ${isUsedOfRaised(integer(80), time)}
      AND (${isAnyUsed} OR EXISTS (SELECT 1 FROM limit_notices x WHERE ${isNoted(time)})) GROUP BY 1`);
}

export interface ReachedLimit extends LimitScope {
  readonly id: string;
  readonly name: string;
  readonly mode: LimitMode;
  /** When it was noted, or set below what is used already. Milliseconds since 1970. */
  readonly reachedAt: number;
}

/**
 * Returns organizations with a hard or cutoff limit that is used up in the current window, or that rejected a request; the latest first, each
 * once. Usage that no counter has yet is missing.
 *
 * @param query `since`: when the rejected request was at the earliest, or a minute or hour in which a limit was used up.
 */
export async function findReachedLimits(
  database: DatabaseReader,
  { now, since, limit, ...range }: NumberRange & { now: number; since: number; limit: number },
): Promise<ReachedLimit[]> {
  const time = sql`CAST(${now} AS INTEGER)`;
  const raised = raisedQuantity(sql`o.number`, time, sql`n.window_number`);
  return await database.read<ReachedLimit>(sql`
    SELECT o.id, o.name, nullif(l.product_slug, '') AS productSlug, nullif(l.metric, '') AS metric, l.per, l.mode,
      max(coalesce(x.noted_at, max(l.created_at, o.limits_at))) AS reachedAt
    FROM ${organizationsIn(range)} CROSS JOIN usage_limits l ON l.mode <> 'soft' AND ${isApplied()}
    LEFT JOIN usage_limit_counters n ON ${isCurrentCounter(time)}
    LEFT JOIN limit_notices x ON ${isNoted(time)}
    WHERE (((x.is_refusal OR l.per IN ('minute', 'hour')) AND x.noted_at >= ${since})
      OR ((${isAnyUsed} OR x.noted_at IS NOT NULL) AND ${
    comparable(sql`n.sum_high`, sql`n.sum_low`, sql`n.sum_micro`)
  } >= ${comparableQuantity(raised.whole, raised.micro)}))
    GROUP BY o.number ORDER BY reachedAt DESC LIMIT ${limit}`);
}

/** Identifies a limit's counter of a month. */
export interface CounterPosition {
  readonly month: number;
  readonly usageLimit: number;
  readonly organization: number;
}

/** A limit per month of an organization that is used faster than time passes. */
export interface FastLimitRow extends Omit<RunningOutLimit, "reachedAt"> {
  readonly timezone: string;
}

/**
 * Finds limits per month of which a share is used but not all, among the next counters of months.
 *
 * @param query `share`: from 0 to 1. `after`: the position of the last counter that was read.
 * @returns `last`: the position of the last counter that was read; null if there are no more in this month.
 */
export async function findFastLimits(
  database: DatabaseReader,
  { after, share, now, limit }: { after: CounterPosition; share: number; now: number; limit: number },
): Promise<{ rows: FastLimitRow[]; last: CounterPosition | null }> {
  const time = sql`CAST(${now} AS INTEGER)`;
  const used = sql`(n.sum_high * ${integer(2 ** lowBits)}.0 + n.sum_low + n.sum_micro / 1e6)`;
  const raised = raisedQuantity(sql`n.organization`, time, sql`n.window_number`);
  const quantity = sql`(${raised.whole} + ${raised.micro} / 1e6)`;
  const row = await database.readFirst<{ rows: string; last: string | null }>(sql`
    WITH step AS MATERIALIZED (
      SELECT usage_limit, organization, window_number FROM usage_limit_counters
      WHERE window_number = ${after.month} AND (usage_limit, organization) > (${after.usageLimit}, ${after.organization})
      ORDER BY usage_limit, organization LIMIT ${limit})
    SELECT (SELECT json_array(usage_limit, organization) FROM step LIMIT 1 OFFSET ${limit - 1}) AS last,
      json_group_array(json_object('id', o.id, 'name', o.name, 'timezone', o.timezone,
        'productSlug', l.product_slug, 'metric', l.metric, 'quantity', ${quantity}, 'used', ${used}))
        AS rows
    FROM step x
    CROSS JOIN usage_limits l ON l.number = x.usage_limit AND l.per = 'month' AND l.lineage IS NULL
    CROSS JOIN usage_limit_counters n ON n.usage_limit = x.usage_limit AND n.organization = x.organization
      AND n.window_number = x.window_number AND n.is_known = 1
      AND ${used} >= ${quantity} * ${share} AND ${used} < ${quantity}
    CROSS JOIN organizations o ON o.number = x.organization AND o.deleted_at IS NULL AND ${isApplied()}
    WHERE n.opened_seq >= ${countedSeq}
      AND n.window_number = ${windowAt(time, sql`'month'`)}`);
  const last = row?.last ? JSON.parse(row.last) as [number, number] : null;
  return {
    rows: JSON.parse(row?.rows ?? "[]"),
    last: last && { month: after.month, usageLimit: last[0], organization: last[1] },
  };
}
