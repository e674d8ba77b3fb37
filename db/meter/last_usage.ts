// The SQL of the last usage of API keys: what counts, by anyone who recorded it, to a quarter of an hour.
import { rollupNumber, rollupStart } from "../../domain/meter/rollup_unit.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { isUsageOf, ofAnyKey } from "./environments.ts";
import { numberOf } from "./usage_sums.ts";

/**
 * Returns the start of the last quarter of an hour with usage of each key, those that it replaced or that replaced it included.
 *
 * @param ids Of keys; one without usage is not in the result.
 */
export async function findLastUsage(
  database: DatabaseReader,
  { organizationId, ids }: { organizationId: string; ids: readonly string[] },
): Promise<Map<string, number>> {
  const rows = await database.read<{ id: string; quarter: number | null }>(sql`
    WITH wanted AS MATERIALIZED (
      SELECT k.id, g.number FROM json_each(${JSON.stringify(ids)}) i
      CROSS JOIN api_keys k ON k.id = i.value AND k.organization_id = ${organizationId}
      CROSS JOIN api_keys g ON g.lineage = k.lineage)
    SELECT w.id, max((SELECT r.quarter FROM usage_rollups r WHERE r.series = s.id AND r.count > 0
      ORDER BY r.quarter DESC LIMIT 1)) AS quarter
    FROM usage_series s CROSS JOIN wanted w ON w.number = s.api_key
    WHERE ${isUsageOf(sql`s.organization`, numberOf(organizationId), ofAnyKey)} GROUP BY w.id`);
  return new Map(
    rows.flatMap(({ id, quarter }) => quarter === null ? [] : [[id, rollupStart("quarter", quarter)]]),
  );
}

/** Selects those of some lineages of an organization's keys that have usage since a time. */
export const lineagesUsedSince = (
  organizationId: string,
  { lineages, since }: { lineages: Statement; since: number },
): Statement =>
  sql`SELECT u.lineage FROM usage_series s CROSS JOIN api_keys u ON u.number = s.api_key
    WHERE ${isUsageOf(sql`s.organization`, numberOf(organizationId), ofAnyKey)} AND u.lineage IN (${lineages})
      AND EXISTS (SELECT 1 FROM usage_rollups r WHERE r.series = s.id AND r.count > 0
        AND r.quarter >= ${rollupNumber("quarter", since)})`;

/** @param options `lineages`: numbers of lineages. */
export async function findLineagesUsedSince(
  database: DatabaseReader,
  organizationId: string,
  { lineages, since }: { lineages: readonly number[]; since: number },
): Promise<Set<number>> {
  const wanted = sql`SELECT value FROM json_each(${JSON.stringify(lineages)})`;
  const rows = await database.read<{ lineage: number }>(
    lineagesUsedSince(organizationId, { lineages: wanted, since }),
  );
  return new Set(rows.map(({ lineage }) => lineage));
}
