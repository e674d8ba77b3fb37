// The SQL of declared dimensions: the catalogue's list of them, filling those that were declared after usage was recorded, and deleting
// the sums of those that were removed.
import type { DimensionNames } from "../../domain/meter/dimension.ts";
import { rollupQuarterMs, usageTimestampFutureMaxMs } from "../../domain/limits.ts";
import { type Database, type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import { addByValue, dimensionSumsNumber, moveValues } from "./dimensions.ts";
import { testTotalsNumber } from "./environments.ts";
import { addToAll } from "./rollups.ts";
import { allMonths } from "./usage_sums.ts";
import { isCharged } from "./value_prices.ts";

const quarterMs = integer(rollupQuarterMs);

/** A dimension that is in the catalogue, or one that is kept for adjustments of closed months. */
export interface DimensionRow {
  readonly number: number;
  readonly productSlug: string;
  readonly metric: string;
  /** JSON: the names of its properties. */
  readonly names: string;
  /** Milliseconds since 1970; null if its sums have all usage. */
  readonly completeSince: number | null;
  readonly isKept: 0 | 1;
  /** 1 if its values have or had prices. */
  readonly isPriced: 0 | 1;
}

/** Returns the dimensions of all metrics by product, metric and age. @param options `withKept`: also those that are kept. */
export function findDimensions(database: DatabaseReader, { withKept = false } = {}): Promise<DimensionRow[]> {
  return database.read(sql`
    SELECT d.number, d.product AS productSlug, d.metric, d.names, d.complete_since AS completeSince, d.is_kept AS isKept,
      EXISTS (SELECT 1 FROM value_prices v WHERE v.product = d.product AND v.metric = d.metric AND v.names = d.names)
        AS isPriced
    FROM usage_dimensions d WHERE d.removed_at IS NULL AND d.is_kept <= ${withKept ? 1 : 0}
    ORDER BY d.product, d.metric, d.number`);
}

/**
 * Replaces the dimensions of a product, and keeps those that it has already. New ones count what is recorded from now on, and
 * {@linkcode fill} adds what was recorded before.
 */
export function replaceDimensions(
  productSlug: string,
  metrics: readonly { readonly slug: string; readonly dimensions: readonly DimensionNames[] }[],
  { now, if: condition }: { now: number; if: Statement },
): Statement[] {
  const list = metrics.flatMap(({ slug, dimensions }) =>
    dimensions.map((names) => [slug, JSON.stringify(names), ...names])
  );
  const wanted = sql`json_each(${JSON.stringify(list)}) w`;
  return [
    sql`UPDATE usage_dimensions AS d SET (removed_at, is_kept) = (SELECT iif(c, NULL, ${now}), c
        FROM (SELECT ${isCharged(sql`d`)} AS c))
      WHERE product = ${productSlug} AND removed_at IS NULL
      AND (metric, names) NOT IN (SELECT w.value ->> 0, w.value ->> 1 FROM ${wanted}) AND ${condition}`,
    sql`INSERT INTO usage_dimensions (product, metric, names, name_1, name_2, name_3, unfilled_seq, complete_since)
      SELECT ${productSlug}, w.value ->> 0, w.value ->> 1, w.value ->> 2, w.value ->> 3, w.value ->> 4,
        iif(isUsed, c.seq, 0), iif(isUsed, ${now} + ${integer(usageTimestampFutureMaxMs)}, NULL)
      FROM (SELECT w.key, w.value, EXISTS (SELECT 1 FROM usage_series s WHERE s.organization IN (0, ${
      integer(testTotalsNumber)
    }) AND s.product_slug = ${productSlug} AND s.metric = w.value ->> 0) AS isUsed FROM ${wanted}) w
      CROSS JOIN usage_cursor c ON c.only_row = 1 WHERE ${condition} ORDER BY w.key
      ON CONFLICT (product, metric, names) WHERE removed_at IS NULL DO UPDATE SET is_kept = 0`,
  ];
}

/** The next step of filling a row: the records of its metric from `unfilledSeq` down to `oldest`, which is null if there are none at all. */
export interface FillStep {
  readonly number: number;
  readonly unfilledSeq: number;
  readonly oldest: number | null;
  /** When the oldest was recorded. Retention may delete it before the step is written. */
  readonly recordedAt: number | null;
  readonly seqs: readonly number[];
}

/** For each record that a step adds, it passes this many of other metrics, which are only read. */
const passedMax = 20;

/** The quarter of an hour of the metric's first usage, for a row `u` of such a table. */
export const firstUsage = sql`(SELECT min(m.first_quarter) FROM usage_series s CROSS JOIN ${allMonths} a
    CROSS JOIN usage_rollups_monthly m ON m.month = a.month AND m.organization = s.organization AND m.series = s.id
    WHERE s.organization IN (0, ${integer(testTotalsNumber)})
      AND s.product_slug = u.product AND s.metric = u.metric)`;

/** Records can be this much older than their metric's first usage, if a clock was set back. */
const clockErrorMaxMs = 24 * 3_600_000;

/** A table with the columns of `usage_dimensions`, whose rows are filled. */
export interface FilledTable {
  readonly table: Statement;
  /** Adds records `r` for the row with a number, by a query for their series. */
  readonly add: (
    number: number,
    added: { readonly series: Statement; readonly records: Statement },
  ) => readonly Statement[];
}

export const filledDimensions: FilledTable = {
  table: sql`usage_dimensions`,
  add: (number, added) => [
    addByValue({ ...added, dimension: sql`d.number = ${number}` }),
    ...moveValues,
    ...addToAll,
  ],
};

/** Finds the next step for the first row of a table that isn't filled. */
export async function findFillStep(
  database: DatabaseReader,
  { table }: FilledTable,
  recordsMax: number,
): Promise<FillStep | undefined> {
  const row = await database.readFirst<Pick<FillStep, "number" | "unfilledSeq">>(sql`
    SELECT number, unfilled_seq AS unfilledSeq FROM ${table}
    WHERE removed_at IS NULL AND unfilled_seq > 0 ORDER BY number LIMIT 1`);
  if (row === undefined) return undefined;
  const isOfMetric = sql`EXISTS (SELECT 1 FROM ${table} u CROSS JOIN usage_series s ON s.id = r.series
    AND s.product_slug = u.product AND s.metric = u.metric WHERE u.number = ${row.number})`;
  const last = sql`SELECT r.seq, r.series, r.recorded_at FROM usage_records r
    WHERE r.seq <= ${row.unfilledSeq} ORDER BY r.seq DESC LIMIT ${passedMax * recordsMax}`;
  // Those of the metric, and the last record that is passed.
  const found = await database.read<{ seq: number; recordedAt: number; isOfMetric: 0 | 1 }>(sql`
    SELECT seq, recorded_at AS recordedAt, isOfMetric FROM (
      SELECT r.seq, r.recorded_at, ${isOfMetric} AS isOfMetric, min(r.seq) OVER () AS last FROM (${last}) r)
    WHERE isOfMetric OR seq = last ORDER BY seq DESC`);
  const records = found.filter(({ isOfMetric }) => isOfMetric === 1).slice(0, recordsMax);
  const oldest = records.length === recordsMax ? records.at(-1) : found.at(-1);
  return {
    ...row,
    oldest: oldest?.seq ?? null,
    recordedAt: oldest?.recordedAt ?? null,
    seqs: records.map(({ seq }) => seq),
  };
}

/**
 * Adds some of the records from before a row was declared, the newest first. Does nothing if another server has done the step. What is
 * recorded and voided meanwhile is counted by those who do it, depending on which side of `unfilled_seq` the record is.
 */
export function fill(
  { table, add }: FilledTable,
  { number, unfilledSeq, oldest, recordedAt, seqs }: FillStep,
): Statement[] {
  const isNext = sql`number = ${number} AND removed_at IS NULL AND unfilled_seq = ${unfilledSeq}`;
  const records = sql`r.seq IN (SELECT value FROM json_each(${JSON.stringify(seqs)}))
    AND EXISTS (SELECT 1 FROM ${table} WHERE ${isNext})
    AND NOT EXISTS (SELECT 1 FROM usage_voids v WHERE v.seq = r.seq)`;
  const hasOlder = sql`(EXISTS (SELECT 1 FROM usage_records r WHERE r.seq < ${oldest})
    AND NOT coalesce(${recordedAt} + ${integer(clockErrorMaxMs)} <= ${firstUsage} * ${quarterMs}, false))`;
  return [
    ...add(number, { series: sql`SELECT DISTINCT r.series FROM usage_records r WHERE ${records}`, records }),
    // Records that retention had deleted are missing, unless the oldest one is older than all usage of the metric.
    sql`UPDATE ${table} AS u SET
      complete_since = iif(NOT ${hasOlder} AND (${oldest} IS NULL OR ${oldest} = 1
          OR ${recordedAt} <= ${firstUsage} * ${quarterMs}),
        iif(${oldest} IS NULL, complete_since, NULL), ${recordedAt} + ${integer(usageTimestampFutureMaxMs)}),
      unfilled_seq = iif(${hasOlder}, ${oldest} - 1, 0)
      WHERE ${isNext}`,
  ];
}

/** Returns statements that delete the rollups of values, then the values' series. @param series Selects some of their ids. */
export function deleteValueSeries(series: Statement, rollupsMax: number): Statement[] {
  const [max, isTheirs] = [integer(rollupsMax), sql`IN (SELECT -id FROM (${series}))`];
  const months = sql`SELECT r.month, r.organization, r.series FROM usage_dimension_series ds
    JOIN usage_dimension_values v ON v.number = ds.value JOIN usage_rollups_monthly r
      ON r.month = v.month AND r.organization = ${integer(dimensionSumsNumber)} AND r.series = -ds.id
    WHERE ds.id IN (${series}) LIMIT ${max}`;
  return [
    sql`DELETE FROM usage_rollups WHERE (series, quarter) IN
      (SELECT r.series, r.quarter FROM usage_rollups r WHERE r.series ${isTheirs} LIMIT ${max})`,
    sql`DELETE FROM usage_rollups_hourly WHERE (series, hour) IN
      (SELECT r.series, r.hour FROM usage_rollups_hourly r WHERE r.series ${isTheirs} LIMIT ${max})`,
    sql`DELETE FROM usage_rollups_monthly WHERE (month, organization, series) IN (${months})`,
    sql`DELETE FROM usage_dimension_series WHERE id IN (${series})
      AND NOT EXISTS (SELECT 1 FROM usage_rollups r WHERE r.series = -usage_dimension_series.id)
      AND NOT EXISTS (SELECT 1 FROM usage_rollups_hourly r WHERE r.series = -usage_dimension_series.id)
      AND NOT EXISTS (${months})`,
  ];
}

/** Deletes some of the sums of a dimension that isn't in the catalogue anymore, and finally the dimension. */
export async function deleteRemovedDimension(
  database: Database,
  { seriesMax, rollupsMax }: { seriesMax: number; rollupsMax: number },
): Promise<boolean> {
  const removed = await database.readFirst<{ number: number }>(
    sql`SELECT number FROM usage_dimensions WHERE removed_at IS NOT NULL LIMIT 1`,
  );
  if (removed === undefined) return false;
  const number =
    sql`(SELECT number FROM usage_dimensions WHERE number = ${removed.number} AND removed_at IS NOT NULL)`;
  const values =
    sql`SELECT number FROM usage_dimension_values WHERE dimension = ${number} LIMIT ${seriesMax}`;
  const series = sql`SELECT id FROM usage_dimension_series WHERE value IN (${values}) LIMIT ${seriesMax}`;
  await database.write([
    ...deleteValueSeries(series, rollupsMax),
    sql`DELETE FROM usage_dimension_values WHERE number IN (${values})
      AND NOT EXISTS (SELECT 1 FROM usage_dimension_series ds WHERE ds.value = usage_dimension_values.number)`,
    sql`DELETE FROM usage_priced_values WHERE dimension = ${number}`,
    sql`DELETE FROM usage_dimensions WHERE number = ${number}
      AND NOT EXISTS (SELECT 1 FROM usage_dimension_values v WHERE v.dimension = usage_dimensions.number)`,
  ]);
  return true;
}
