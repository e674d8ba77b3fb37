// Inserts a large number of sums directly into the database.
import { integer, sql, type Statement } from "../../db/engine/database.ts";

/**
 * @param options `hours`: number of hours with records, starting at `from`, in milliseconds since 1970.
 * @returns Statements that add the sums that recording would: one per series of a key and hour.
 */
export function manySums(
  { series, hours, keyId, from }: { series: number; hours: number; keyId: string; from: number },
): Statement[] {
  const upTo = (count: number) =>
    sql`WITH RECURSIVE generate (value) AS (
      SELECT 0 UNION ALL SELECT value + 1 FROM generate WHERE value + 1 < ${count})`;
  const rollups = (table: Statement, first: Statement) =>
    sql`${upTo(hours)} INSERT INTO ${table} SELECT s.id, ${first}, 3, 0, 5, 250000, 1, 2000000
      FROM usage_series s, generate n WHERE s.product_slug = 'many'`;
  return [
    sql`${upTo(series)} INSERT INTO usage_series (organization, product_slug, metric, api_key)
      SELECT o.number, 'many', format('m%06d', n.value), k.number
      FROM generate n, api_keys k JOIN organizations o ON o.id = k.organization_id WHERE k.id = ${keyId}`,
    rollups(sql`usage_rollups`, sql`${integer(from)} / 900000 + 4 * n.value`),
    rollups(sql`usage_rollups_hourly`, sql`${integer(from)} / 3600000 + n.value`),
  ];
}
