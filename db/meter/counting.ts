// The SQL of stored values for metrics that count the latest quantity or distinct values: recording, voiding and deleting them. See
// decision 93. Sums, numbers of records and largest quantities are in the rollups.
import { rollupQuarterMs } from "../../domain/limits.ts";
import { uniqueValuesMax } from "../../domain/meter/aggregation.ts";
import { type Database, integer, joinSql, sql, type Statement } from "../engine/database.ts";
import { testTotalsNumber } from "./environments.ts";
import { monthOf } from "./rollup_columns.ts";

const quarterMs = integer(rollupQuarterMs);

/** True if the database has a metric for which the recorder stores more than rollups. */
export const hasCounting = sql`EXISTS (SELECT 1 FROM usage_aggregations
  WHERE removed_at IS NULL AND aggregation IN ('last', 'unique'))`;

/** The aggregation `g` of a series `s`. */
export const isAggregationOf =
  sql`g.product = s.product_slug AND g.metric = s.metric AND g.removed_at IS NULL`;

export const isVoided = (seq: Statement): Statement =>
  sql`EXISTS (SELECT 1 FROM usage_voids w WHERE w.seq = ${seq})`;

interface Added {
  /** A query for the series of the records. */
  readonly series: Statement;
  /** A condition of the records `r`. */
  readonly records: Statement;
  /** A condition of the aggregation `g`. */
  readonly aggregation: Statement;
}

const seriesOf = ({ series, aggregation }: Added, kind: Statement) =>
  sql`w AS MATERIALIZED (
    SELECT s.id AS series, s.organization, g.number, g.property
    FROM (${series}) a CROSS JOIN usage_series s ON s.id = a.series
    CROSS JOIN usage_aggregations g ON ${isAggregationOf} AND g.aggregation = ${kind} AND ${aggregation}
    WHERE s.organization NOT IN (0, ${integer(testTotalsNumber)})
  )`;

/** Keeps the latest records. An unknown one stays unknown, because its time is after all others of its quarter. */
const addLatest = (added: Added): Statement =>
  sql`WITH ${seriesOf(added, sql`'last'`)}, ranked AS (
    SELECT w.number, r.*, row_number() OVER (PARTITION BY r.series, r.timestamp / ${quarterMs}
      ORDER BY r.timestamp DESC, r.seq DESC) AS rank
    FROM usage_records r CROSS JOIN w ON w.series = r.series
    WHERE ${added.records} AND EXISTS (SELECT 1 FROM w)
  )
  INSERT INTO usage_latest (aggregation, series, quarter, timestamp, seq, quantity_whole, quantity_micro)
  SELECT number, series, timestamp / ${quarterMs}, timestamp, seq, quantity_whole, quantity_micro
  FROM ranked WHERE rank = 1
  ON CONFLICT (aggregation, series, quarter) DO UPDATE SET timestamp = excluded.timestamp, seq = excluded.seq,
    quantity_whole = excluded.quantity_whole, quantity_micro = excluded.quantity_micro
    WHERE (excluded.timestamp, excluded.seq) > (usage_latest.timestamp, usage_latest.seq)`;

/** The number of the value of a row `a`; null if it isn't one of those of its month. */
const valueNumber = sql`(SELECT v.number FROM usage_unique_values v WHERE v.aggregation = a.aggregation
  AND v.organization = a.organization AND v.month = a.month AND v.value = a.value)`;

