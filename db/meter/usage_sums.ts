// The SQL that reads usage: adding up rollups, never records.
import { lowBits, sumMicros } from "../../domain/meter/quantity.ts";
import { rollupNumber, type RollupPiece, rollupsOf, rollupStart } from "../../domain/meter/rollup_unit.ts";
import type { Environment } from "../../domain/environment.ts";
import { currentKeyNumber } from "../access/mod.ts";
import { isUsageOf, organizationOf, usageNumbersOf } from "./environments.ts";
import { splitColumns, splitSource, splitValues, type UsageSplit } from "./dimension_sums.ts";
import { isInWindow, rollupTables } from "./rollup_columns.ts";
import { type DatabaseReader, integer, joinSql, sql, type Statement } from "../engine/database.ts";

export const usageGroups = ["productSlug", "metric", "apiKey"] as const;

export const operatorUsageGroups = ["organization", ...usageGroups] as const;

export type UsageGroup = (typeof operatorUsageGroups)[number];

/** Usage with any of the values of each; undefined matches everything. */
export interface UsageFilter {
  /** By the name of the property; `(none)` for records without it. */
  readonly properties?: Readonly<Record<string, readonly string[]>> | undefined;
  readonly productSlug?: readonly string[] | undefined;
  readonly metric?: readonly string[] | undefined;
  /** Without one: live, or with `apiKey`, that of these keys. */
  readonly environment?: Environment | undefined;
  /** The keys' ids. */
  readonly apiKey?: readonly string[] | undefined;
  /** True if a key and those that it replaced or that replaced it are one: its lineage. */
  readonly mergeRotations?: boolean | undefined;
  /** True if `apiKey` also names the other keys of its lineages; as `mergeRotations` if not set. */
  readonly namesLineages?: boolean | undefined;
}

/** Returns a function that says whether a row's product and metric are those of a filter. */
export const isOfMetrics =
  ({ productSlug, metric }: Pick<UsageFilter, "productSlug" | "metric">) =>
  (row: { readonly productSlug: string; readonly metric: string }): boolean =>
    (productSlug?.includes(row.productSlug) ?? true) && (metric?.includes(row.metric) ?? true);

/** A part of a window, with a number that identifies the window's sums. */
export interface PositionedPiece extends RollupPiece {
  readonly position: number;
}

export interface RollupQuery extends UsageFilter {
  /** Numbers of organizations; 0 for the totals of all. */
  readonly organizations: readonly number[];
  /** Pieces of one unit. */
  readonly pieces: readonly PositionedPiece[];
  readonly groupBy: readonly UsageGroup[];
  /** Sums the rollups of values instead of those of series. */
  readonly split?: UsageSplit | undefined;
}

/** Sums of one window and group, in millionths. */
export interface RollupSumRow {
  readonly position: number;
  /** The organization's number; like the other groups, null if the query is not grouped by it. */
  readonly organization: number | null;
  readonly productSlug: string | null;
  readonly metric: string | null;
  /** Also null for usage without a key. The number of the lineage, without a name, if rotations are merged. */
  readonly apiKey: string | null;
  readonly apiKeyName: string | null;
  /** JSON: the values of the properties that the sums are grouped by. Null without any. */
  readonly values: string | null;
  readonly count: number;
  readonly micros: bigint;
  readonly min: bigint;
  readonly max: bigint;
}

/** The columns that each group selects of a series `s` and its key `k`, and the column of the series that tells groups apart. */
const groupColumns = {
  organization: {
    select: [[organizationOf(sql`s.organization`), sql`organization`]],
    groupBy: sql`s.organization`,
  },
  productSlug: { select: [[sql`s.product_slug`, sql`productSlug`]], groupBy: sql`s.product_slug` },
  metric: { select: [[sql`s.metric`, sql`metric`]], groupBy: sql`s.metric` },
  apiKey: { select: [[sql`k.id`, sql`apiKey`], [sql`k.name`, sql`apiKeyName`]], groupBy: sql`s.api_key` },
} as const;

const lineageColumns = [[sql`CAST(k.lineage AS TEXT)`, sql`apiKey`], [sql`NULL`, sql`apiKeyName`]] as const;

/** The number by which tables of usage name an organization. */
export const numberOf = (organizationId: string) =>
  sql`(SELECT number FROM organizations WHERE id = ${organizationId})`;

