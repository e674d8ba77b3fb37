// The SQL that reads usage: adding up rollups, never records.
import { rollupHourMs, rollupQuarterMs } from "../../domain/limits.ts";
import type { UsageWindow } from "../../domain/meter/usage_window.ts";
import { type DatabaseReader, joinSql, sql, type Statement } from "../engine/database.ts";

/** What a usage query can be grouped by. */
export const usageGroups = ["productSlug", "metric", "apiKey"] as const;

/** One of {@linkcode usageGroups}. */
export type UsageGroup = (typeof usageGroups)[number];

/** Usage with any of the values of each; undefined matches everything. */
export interface UsageFilter {
  readonly productSlug?: readonly string[] | undefined;
  readonly metric?: readonly string[] | undefined;
  /** Ids of keys. */
  readonly apiKey?: readonly string[] | undefined;
}

/** Which rollups of one organization to add up. */
export interface RollupQuery extends UsageFilter {
  readonly organizationId: string;
  /** Each with a number by which its sums are recognized. They begin and end with a rollup. */
  readonly windows: readonly (UsageWindow & { readonly position: number })[];
  readonly groupBy: readonly UsageGroup[];
  /** The length of the rollups. */
  readonly unit: keyof typeof rollups;
}

const rollups = {
  quarter: { table: sql`usage_rollups`, column: sql`quarter`, lengthMs: rollupQuarterMs },
  hour: { table: sql`usage_rollups_hourly`, column: sql`hour`, lengthMs: rollupHourMs },
};

/** Sums of one window and group, as texts; see `domain/meter/quantity.ts`. */
export interface RollupSumRow {
  readonly position: number;
  readonly productSlug?: string;
  readonly metric?: string;
  /** Null for usage without a key. */
  readonly apiKey?: string | null;
  readonly apiKeyName?: string | null;
  readonly count: number;
  readonly high: string;
  readonly low: string;
  readonly micro: string;
  readonly smallest: string;
  readonly largest: string;
}

/** What each group selects of a series `s` and its key `k`, and the column of the series that tells groups apart. */
const groupColumns = {
  productSlug: { select: sql`s.product_slug AS productSlug,`, groupBy: sql`s.product_slug` },
  metric: { select: sql`s.metric,`, groupBy: sql`s.metric` },
  apiKey: { select: sql`k.id AS apiKey, k.name AS apiKeyName,`, groupBy: sql`s.api_key` },
};

/** The number by which tables of usage name an organization. */
export const numberOf = (organizationId: string) =>
  sql`(SELECT number FROM organizations WHERE id = ${organizationId})`;

/**
 * Adds up rollups by window and group.
 *
 * @returns One row for each window and group that has records, in no particular order.
 * @throws {DatabaseError}
 */
export function sumRollups(database: DatabaseReader, query: RollupQuery): Promise<RollupSumRow[]> {
  const { table, column, lengthMs } = rollups[query.unit];
  const windows = query.windows.map(({ position, start, end }) => [
    position,
    start / lengthMs,
    end / lengthMs,
  ]);
  // In the order of the index of series, so that the rollups of one window need not be sorted.
  const groups = usageGroups.filter((group) => query.groupBy.includes(group))
    .map((group) => groupColumns[group]);
  const groupBy = groups.map((group) => group.groupBy);
  if (windows.length > 1 || groups.length === 0) groupBy.push(sql`w.position`);
  const select = joinSql(groups.map((group) => group.select), " ");
  const joinKeys = query.groupBy.includes("apiKey")
    ? sql`LEFT JOIN api_keys k ON k.number = s.api_key`
    : sql``;
  return database.read<RollupSumRow>(sql`
    WITH w AS MATERIALIZED (
      SELECT value ->> 0 AS position, value ->> 1 AS first, value ->> 2 AS after
      FROM json_each(${JSON.stringify(windows)})
    )
    SELECT w.position, ${select} sum(r.count) AS count, CAST(sum(r.sum_high) AS TEXT) AS high,
      CAST(sum(r.sum_low) AS TEXT) AS low, CAST(sum(r.sum_micro) AS TEXT) AS micro,
      CAST(min(r.smallest) AS TEXT) AS smallest, CAST(max(r.largest) AS TEXT) AS largest
    FROM usage_series s ${joinKeys} CROSS JOIN w
    CROSS JOIN ${table} r ON r.series = s.id AND r.${column} >= w.first AND r.${column} < w.after AND r.count > 0
    WHERE s.organization = ${numberOf(query.organizationId)} ${seriesFilter(query)}
    GROUP BY ${joinSql(groupBy, ", ")}`);
}

