// Inserts a large number of sums directly into the database.
import { sql } from "../../db/engine/database.ts";

const seriesOfKey = `INSERT INTO usage_series (organization, product_slug, metric, api_key)
  SELECT o.number, 'many', format('m%06d', n.value), k.number
  FROM generate n, api_keys k JOIN organizations o ON o.id = k.organization_id WHERE k.id = ?2`;
const rollupsOfSeries = (table: "usage_rollups" | "usage_rollups_hourly", first: string) =>
  `INSERT INTO ${table} SELECT s.id, ${first}, 3, 0, 5, 250000, 1, 2000000
   FROM usage_series s, generate n WHERE s.product_slug = 'many'`;
const upTo =
  `WITH RECURSIVE generate (value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM generate WHERE value + 1 < ?1)`;
/**
 * @param options `hours`: number of hours with records, starting at `from`, in milliseconds since 1970.
 * @returns Statements that add the sums that recording would: one per series of a key and hour.
 */
export const manySums = (options: { series: number; hours: number; keyId: string; from: number }) => [
  sql(`${upTo} ${seriesOfKey}`, options.series, options.keyId),
  sql(
    `${upTo} ${rollupsOfSeries("usage_rollups", "?2 / 900000 + 4 * n.value")}`,
    options.hours,
    options.from,
  ),
  sql(
    `${upTo} ${rollupsOfSeries("usage_rollups_hourly", "?2 / 3600000 + n.value")}`,
    options.hours,
    options.from,
  ),
];