const isInSeries = isInWindow({ organization: sql`s.organization`, series: sql`s.id` });

/**
 * The rollups of a window from which on each series is added up by itself. Fewer are grouped together, for which SQLite sorts all
 * of them.
 */
const rollupsOfLongWindow = 16;

/** Numbers are read as they are where JavaScript has all of their digits, and as texts otherwise. */
const [high, low, micro] = [sql`sum(r.sum_high)`, sql`sum(r.sum_low)`, sql`sum(r.sum_micro)`];
const sumOfRollups = sql`iif(${high} < 64 AND ${low} < 4000000000 AND ${micro} < 500000000000000,
  (${high} * ${
  integer(2 ** lowBits)
} + ${low}) * 1000000 + ${micro}, ${high} || ' ' || ${low} || ' ' || ${micro})`;
const extreme = (value: Statement) =>
  sql`iif(${value} < ${integer(Number.MAX_SAFE_INTEGER)}, ${value}, CAST(${value} AS TEXT))`;
const sumValues = sql`json_array(sum(r.count), ${sumOfRollups}, ${extreme(sql`min(r.smallest)`)},
  ${extreme(sql`max(r.largest)`)})`;

/** Returns one row for each window and group that has records, in no particular order. */
export async function sumRollups(database: DatabaseReader, query: RollupQuery): Promise<RollupSumRow[]> {
  const { pieces, organizations, split } = query;
  const [{ unit } = { unit: "quarter" as const }] = pieces;
  const windows = pieces.flatMap(({ position, start, end }) => {
    const [first, after] = [rollupNumber(unit, start), rollupNumber(unit, end)];
    if (unit !== "month") return [[position, first, after]];
    return Array.from({ length: after - first }, (_, n) => [position, first + n]);
  });
  // In the order of the index of series, so that the rollups of one window need not be sorted.
  const groups = operatorUsageGroups.filter((group) => query.groupBy.includes(group));
  const groupBy = groups.map((group) => groupColumns[group].groupBy);
  if (split !== undefined) groupBy.push(...splitColumns(split));
  if (windows.length > 1 || groupBy.length === 0) groupBy.push(sql`w.position`);
  const names = operatorUsageGroups.flatMap((group) => {
    const isMerged = group === "apiKey" && query.mergeRotations;
    return (isMerged ? lineageColumns : groupColumns[group].select).map(([column, name]) =>
      groups.includes(group) ? sql`${column} AS ${name}` : sql`NULL AS ${name}`
    );
  });
  const joinKeys = groups.includes("apiKey") ? sql`LEFT JOIN api_keys k ON k.number = s.api_key` : sql``;
  const range = {
    start: Math.min(...pieces.map(({ start }) => start)),
    end: Math.max(...pieces.map(({ end }) => end)),
  };
  const numbers = organizations.flatMap((number) => usageNumbersOf(number, query));
  const source = split && splitSource(split, { numbers, range, unit, joinKeys });
  const from = source?.from ?? sql`usage_series s ${joinKeys} CROSS JOIN w`;
  const isRollup = sql`${source?.isRollup ?? isInSeries[unit]} AND r.count > 0`;
  const rollupsOfAll = pieces.reduce((sum, piece) => sum + rollupsOf(piece), 0);
  const isLong = unit !== "month" && rollupsOfAll >= rollupsOfLongWindow * pieces.length;
  const row = await database.readFirst<{ json: string }>(sql`
    WITH w AS MATERIALIZED (
      SELECT value ->> 0 AS position, value ->> 1 AS first, value ->> 2 AS after
      FROM json_each(${JSON.stringify(windows)})
    ) ${source === undefined ? sql`` : sql`, ${source.table}`}
    SELECT json_group_array(json_array(position, organization, productSlug, metric, apiKey, apiKeyName, split,
      json(parts))) AS json
    FROM (
      SELECT w.position AS position, ${joinSql(names, ", ")}, ${
    split === undefined ? sql`NULL` : splitValues(split)
  } AS split, ${
    isLong
      ? sql`json_group_array(json((SELECT iif(count(*) > 0, ${sumValues}, NULL) FROM ${
        rollupTables[unit]
      } WHERE ${isRollup})))`
      : sql`json_array(${sumValues})`
  } AS parts
      FROM ${from} ${isLong ? sql`` : sql`CROSS JOIN ${rollupTables[unit]} ON ${isRollup}`}
      WHERE ${isOf(organizations, query)} ${seriesFilter(query)}
      GROUP BY ${joinSql(groupBy, ", ")})`);
  const rows = JSON.parse(row?.json ?? "[]") as SumRow[];
  return rows.flatMap(([position, organization, productSlug, metric, apiKey, apiKeyName, values, parts]) => {
    const sums = sumOfParts(parts);
    return sums === null
      ? []
      : [{ position, organization, productSlug, metric, apiKey, apiKeyName, values, ...sums }];
  });
}