const addUnique = (added: Added): Statement[] => [
  sql`WITH ${seriesOf(added, sql`'unique'`)}
    INSERT INTO usage_unique_added (aggregation, organization, series, month, quarter, value, first_seq, count)
    SELECT number, organization, series, ${
    monthOf(sql`quarter * ${quarterMs}`)
  }, quarter, value, min(seq), count(*)
    FROM (SELECT w.number, w.organization, w.series, r.timestamp / ${quarterMs} AS quarter, r.seq,
        r.properties ->> w.property AS value
      FROM usage_records r CROSS JOIN w ON w.series = r.series
      WHERE ${added.records} AND EXISTS (SELECT 1 FROM w))
    WHERE value IS NOT NULL GROUP BY series, quarter, value`,
  sql`UPDATE usage_unique_added AS a SET value_number = ${valueNumber}`,
  sql`INSERT INTO usage_unique_values (aggregation, organization, month, value)
    SELECT aggregation, organization, month, value FROM (
      SELECT n.*, row_number() OVER (PARTITION BY aggregation, organization, month ORDER BY first_seq, value) AS rank
      FROM (SELECT aggregation, organization, month, value, min(first_seq) AS first_seq FROM usage_unique_added
        WHERE value_number IS NULL GROUP BY 1, 2, 3, 4) n) n
    WHERE rank <= ${integer(uniqueValuesMax)} - coalesce((SELECT l.known FROM usage_unique_limits l
      WHERE l.aggregation = n.aggregation AND l.organization = n.organization AND l.month = n.month), 0)`,
  sql`UPDATE usage_unique_added AS a SET value_number = ${valueNumber}, is_new = 1 WHERE value_number IS NULL`,
  sql`INSERT INTO usage_unique_limits (aggregation, organization, month, known, others)
    SELECT aggregation, organization, month, count(DISTINCT iif(is_new, value_number, NULL)),
      sum(iif(value_number IS NULL, count, 0))
    FROM usage_unique_added GROUP BY 1, 2, 3
    ON CONFLICT DO UPDATE SET known = known + excluded.known, others = others + excluded.others`,
  sql`INSERT INTO usage_unique_quarters (aggregation, series, quarter, value, count)
    SELECT aggregation, series, quarter, value_number, count FROM usage_unique_added
    WHERE value_number IS NOT NULL
    ON CONFLICT DO UPDATE SET count = count + excluded.count`,
  sql`INSERT INTO usage_unique_months (aggregation, series, month, value, count)
    SELECT aggregation, series, month, value_number, sum(count) FROM usage_unique_added
    WHERE value_number IS NOT NULL GROUP BY 1, 2, 3, 4
    ON CONFLICT DO UPDATE SET count = count + excluded.count`,
  sql`DELETE FROM usage_unique_added`,
];

/** Adds records to the aggregations that aren't sums. */
export const addCounted = (added: Added): readonly Statement[] => [addLatest(added), ...addUnique(added)];

/** Adds the records of a group, before `usage_cursor` moves. */
export const addGroupCounted: readonly Statement[] = addCounted({
  series: sql`SELECT DISTINCT series FROM usage_added`,
  records: sql`r.seq > (SELECT seq FROM usage_cursor)`,
  aggregation: sql`true`,
});

/** A condition: the record `r` is the latest of its series in its quarter, where this matters. */
export const isLatest = (r: Statement): Statement =>
  sql`EXISTS (SELECT 1 FROM usage_series s CROSS JOIN usage_aggregations g ON ${isAggregationOf} AND g.aggregation = 'last'
    CROSS JOIN usage_latest l ON l.aggregation = g.number AND l.series = s.id AND l.quarter = ${r}.timestamp / ${quarterMs}
    WHERE s.id = ${r}.series AND l.seq = ${r}.seq)`;

/**
 * Replaces a voided record that was the latest. An unknown one has a time after all others of its quarter.
 *
 * @param options `others`: selects the records of its quarter that may be the latest now; null if it wasn't the latest, or the only one.
 *   `isUnknown`: true if retention has deleted some. `condition`: true if this batch voided the record.
 */
export function subtractLatest(
  seq: number,
  { others, isUnknown, condition }: { others: Statement | null; isUnknown: boolean; condition: Statement },
): Statement[] {
  const isIts =
    sql`(l.aggregation, l.series, l.quarter) IN (SELECT g.number, r.series, r.timestamp / ${quarterMs}
      FROM usage_records r CROSS JOIN usage_series s ON s.id = r.series
      CROSS JOIN usage_aggregations g ON ${isAggregationOf} AND g.aggregation = 'last' WHERE r.seq = ${seq})
    AND ${condition}`;
  const forget = sql`UPDATE usage_latest AS l
    SET timestamp = (quarter + 1) * ${quarterMs}, seq = 0, quantity_whole = 0, quantity_micro = 0
    WHERE l.seq = ${seq} AND ${isIts}`;
  const remove =
    sql`DELETE FROM usage_latest AS l WHERE (l.seq = ${seq} OR NOT EXISTS (SELECT 1 FROM usage_rollups u
      WHERE u.series = l.series AND u.quarter = l.quarter AND u.count > 0)) AND ${isIts}`;
  if (others === null) return [remove];
  const added = addLatest({
    series: sql`SELECT series FROM usage_records WHERE seq = ${seq}`,
    records: sql`r.seq IN (${others}) AND NOT ${isVoided(sql`r.seq`)} AND ${condition}`,
    aggregation: sql`true`,
  });
  return [...(isUnknown ? [forget] : []), remove, added];
}

