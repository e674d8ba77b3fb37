// The SQL of dimensions: sums of a metric by the values of some of its properties. A value has a series of its own in each series
// that has it, and sums in the same tables as those. See decision 91.
import { dimensionValuesMax } from "../../domain/meter/dimension.ts";
import { rollupQuarterMs } from "../../domain/limits.ts";
import { integer, joinSql, sql, type Statement } from "../engine/database.ts";
import { hasCounting } from "./counting.ts";
import { testTotalsNumber } from "./environments.ts";
import { monthOf, sums, sumsOfRecords } from "./rollup_columns.ts";

/** The organization of monthly rollups of values. */
export const dimensionSumsNumber = -(2 ** 32);

const quarterMs = integer(rollupQuarterMs);

/** True if the recorder adds up more than the rollups of series. */
export const hasDimensions =
  sql`(EXISTS (SELECT 1 FROM usage_dimensions WHERE removed_at IS NULL) OR ${hasCounting})`;

/** The dimensions `d` of a series `s`. */
export const isDimensionOf = sql`d.product = s.product_slug AND d.metric = s.metric AND d.removed_at IS NULL`;

const property = (properties: Statement, name: Statement) =>
  sql`coalesce(${properties} ->> ${name}, '(none)')`;

/** The value of some properties, in JSON, for the dimension `d`. */
export const valueOf = (properties: Statement): Statement => {
  const values = ["name_1", "name_2", "name_3"].map((_, n) =>
    property(properties, [sql`d.name_1`, sql`d.name_2`, sql`d.name_3`][n] ?? sql``)
  );
  const list = (length: number) => sql`json_array(${joinSql(values.slice(0, length), ", ")})`;
  return sql`CASE WHEN d.name_2 IS NULL THEN ${list(1)} WHEN d.name_3 IS NULL THEN ${list(2)} ELSE ${
    list(3)
  } END`;
};

/** The number of the row that counts a value: its own, or that of all others. */
const valueNumber = (
  { organization, dimension, month, value }: Record<
    "organization" | "dimension" | "month" | "value",
    Statement
  >,
): Statement => {
  const numberOf = (text: Statement) =>
    sql`(SELECT x.number FROM usage_dimension_values x WHERE x.organization = ${organization}
      AND x.dimension = ${dimension} AND x.month = ${month} AND x.value = ${text})`;
  return sql`coalesce(${numberOf(value)}, ${numberOf(sql`''`)})`;
};

/** Joins the sums `ds` that count a record by the dimension `d`; none while it isn't counted yet. @param record Its alias. */
export const seriesOfValue = (record: Statement): Statement =>
  sql`usage_dimension_series ds ON ds.series = ${record}.series AND ${record}.seq > d.unfilled_seq
    AND ds.value = ${
    valueNumber({
      organization: sql`${record}.organization`,
      dimension: sql`d.number`,
      month: monthOf(sql`${record}.timestamp`),
      value: valueOf(sql`${record}.properties`),
    })
  }`;

/** Joins the dimensions `d` of the row of the table `record` and the sums `ds` that count it. */
export const valuesOfRecord = sql`FROM record CROSS JOIN usage_series s ON s.id = record.series
    CROSS JOIN usage_dimensions d ON ${isDimensionOf} CROSS JOIN ${seriesOfValue(sql`record`)}`;

/** Adds up records `r` by value, for {@linkcode moveValues}. @param options `series`: a query for their series. `dimension`: which dimensions `d`. */
export const addByValue = (
  { series, records, dimension }: Record<"series" | "records" | "dimension", Statement>,
) =>
  sql`WITH w AS MATERIALIZED (
    SELECT s.id AS series, s.organization, d.number, d.name_1, d.name_2, d.name_3
    FROM (${series}) a CROSS JOIN usage_series s ON s.id = a.series
    CROSS JOIN usage_dimensions d ON ${isDimensionOf} AND ${dimension}
    WHERE s.organization NOT IN (0, ${integer(testTotalsNumber)})
  ), texts AS MATERIALIZED (
    SELECT r.series, r.timestamp / ${quarterMs} AS quarter, r.properties, min(r.seq) AS first_seq, ${sumsOfRecords}
    FROM usage_records r WHERE ${records} AND r.series IN (SELECT series FROM w) GROUP BY 1, 2, 3
  )
  INSERT INTO usage_dimension_added (dimension, organization, series, month, quarter, value, first_seq, ${sums})
  SELECT d.number, d.organization, t.series, ${monthOf(sql`t.quarter * ${quarterMs}`)}, t.quarter, ${
    valueOf(sql`t.properties`)
  } AS value, min(t.first_seq), sum(t.count), sum(t.sum_high), sum(t.sum_low), sum(t.sum_micro),
    min(t.smallest), max(t.largest)
  FROM texts t CROSS JOIN w d ON d.series = t.series GROUP BY d.number, t.series, t.quarter, value`;

