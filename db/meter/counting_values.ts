// The SQL that reads latest quantities and distinct values of windows.
import { quantityMicros } from "../../domain/meter/quantity.ts";
import { nearestMonth, rollupNumber, rollupStart } from "../../domain/meter/rollup_unit.ts";
import type { UsageWindow } from "../../domain/meter/usage_window.ts";
import { type DatabaseReader, joinSql, sql, type Statement } from "../engine/database.ts";
import type { AggregationRow } from "./aggregation_list.ts";
import { organizationOf, usageNumbersOf } from "./environments.ts";
import { seriesFilter, type UsageFilter } from "./usage_sums.ts";

export type PositionedWindow = UsageWindow & { readonly position: number };

export interface CountedQuery {
  readonly aggregations: readonly AggregationRow[];
  readonly windows: readonly PositionedWindow[];
  /** The organizations' numbers. */
  readonly organizations: readonly number[];
  readonly filter: UsageFilter;
  /** Groups values by key, by lineage of keys, or not by key. */
  readonly keys: "each" | "lineages" | "none";
}

/** The names of a row, as in `RollupSumRow`. */
interface CountedRow {
  readonly position: number;
  readonly organization: number;
  readonly productSlug: string;
  readonly metric: string;
  readonly apiKey: string | null;
}

const keyColumns = { each: sql`k.id`, lineages: sql`CAST(k.lineage AS TEXT)`, none: sql`NULL` };

/** The series `s` of the aggregations `g`, with their keys `k`. */
function seriesOf({ aggregations, organizations, filter }: CountedQuery): Statement {
  const list = JSON.stringify(aggregations.map((one) => [one.number, one.productSlug, one.metric]));
  const numbers = JSON.stringify(organizations.flatMap((number) => usageNumbersOf(number, filter)));
  return sql`json_each(${list}) g CROSS JOIN json_each(${numbers}) o
    CROSS JOIN usage_series s ON s.organization = o.value AND s.product_slug = g.value ->> 1
      AND s.metric = g.value ->> 2 ${seriesFilter(filter)}
    LEFT JOIN api_keys k ON k.number = s.api_key`;
}

const names = (key: Statement) =>
  sql`${
    organizationOf(sql`s.organization`)
  } AS organization, s.product_slug AS productSlug, s.metric, ${key} AS apiKey`;

export interface LatestRow extends CountedRow {
  readonly timestamp: number;
  /** 0 if the latest quantity is unknown. */
  readonly seq: number;
  readonly micros: bigint;
}

/** Returns the latest quantity of each series in each window, if there is one. */
export async function findLatest(database: DatabaseReader, query: CountedQuery): Promise<LatestRow[]> {
  const list = query.windows.map(({ position, start, end }) => [
    position,
    rollupNumber("quarter", start),
    rollupNumber("quarter", end),
  ]);
  const rows = await database.read<
    CountedRow & { timestamp: number; seq: number; whole: number; micro: number }
  >(sql`
    SELECT w.value ->> 0 AS position, ${names(keyColumns[query.keys])}, l.timestamp, l.seq,
      l.quantity_whole AS whole, l.quantity_micro AS micro
    FROM ${seriesOf(query)} CROSS JOIN json_each(${JSON.stringify(list)}) w
    CROSS JOIN usage_latest l ON l.aggregation = g.value ->> 0 AND l.series = s.id AND l.quarter = (
      SELECT max(x.quarter) FROM usage_latest x WHERE x.aggregation = g.value ->> 0 AND x.series = s.id
        AND x.quarter >= w.value ->> 1 AND x.quarter < w.value ->> 2)`);
  return rows.map(({ whole, micro, ...row }) => ({ ...row, micros: quantityMicros({ whole, micro }) }));
}

/** Windows up to this length are read by quarters of an hour alone, in milliseconds. */
const quartersOnlyMs = 14 * 24 * 3_600_000;

