// Inserts a large number of sums directly into the database.
import { integer, sql, type Statement } from "../../../db/engine/database.ts";
import { monthOf } from "../../../db/meter/rollup_columns.ts";

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
      FROM usage_series s JOIN api_keys k ON k.number = s.api_key AND k.id = ${keyId}, generate n
      WHERE s.product_slug = 'many'`;
  const sums =
    sql`sum(r.count), sum(r.sum_high), sum(r.sum_low), sum(r.sum_micro), min(r.smallest), max(r.largest)`;
  const totals = (table: Statement, unit: Statement) =>
    sql`INSERT OR REPLACE INTO ${table} SELECT s.total, r.${unit}, ${sums}
      FROM ${table} r JOIN usage_series s ON s.id = r.series AND s.total IS NOT NULL
      WHERE s.product_slug = 'many' GROUP BY 1, 2`;
  return [
    sql`${upTo(series)} INSERT INTO usage_series (organization, product_slug, metric, api_key)
      SELECT o.number, 'many', format('m%06d', n.value), k.number
      FROM generate n, api_keys k JOIN organizations o ON o.id = k.organization_id WHERE k.id = ${keyId}`,
    rollups(sql`usage_rollups`, sql`${integer(from)} / 900000 + 4 * n.value`),
    rollups(sql`usage_rollups_hourly`, sql`${integer(from)} / 3600000 + n.value`),
    totals(sql`usage_rollups`, sql`quarter`),
    totals(sql`usage_rollups_hourly`, sql`hour`),
    sql`INSERT OR REPLACE INTO usage_rollups_monthly
      SELECT ${
      monthOf(sql`r.quarter * 900000`)
    }, s.organization, s.id, ${sums}, min(r.quarter), max(r.quarter)
      FROM usage_rollups r JOIN usage_series s ON s.id = r.series WHERE s.product_slug = 'many' GROUP BY 1, 2, 3`,
  ];
}