/** A value `n` has a row of its own, although the month has no room: a list of prices named it before the month had too many values. */
const isNamed =
  sql`EXISTS (SELECT 1 FROM usage_priced_values p WHERE p.dimension = n.dimension AND p.value = n.value
    AND NOT EXISTS (SELECT 1 FROM usage_dimension_values v WHERE v.organization = n.organization
      AND v.dimension = n.dimension AND v.month = n.month AND v.value = '' AND v.number <= p.after_number))`;

/** Adds the values that a month has room for, in the order of their first records, and those with prices; otherwise, the row of all others. */
const insertValues = sql`WITH new AS MATERIALIZED (
    SELECT n.*, ${isNamed} AS is_named FROM (
      SELECT a.organization, a.dimension, a.month, a.value, min(a.first_seq) AS first_seq
      FROM usage_dimension_added a WHERE NOT EXISTS (SELECT 1 FROM usage_dimension_values v
        WHERE v.organization = a.organization AND v.dimension = a.dimension AND v.month = a.month AND v.value = a.value)
      GROUP BY 1, 2, 3, 4) n
  ), months AS MATERIALIZED (
    SELECT n.organization, n.dimension, n.month, iif(EXISTS (SELECT 1 FROM usage_dimension_values v
      WHERE v.organization = n.organization AND v.dimension = n.dimension AND v.month = n.month AND v.value = ''), ${
  integer(dimensionValuesMax)
}, (SELECT count(*) FROM usage_dimension_values v
      WHERE v.organization = n.organization AND v.dimension = n.dimension AND v.month = n.month)
      - (SELECT count(*) FROM usage_priced_values p CROSS JOIN usage_dimension_values v ON v.organization = n.organization
        AND v.dimension = n.dimension AND v.month = n.month AND v.value = p.value WHERE p.dimension = n.dimension)) AS used
    FROM (SELECT DISTINCT organization, dimension, month FROM new) n
  )
  INSERT INTO usage_dimension_values (organization, dimension, month, value)
  SELECT DISTINCT organization, dimension, month, iif(is_named OR used + rank <= ${
  integer(dimensionValuesMax)
}, value, '')
  FROM (SELECT n.*, m.used, row_number() OVER (
      PARTITION BY n.organization, n.dimension, n.month, n.is_named ORDER BY n.first_seq, n.value) AS rank
    FROM new n JOIN months m ON m.organization = n.organization AND m.dimension = n.dimension AND m.month = n.month)
  WHERE true ON CONFLICT DO NOTHING`;

/** Moves what was added up by value to `usage_added`, from where it is added to the rollups. */
export const moveValues: readonly Statement[] = [
  insertValues,
  sql`UPDATE usage_dimension_added AS a SET value_number = ${
    valueNumber({
      organization: sql`a.organization`,
      dimension: sql`a.dimension`,
      month: sql`a.month`,
      value: sql`a.value`,
    })
  }`,
  sql`INSERT INTO usage_dimension_series (value, series)
    SELECT DISTINCT a.value_number, a.series FROM usage_dimension_added a WHERE NOT EXISTS (
      SELECT 1 FROM usage_dimension_series ds WHERE ds.value = a.value_number AND ds.series = a.series)`,
  sql`INSERT INTO usage_added (organization, series, quarter, ${sums})
    SELECT ${integer(dimensionSumsNumber)}, -ds.id, a.quarter, sum(a.count), sum(a.sum_high), sum(a.sum_low),
      sum(a.sum_micro), min(a.smallest), max(a.largest)
    FROM usage_dimension_added a CROSS JOIN usage_dimension_series ds ON ds.value = a.value_number AND ds.series = a.series
    GROUP BY ds.id, a.quarter`,
  sql`DELETE FROM usage_dimension_added`,
];

/** Adds the sums of the group's values to those of its series. */
export const addGroupByValue: readonly Statement[] = [
  addByValue({
    series: sql`SELECT DISTINCT series FROM usage_added`,
    records: sql`r.seq > (SELECT seq FROM usage_cursor)`,
    dimension: sql`true`,
  }),
  ...moveValues,
];