/** Subtracts a voided record from the distinct values. @param seq Of the record. @param condition True if this batch voided it. */
export function subtractUnique(seq: number, condition: Statement): Statement[] {
  const record = sql`(SELECT g.number AS aggregation, r.organization, r.series, ${
    monthOf(sql`r.timestamp`)
  } AS month,
      r.timestamp / ${quarterMs} AS quarter, r.properties ->> g.property AS value
    FROM usage_records r CROSS JOIN usage_series s ON s.id = r.series
    CROSS JOIN usage_aggregations g ON ${isAggregationOf} AND g.aggregation = 'unique' AND r.seq > g.unfilled_seq
    WHERE r.seq = ${seq} AND r.properties ->> g.property IS NOT NULL AND ${condition})`;
  const counted = sql`(SELECT a.*, ${valueNumber} AS value_number FROM ${record} a)`;
  return [
    sql`UPDATE usage_unique_quarters SET count = count - 1 WHERE (aggregation, series, quarter, value) IN
      (SELECT a.aggregation, a.series, a.quarter, a.value_number FROM ${counted} a)`,
    sql`UPDATE usage_unique_months SET count = count - 1 WHERE (aggregation, series, month, value) IN
      (SELECT a.aggregation, a.series, a.month, a.value_number FROM ${counted} a)`,
    sql`UPDATE usage_unique_limits SET others = others - 1 WHERE (aggregation, organization, month) IN
      (SELECT a.aggregation, a.organization, a.month FROM ${counted} a WHERE a.value_number IS NULL)`,
  ];
}

const tables = [
  { name: sql`usage_latest`, key: sql`t.aggregation, t.series, t.quarter` },
  { name: sql`usage_unique_quarters`, key: sql`t.aggregation, t.series, t.quarter, t.value` },
  { name: sql`usage_unique_months`, key: sql`t.aggregation, t.series, t.month, t.value` },
];

/** Returns statements that delete some rows of series. @param series Selects their ids, in parentheses. */
export function deleteCountedSeries(series: Statement, rowsMax: number): Statement[] {
  return tables.map(({ name, key }) =>
    sql`DELETE FROM ${name} AS t WHERE (${key}) IN (SELECT ${key} FROM usage_aggregations g
      CROSS JOIN ${name} t ON t.aggregation = g.number AND t.series IN ${series} LIMIT ${integer(rowsMax)})`
  );
}

/** A condition: no rows of a series `usage_series` are left. */
export const isUncounted = joinSql(
  tables.map(({ name }) =>
    sql`NOT EXISTS (SELECT 1 FROM usage_aggregations g CROSS JOIN ${name} t
      ON t.aggregation = g.number AND t.series = usage_series.id)`
  ),
  " AND ",
);

/** Returns statements that delete some values of organizations. @param isIts A condition on the column `organization`. */
export function deleteCountedValues(isIts: Statement, rowsMax: number): Statement[] {
  const max = integer(rowsMax);
  return [
    sql`DELETE FROM usage_unique_limits WHERE (aggregation, organization, month) IN (
      SELECT l.aggregation, l.organization, l.month FROM usage_aggregations g
      CROSS JOIN usage_unique_limits l ON l.aggregation = g.number WHERE ${isIts} LIMIT ${max})`,
    sql`DELETE FROM usage_unique_values WHERE number IN (SELECT v.number FROM usage_aggregations g
      CROSS JOIN usage_unique_values v ON v.aggregation = g.number WHERE ${isIts} LIMIT ${max})`,
  ];
}

/** Deletes some rows of an aggregation that isn't in use anymore, and finally the aggregation. Returns true if there was one. */
export async function deleteRemovedAggregation(database: Database, rowsMax: number): Promise<boolean> {
  const removed = await database.readFirst<{ number: number }>(
    sql`SELECT number FROM usage_aggregations WHERE removed_at IS NOT NULL LIMIT 1`,
  );
  if (removed === undefined) return false;
  const number =
    sql`(SELECT number FROM usage_aggregations WHERE number = ${removed.number} AND removed_at IS NOT NULL)`;
  const all = [
    ...tables,
    { name: sql`usage_unique_values`, key: sql`t.aggregation, t.organization, t.month, t.value` },
    { name: sql`usage_unique_limits`, key: sql`t.aggregation, t.organization, t.month` },
  ];
  await database.write([
    ...all.map(({ name, key }) =>
      sql`DELETE FROM ${name} AS t WHERE (${key}) IN (SELECT ${key} FROM ${name} t WHERE t.aggregation = ${number}
        LIMIT ${integer(rowsMax)})`
    ),
    sql`DELETE FROM usage_aggregations WHERE number = ${number} AND ${
      joinSql(
        all.map(({ name }) => sql`NOT EXISTS (SELECT 1 FROM ${name} WHERE aggregation = ${number})`),
        " AND ",
      )
    }`,
  ]);
  return true;
}