/** Divides a window into months, and quarters of an hour to add or subtract. */
function partsOf({ position, start, end }: PositionedWindow) {
  const isShort = end - start <= quartersOnlyMs;
  const [first, next] = isShort ? [0, 0] : [nearestMonth(start), nearestMonth(end)];
  const edge = (from: number, to: number) => [
    position,
    from < to ? 1 : -1,
    rollupNumber("quarter", Math.min(from, to)),
    rollupNumber("quarter", Math.max(from, to)),
  ];
  if (first >= next) return { months: [], quarters: [edge(start, end)] };
  return {
    months: [[position, 1, first, next]],
    quarters: [edge(start, rollupStart("month", first)), edge(rollupStart("month", next), end)]
      .filter(([, , from, to]) => from !== to),
  };
}

export interface UniqueRow extends CountedRow {
  readonly values: number;
}

/**
 * Counts the distinct values of each organization, or of each key, in each window. A month of any time zone is read as one of UTC, with
 * the quarters of an hour by which it differs.
 */
export async function countUnique(database: DatabaseReader, query: CountedQuery): Promise<UniqueRow[]> {
  const parts = query.windows.map(partsOf);
  const isOneMonth = query.windows.every(({ start, end }) =>
    rollupNumber("month", start) === rollupNumber("month", end - 1)
  );
  const series = seriesOf(query);
  const key = { each: sql`s.api_key`, lineages: sql`k.lineage`, none: sql`NULL` }[query.keys];
  const tables = [
    { list: parts.flatMap(({ months }) => months), table: sql`usage_unique_months`, column: sql`month` },
    {
      list: parts.flatMap(({ quarters }) => quarters),
      table: sql`usage_unique_quarters`,
      column: sql`quarter`,
    },
  ];
  const pieces = tables.filter(({ list }) => list.length > 0).map(({ list, table, column }) =>
    sql`SELECT w.value ->> 0 AS position, s.organization, u.aggregation, ${key} AS "key", u.value,
        (w.value ->> 1) * u.count AS count
      FROM ${series} CROSS JOIN json_each(${JSON.stringify(list)}) w
      CROSS JOIN ${table} u ON u.aggregation = g.value ->> 0 AND u.series = s.id
        AND u.${column} >= w.value ->> 2 AND u.${column} < w.value ->> 3`
  );
  // The numbers of values differ between months. Grouping numbers is several times as fast as grouping names.
  const all = isOneMonth
    ? sql`SELECT * FROM (${joinSql(pieces, " UNION ALL ")})`
    : sql`SELECT p.position, p.organization, p.aggregation, p."key", v.value, p.count
      FROM (${joinSql(pieces, " UNION ALL ")}) p CROSS JOIN usage_unique_values v ON v.number = p.value`;
  const rows = await database.read<Omit<UniqueRow, "productSlug" | "metric"> & { aggregation: number }>(sql`
    SELECT n.position, ${organizationOf(sql`n.organization`)} AS organization, n.aggregation, ${
    query.keys === "each"
      ? sql`(SELECT k.id FROM api_keys k WHERE k.number = n."key")`
      : sql`CAST(n."key" AS TEXT)`
  } AS apiKey, n."values"
    FROM (SELECT position, organization, aggregation, "key", count(*) AS "values" FROM (
        SELECT position, organization, aggregation, "key", value FROM (${all})
        GROUP BY 1, 2, 3, 4, 5 HAVING sum(count) > 0)
      GROUP BY 1, 2, 3, 4) n`);
  const named = new Map(query.aggregations.map((one) => [one.number, one]));
  return rows.map(({ aggregation, ...row }) => {
    const { productSlug = "", metric = "" } = named.get(aggregation) ?? {};
    return { ...row, productSlug, metric };
  });
}

/** Returns the months of organizations that have more distinct values than are counted. */
export function findCappedMonths(
  database: DatabaseReader,
  { aggregations, organizations, filter }: CountedQuery,
): Promise<{ organization: number; aggregation: number; month: number }[]> {
  const numbers = JSON.stringify(organizations.flatMap((number) => usageNumbersOf(number, filter)));
  return database.read(sql`
    SELECT ${organizationOf(sql`l.organization`)} AS organization, l.aggregation, l.month
    FROM json_each(${
    JSON.stringify(aggregations.map(({ number }) => number))
  }) g CROSS JOIN json_each(${numbers}) o
    CROSS JOIN usage_unique_limits l ON l.aggregation = g.value AND l.organization = o.value AND l.others > 0`);
}