type Name = string | null;
type SumRow = [
  position: number,
  organization: number | null,
  productSlug: Name,
  metric: Name,
  apiKey: Name,
  apiKeyName: Name,
  values: Name,
  parts: readonly (SumValues | null)[],
];
type SumValues = [count: number, sum: number | string, min: number | string, max: number | string];

/** Adds up parts, of which those without rollups are null. @returns Null if all are. */
function sumOfParts(parts: SumRow[7]): Pick<RollupSumRow, "count" | "micros" | "min" | "max"> | null {
  let sums: ReturnType<typeof sumOfParts> = null;
  for (const part of parts) {
    if (part === null) continue;
    const [count, sum, smallest, largest] = part;
    const micros = typeof sum === "number" ? BigInt(sum) : microsOf(sum);
    const [min, max] = [BigInt(smallest), BigInt(largest)];
    sums = sums === null ? { count, micros, min, max } : {
      count: sums.count + count,
      micros: sums.micros + micros,
      min: min < sums.min ? min : sums.min,
      max: max > sums.max ? max : sums.max,
    };
  }
  return sums;
}

function microsOf(digits: string): bigint {
  const [high = "0", low = "0", micro = "0"] = digits.split(" ");
  return sumMicros({ high, low, micro });
}

/** The condition that a series `s` belongs to one of some organizations, given by their numbers. */
function isOf(organizations: readonly number[], filter: UsageFilter): Statement {
  const numbers = organizations.flatMap((number) => usageNumbersOf(number, filter));
  const [only] = numbers;
  return numbers.length === 1 && only !== undefined
    ? sql`s.organization = ${only}`
    : sql`s.organization IN (SELECT value FROM json_each(${JSON.stringify(numbers)}))`;
}

export interface MeteredOrganization {
  readonly number: number;
  readonly series: number;
}

/** Returns organizations (null: all; `planId`: of this plan) that have usage and are not deleted, by number, from after `after`. */
export function findMeteredOrganizations(
  database: DatabaseReader,
  { ids, planId, after, limit }: {
    ids: readonly string[] | null;
    planId: string | undefined;
    after: number;
    limit: number;
  },
): Promise<MeteredOrganization[]> {
  const isWanted = ids === null
    ? sql``
    : sql`AND id IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`;
  const hasPlan = planId === undefined
    ? sql``
    : sql`AND plan = (SELECT number FROM plans WHERE id = ${planId})`;
  return database.read(sql`
    SELECT number, series FROM organizations
    WHERE number > ${after} AND deleted_at IS NULL AND series > 0 ${hasPlan} ${isWanted} ORDER BY number LIMIT ${limit}`);
}

export interface OrganizationNames {
  readonly organizationId: string;
  readonly organizationName: string;
  readonly externalId: string | null;
}

export async function findOrganizationNames(
  database: DatabaseReader,
  numbers: readonly number[],
): Promise<Map<number, OrganizationNames>> {
  const rows = await database.read<OrganizationNames & { number: number }>(sql`
    SELECT number, id AS organizationId, name AS organizationName, external_id AS externalId
    FROM organizations WHERE number IN (SELECT value FROM json_each(${JSON.stringify(numbers)}))`);
  return new Map(rows.map(({ number, ...names }) => [number, names]));
}

export async function countSeries(
  database: DatabaseReader,
  query: UsageFilter & Pick<RollupQuery, "organizations">,
): Promise<number> {
  const row = await database.readFirst<{ series: number }>(sql`
    SELECT count(*) AS series FROM usage_series s WHERE ${isOf(query.organizations, query)} ${
    seriesFilter(query)
  }`);
  return row?.series ?? 0;
}

