// SQL of the operators' overview: which organizations were active in a month.
import { rollupNumber } from "../../domain/meter/rollup_unit.ts";
import { type DatabaseReader, sql } from "../engine/database.ts";

/** An organization with the number of its records in a month and in the month before. */
export interface BusyOrganizationRow {
  readonly id: string;
  readonly name: string;
  readonly externalId: string | null;
  readonly isDeleted: number;
  readonly records: number;
  readonly recordsBefore: number;
}

/** How many organizations there are, and how many recorded something in a month, since a day, and in the month before. */
export interface OrganizationCounts {
  readonly all: number;
  readonly active: number;
  readonly activeToday: number;
  readonly activeBefore: number;
}

/** The month and the day that a moment is in, in UTC. Milliseconds since 1970. */
export interface OverviewTimes {
  readonly now: number;
  readonly dayStart: number;
}

/** @returns The organizations with the most records in the current month. */
export function findBusiestOrganizations(
  database: DatabaseReader,
  { now, limit }: { now: number; limit: number },
): Promise<BusyOrganizationRow[]> {
  const month = rollupNumber("month", now);
  return database.read(sql`
    SELECT o.id, o.name, o.external_id AS externalId, o.deleted_at IS NOT NULL AS isDeleted, u.records,
      (SELECT coalesce(sum(b.count), 0) FROM usage_rollups_monthly b
       WHERE b.month = ${month - 1} AND b.organization = u.organization) AS recordsBefore
    FROM (
      SELECT r.organization, sum(r.count) AS records FROM usage_rollups_monthly r
      WHERE r.month = ${month} AND r.organization > 0
      GROUP BY r.organization HAVING sum(r.count) > 0 ORDER BY 2 DESC, 1 LIMIT ${limit}
    ) u JOIN organizations o ON o.number = u.organization ORDER BY u.records DESC, u.organization`);
}

/** @returns Counts of organizations in the current month. A record's own time counts, not when it arrived. */
export async function countActiveOrganizations(
  database: DatabaseReader,
  { now, dayStart }: OverviewTimes,
): Promise<OrganizationCounts> {
  const month = rollupNumber("month", now);
  const counts = await database.readFirst<OrganizationCounts>(sql`
    WITH active AS (
      SELECT r.month, max(r.last_quarter) AS last FROM usage_rollups_monthly r
      WHERE r.month IN (${month - 1}, ${month}) AND r.organization > 0 AND r.count > 0
      GROUP BY r.month, r.organization
    )
    SELECT (SELECT count(*) FROM organizations WHERE deleted_at IS NULL) AS "all",
      count(*) FILTER (WHERE month = ${month}) AS active,
      count(*) FILTER (WHERE month = ${month} AND last >= ${
    rollupNumber("quarter", dayStart)
  }) AS activeToday,
      count(*) FILTER (WHERE month < ${month}) AS activeBefore
    FROM active`);
  return counts ?? { all: 0, active: 0, activeToday: 0, activeBefore: 0 };
}
