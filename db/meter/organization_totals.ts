// The SQL of the operator's overview: sums over all organizations, read from the few series that keep them.
import type { SumParts } from "../../domain/meter/quantity.ts";
import { type DatabaseReader, sql } from "../engine/database.ts";

/** Returns the totals with the most records in some months. @param options `months`: their numbers. */
export function findBusiestTotals(
  database: DatabaseReader,
  { months, limit }: { months: readonly number[]; limit: number },
): Promise<{ series: number; metric: string }[]> {
  return database.read(sql`
    SELECT s.id AS series, s.metric
    FROM (SELECT series, sum(count) AS count FROM usage_rollups_monthly
      WHERE month IN (SELECT value FROM json_each(${JSON.stringify(months)})) AND organization = 0
      GROUP BY series HAVING sum(count) > 0 ORDER BY 2 DESC LIMIT ${limit}) r
    JOIN usage_series s ON s.id = r.series ORDER BY r.count DESC, s.id`);
}

export interface ActiveOrganizations {
  readonly all: number;
  readonly month: number;
  readonly today: number;
  /** Last month's value, up to the quarter `before`. */
  readonly monthBefore: number;
}

/** @param range `month`: its number. `today` and `before`: numbers of quarters of an hour. */
export async function countActiveOrganizations(
  database: DatabaseReader,
  { month, today, before }: { month: number; today: number; before: number },
): Promise<ActiveOrganizations> {
  const row = await database.readFirst<ActiveOrganizations>(sql`
    SELECT (SELECT count(*) FROM organizations) -
        (SELECT count(*) FROM organizations WHERE deleted_at IS NOT NULL) AS "all",
      count(*) AS month, coalesce(sum(last >= ${today}), 0) AS today,
      (SELECT count(*) FROM (SELECT 1 FROM usage_rollups_monthly WHERE month = ${
    month - 1
  } AND organization > 0
        GROUP BY organization HAVING min(first_quarter) < ${before})) AS monthBefore
    FROM (SELECT max(last_quarter) AS last FROM usage_rollups_monthly
      WHERE month = ${month} AND organization > 0 GROUP BY organization)`);
  return row ?? { all: 0, month: 0, today: 0, monthBefore: 0 };
}

/** Suspended organizations, and those whose keys still send requests. */
export interface SuspendedOrganizations {
  readonly count: number;
  readonly sending: number;
  /** Some of them: those that send first, then the newest. */
  readonly some: readonly { readonly id: string; readonly name: string; readonly isSending: 0 | 1 }[];
}

/** @param query `since`: keys that were used later still send requests. `noteMs`: uses are noted this late. */
export async function findSuspended(
  database: DatabaseReader,
  { since, noteMs, limit }: { since: number; noteMs: number; limit: number },
): Promise<SuspendedOrganizations> {
  const rows = await database.read<
    SuspendedOrganizations["some"][number] & { count: number; sending: number }
  >(
    sql`SELECT id, name, isSending, count(*) OVER () AS count, sum(isSending) OVER () AS sending
      FROM (SELECT o.id, o.name, o.suspended_at AS at, EXISTS (
          SELECT 1 FROM api_keys k WHERE k.organization_id = o.id
            AND k.last_used_at > max(${since}, o.suspended_at + ${noteMs})) AS isSending
        FROM organizations o WHERE o.suspended_at IS NOT NULL AND o.deleted_at IS NULL)
      ORDER BY isSending DESC, at DESC LIMIT ${limit}`,
  );
  const { count = 0, sending = 0 } = rows[0] ?? {};
  return { count, sending, some: rows.map(({ id, name, isSending }) => ({ id, name, isSending })) };
}

interface TopCustomerRow extends SumParts {
  readonly number: number;
  readonly id: string;
  readonly name: string;
  readonly isDeleted: number;
  readonly externalId: string | null;
}

export function findTopCustomers(
  database: DatabaseReader,
  { month, metric, limit }: { month: number; metric: string; limit: number },
): Promise<TopCustomerRow[]> {
  return database.read(sql`
    SELECT o.number, o.id, o.name, o.deleted_at IS NOT NULL AS isDeleted,
      o.external_id AS externalId, CAST(r.high AS TEXT) AS high,
      CAST(r.low AS TEXT) AS low, CAST(r.micro AS TEXT) AS micro
    FROM (SELECT m.organization, sum(m.sum_high) AS high, sum(m.sum_low) AS low,
        sum(m.sum_micro) AS micro
      FROM usage_rollups_monthly m CROSS JOIN usage_series s ON s.id = m.series AND s.metric = ${metric}
      WHERE m.month = ${month} AND m.organization > 0 AND m.count > 0 GROUP BY m.organization
      ORDER BY sum(m.sum_high) * 67108864.0 + sum(m.sum_low) + sum(m.sum_micro) / 1e6 DESC, m.organization
      LIMIT ${limit}) r
    JOIN organizations o ON o.number = r.organization
    ORDER BY r.high * 67108864.0 + r.low + r.micro / 1e6 DESC, o.number`);
}
