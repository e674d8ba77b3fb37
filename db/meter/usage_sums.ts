// The SQL that reads usage: adding up rollups, never records.
import { rollupHourMs, rollupQuarterMs } from "../../domain/limits.ts";
import type { UsageWindow } from "../../domain/meter/usage_window.ts";
import { type Database, sql } from "../engine/database.ts";

/** What a usage query can be grouped by. */
export const usageGroups = ["productSlug", "metric", "apiKey"] as const;

/** One of {@linkcode usageGroups}. */
export type UsageGroup = (typeof usageGroups)[number];

/** Which usage: any of the values of each; what is left out matches everything. */
export interface UsageFilter {
  readonly productSlug?: readonly string[] | undefined;
  readonly metric?: readonly string[] | undefined;
  /** Ids of keys. */
  readonly apiKey?: readonly string[] | undefined;
}

/** Which usage to add up, of one organization. */
export interface UsageQuery extends UsageFilter {
  readonly organizationId: string;
  /** Stretches of time with a number each, by which their sums are told apart. */
  readonly windows: readonly (UsageWindow & { readonly position: number })[];
  readonly groupBy: readonly UsageGroup[];
  /** The length of the rollups; windows begin and end with one. */
  readonly unit: RollupUnit;
}

/** How long the rollups are that are added up. */
export type RollupUnit = "quarter" | "hour";

const rollups = {
  quarter: { table: "usage_rollups", column: "quarter", lengthMs: rollupQuarterMs },
  hour: { table: "usage_rollups_hourly", column: "hour", lengthMs: rollupHourMs },
} as const;

/** Sums of one window and group, in parts as texts; see `domain/meter/quantity.ts`. */
export interface UsageSumRow {
  readonly position: number;
  readonly productSlug?: string;
  readonly metric?: string;
  readonly apiKey?: string;
  readonly apiKeyName?: string;
  readonly count: number;
  readonly high: string;
  readonly low: string;
  readonly micro: string;
  readonly smallest: string;
  readonly largest: string;
}

const groupColumns: Readonly<Record<UsageGroup, string>> = {
  productSlug: "s.product_slug",
  metric: "s.metric",
  apiKey: "k.id",
};
/** What tells the groups apart, where names need not be in order. */
const seriesColumns: Readonly<Record<UsageGroup, string>> = {
  productSlug: "s.product_slug",
  metric: "s.metric",
  apiKey: "s.api_key",
};
const groupNames: Readonly<Record<UsageGroup, string>> = {
  productSlug: "s.product_slug AS productSlug, ",
  metric: "s.metric, ",
  apiKey: "k.id AS apiKey, k.name AS apiKeyName, ",
};

/**
 * Adds up rollups by window and group; never reads a record.
 *
 * @returns One row for each window and group that has records, by window.
 * @throws {DatabaseError}
 */
export function sumUsage(database: Database, query: UsageQuery): Promise<UsageSumRow[]> {
  const { table, column, lengthMs } = rollups[query.unit];
  const groups = query.groupBy.map((group) => groupNames[group]).join("");
  const windows = query.windows.map(({ position, start, end }) => [
    position,
    start / lengthMs,
    end / lengthMs,
  ]);
  const { texts, values } = filtersOf(query, 3);
  // In the order of the series' index, so that the rollups of one window are not sorted to be put together.
  const grouping = [
    ...usageGroups.filter((group) => query.groupBy.includes(group)).map((group) => seriesColumns[group]),
    ...(windows.length === 1 && query.groupBy.length > 0 ? [] : ["w.position"]),
  ];
  return database.read<UsageSumRow>(sql(
    `WITH w AS MATERIALIZED (
       SELECT value ->> 0 AS position, value ->> 1 AS first, value ->> 2 AS after FROM json_each(?1)
     )
     SELECT w.position, ${groups} sum(r.count) AS count, CAST(sum(r.sum_high) AS TEXT) AS high,
       CAST(sum(r.sum_low) AS TEXT) AS low, CAST(sum(r.sum_micro) AS TEXT) AS micro,
       CAST(min(r.smallest) AS TEXT) AS smallest, CAST(max(r.largest) AS TEXT) AS largest
     FROM usage_series s
     ${query.groupBy.includes("apiKey") ? "JOIN api_keys k ON k.number = s.api_key" : ""}
     CROSS JOIN w
     CROSS JOIN ${table} r ON r.series = s.id AND r.${column} >= w.first AND r.${column} < w.after AND r.count > 0
     WHERE s.organization = (SELECT number FROM organizations WHERE id = ?2)
       ${texts}
     GROUP BY ${grouping.join(", ")}
     ORDER BY w.position${query.groupBy.map((group) => `, ${groupColumns[group]}`).join("")}`,
    JSON.stringify(windows),
    query.organizationId,
    ...values,
  ));
}