/** See {@linkcode findUsageExtent}. */
export type UsageExtent = Awaited<ReturnType<typeof findUsageExtent>>;

/**
 * @returns How many series match a query, and the time from their first hour with records to the end of the last one, in
 *   milliseconds since 1970; empty without records.
 * @throws {DatabaseError}
 */
export async function findUsageExtent(
  database: DatabaseReader,
  query: UsageFilter & { readonly organizationId: string },
) {
  const row = await database.readFirst<{ series: number; first: number | null; last: number | null }>(sql`
    SELECT count(*) AS series,
      min((SELECT min(r.hour) FROM usage_rollups_hourly r WHERE r.series = s.id)) AS first,
      max((SELECT max(r.hour) FROM usage_rollups_hourly r WHERE r.series = s.id)) AS last
    FROM usage_series s WHERE s.organization = ${numberOf(query.organizationId)} ${seriesFilter(query)}`);
  const { series = 0, first = null, last = null } = row ?? {};
  if (first === null || last === null) return { series, start: 0, end: 0 };
  return { series, start: first * rollupHourMs, end: (last + 1) * rollupHourMs };
}

/** @returns Further conditions on a series `s`, each beginning with `AND`. */
export function seriesFilter({ productSlug, metric, apiKey }: UsageFilter): Statement {
  const isIn = (values: readonly string[]) =>
    sql`IN (SELECT value FROM json_each(${JSON.stringify(values)}))`;
  const conditions = [
    productSlug && sql`AND s.product_slug ${isIn(productSlug)}`,
    metric && sql`AND s.metric ${isIn(metric)}`,
    apiKey && sql`AND s.api_key IN (SELECT number FROM api_keys WHERE id ${isIn(apiKey)})`,
  ];
  return joinSql(conditions.filter((condition) => condition !== undefined), " ");
}

/**
 * @param options `column`: which names. `filter`: only of such series. `limit`: the maximum number of names.
 * @returns Sorted names of the products or metrics that an organization has recorded. @throws {DatabaseError}
 */
export async function listUsageNames(
  database: DatabaseReader,
  { organizationId, column, filter, limit }: {
    organizationId: string;
    column: "productSlug" | "metric";
    filter: UsageFilter;
    limit: number;
  },
): Promise<string[]> {
  const rows = await database.read<{ name: string }>(sql`
    SELECT DISTINCT ${groupColumns[column].groupBy} AS name FROM usage_series s
    WHERE s.organization = ${numberOf(organizationId)} ${seriesFilter(filter)}
    ORDER BY 1 LIMIT ${limit}`);
  return rows.map(({ name }) => name);
}

/**
 * @param options `alsoId`: a key of the organization to list even if it has recorded nothing. `limit`: the maximum number of
 *   keys, newest first.
 * @returns The keys that an organization has recorded with. @throws {DatabaseError}
 */
export function listUsageKeys(
  database: DatabaseReader,
  { organizationId, alsoId, limit }: { organizationId: string; alsoId: string | null; limit: number },
): Promise<{ id: string; name: string; keyPrefix: string }[]> {
  return database.read(sql`
    SELECT k.id, k.name, k.key_prefix AS keyPrefix FROM api_keys k
    WHERE k.organization_id = ${organizationId} AND (k.id = ${alsoId} OR k.number IN (
      SELECT DISTINCT s.api_key FROM usage_series s WHERE s.organization = ${numberOf(organizationId)}))
    ORDER BY k.id = ${alsoId} DESC, k.id DESC LIMIT ${limit}`);
}