/** The months `month` that any organization has. There are few, and rollups of one organization are found by month. */
export const allMonths = sql`(WITH RECURSIVE all_months (month) AS (
  SELECT min(month) FROM usage_rollups_monthly
  UNION ALL SELECT (SELECT min(r.month) FROM usage_rollups_monthly r WHERE r.month > a.month)
  FROM all_months a WHERE a.month IS NOT NULL)
  SELECT month FROM all_months WHERE month IS NOT NULL)`;

/** Returns the time from the first month with records to the end of the last one; empty without records. */
export async function findUsageExtent(
  database: DatabaseReader,
  organizations: readonly number[],
  filter: UsageFilter,
) {
  const row = await database.readFirst<{ first: number | null; last: number | null }>(sql`
    SELECT min(m.month) AS first, max(m.month) AS last FROM ${allMonths} m
    WHERE EXISTS (SELECT 1 FROM usage_rollups_monthly s WHERE s.month = m.month AND ${
    isOf(organizations, filter)
  })`);
  const { first = null, last = null } = row ?? {};
  if (first === null || last === null) return { start: 0, end: 0 };
  return { start: rollupStart("month", first), end: rollupStart("month", last + 1) };
}

/** Further conditions on a series `s`, each beginning with `AND`. */
export function seriesFilter(
  { productSlug, metric, apiKey, mergeRotations, namesLineages = mergeRotations }: UsageFilter,
): Statement {
  const isIn = (values: readonly string[]) =>
    sql`IN (SELECT value FROM json_each(${JSON.stringify(values)}))`;
  const conditions = [
    productSlug && sql`AND s.product_slug ${isIn(productSlug)}`,
    metric && sql`AND s.metric ${isIn(metric)}`,
    apiKey && sql`AND s.api_key IN (${keyNumbers(isIn(apiKey), namesLineages)})`,
  ];
  return joinSql(conditions.filter((condition) => condition !== undefined), " ");
}

function keyNumbers(areIds: Statement, mergeRotations = false): Statement {
  return mergeRotations
    ? sql`SELECT number FROM api_keys WHERE lineage IN (SELECT lineage FROM api_keys WHERE id ${areIds})`
    : sql`SELECT number FROM api_keys WHERE id ${areIds}`;
}

/** Returns sorted names of the products or metrics that an organization has recorded, of series that match a filter. */
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
    WHERE ${isUsageOf(sql`s.organization`, numberOf(organizationId), filter)} ${seriesFilter(filter)}
    ORDER BY 1 LIMIT ${limit}`);
  return rows.map(({ name }) => name);
}

interface UsageKey {
  readonly id: string;
  readonly name: string;
  readonly keyPrefix: string;
  /** The id of the user who created it. */
  readonly createdBy: string | null;
  readonly revokedAt: number | null;
  readonly expiresAt: number | null;
  readonly hasAlso: 0 | 1;
}

/**
 * @param options `alsoId`: a key of the organization whose lineage to list even if it has recorded nothing. `limit`: the maximum
 *   number of lineages, newest first.
 * @returns The current key of each lineage that an organization has recorded with. `hasAlso`: whether it is that of `alsoId`.
 */
export function listUsageKeys(
  database: DatabaseReader,
  { organizationId, environment, alsoId, limit, now }: {
    organizationId: string;
    environment: Environment;
    alsoId: string | null;
    limit: number;
    now: number;
  },
): Promise<UsageKey[]> {
  const also = sql`SELECT lineage FROM api_keys WHERE organization_id = ${organizationId} AND id = ${alsoId}
    AND environment = ${environment}`;
  return database.read(sql`
    WITH used AS (
      SELECT DISTINCT k.lineage FROM usage_series s JOIN api_keys k ON k.number = s.api_key
      WHERE ${
    isUsageOf(sql`s.organization`, numberOf(organizationId), { environment })
  } ORDER BY 1 DESC LIMIT ${limit}
    ), l AS MATERIALIZED (SELECT lineage FROM used UNION ${also})
    SELECT c.id, c.name, c.key_prefix AS keyPrefix, c.created_by AS createdBy, c.revoked_at AS revokedAt,
      c.expires_at AS expiresAt, l.lineage IN (${also}) AS hasAlso
    FROM l JOIN api_keys c ON c.number = ${currentKeyNumber(sql`l.lineage`, now)}
    ORDER BY c.id DESC`);
}