/** What there is of some usage. */
export interface UsageExtent {
  /** How many series. */
  readonly series: number;
  /** From the first hour that has records to the end of the last one, in milliseconds since 1970; empty without records. */
  readonly start: number;
  readonly end: number;
}

/** @returns What there is of the usage that a query asks for, at any time. @throws {DatabaseError} */
export async function findUsageExtent(
  database: Database,
  query: UsageFilter & { readonly organizationId: string },
): Promise<UsageExtent> {
  const { texts, values } = filtersOf(query, 2);
  const row = await database.readFirst<{ series: number; first: number | null; last: number | null }>(sql(
    `SELECT count(*) AS series,
       min((SELECT min(r.hour) FROM usage_rollups_hourly r WHERE r.series = s.id)) AS first,
       max((SELECT max(r.hour) FROM usage_rollups_hourly r WHERE r.series = s.id)) AS last
     FROM usage_series s
     WHERE s.organization = (SELECT number FROM organizations WHERE id = ?1) ${texts}`,
    query.organizationId,
    ...values,
  ));
  const { series = 0, first = null, last = null } = row ?? {};
  if (first === null || last === null) return { series, start: 0, end: 0 };
  return { series, start: first * rollupHourMs, end: (last + 1) * rollupHourMs };
}

/**
 * @param first The number of the first parameter that is free.
 * @returns Conditions on a series `s`, and the values of their parameters.
 */
export function filtersOf(query: UsageFilter, first: number): { texts: string; values: string[] } {
  const anyOf = (parameter: string) => `IN (SELECT value FROM json_each(${parameter}))`;
  const conditions = [
    [query.productSlug, (values: string) => `s.product_slug ${values}`],
    [query.metric, (values: string) => `s.metric ${values}`],
    [query.apiKey, (values: string) => `s.api_key IN (SELECT number FROM api_keys WHERE id ${values})`],
  ] as const;
  const given = conditions.flatMap(([values, text]) => values === undefined ? [] : [{ values, text }]);
  return {
    texts: given.map(({ text }, index) => `AND ${text(anyOf(`?${first + index}`))}`).join(" "),
    values: given.map(({ values }) => JSON.stringify(values)),
  };
}

const nameColumns = { productSlug: "s.product_slug", metric: "s.metric" } as const;

/**
 * @param options `what`: which names. `filter`: only those of such series. `limit`: no more than so many.
 * @returns Names of the products or metrics that an organization recorded with, in order. @throws {DatabaseError}
 */
export async function listUsageNames(
  database: Database,
  { organizationId, what, filter, limit }: {
    organizationId: string;
    what: "productSlug" | "metric";
    filter: UsageFilter;
    limit: number;
  },
): Promise<string[]> {
  const { texts, values } = filtersOf(filter, 3);
  const rows = await database.read<{ name: string }>(sql(
    `SELECT DISTINCT ${nameColumns[what]} AS name FROM usage_series s
     WHERE s.organization = (SELECT number FROM organizations WHERE id = ?1) ${texts} ORDER BY 1 LIMIT ?2`,
    organizationId,
    limit,
    ...values,
  ));
  return rows.map(({ name }) => name);
}

/** A key that an organization recorded with. */
export interface UsageKeyRow {
  readonly id: string;
  readonly name: string;
  readonly keyPrefix: string;
}

/**
 * @param options `alsoId`: a key of the organization that is listed even if it has recorded nothing. `limit`: no more than
 *   so many, the newest.
 * @returns The keys that an organization recorded with. @throws {DatabaseError}
 */
export function listUsageKeys(
  database: Database,
  { organizationId, alsoId, limit }: { organizationId: string; alsoId: string | null; limit: number },
): Promise<UsageKeyRow[]> {
  return database.read(sql`SELECT k.id, k.name, k.key_prefix AS keyPrefix FROM api_keys k
     WHERE k.organization_id = ${organizationId} AND (k.id = ${alsoId} OR k.number IN (SELECT DISTINCT s.api_key FROM usage_series s
       WHERE s.organization = (SELECT number FROM organizations WHERE id = ${organizationId})))
     ORDER BY k.id = ${alsoId} DESC, k.id DESC LIMIT ${limit}`);
}
