// The SQL that sums one window: months, with the hours by which the window differs from them. Sums and counts can be subtracted,
// minimums and maximums can't: this is only for the former.
import type { SumParts } from "../../domain/meter/quantity.ts";
import { nearestMonth, rollupNumber, rollupPieces, rollupStart } from "../../domain/meter/rollup_unit.ts";
import type { UsageWindow } from "../../domain/meter/usage_window.ts";
import { type DatabaseReader, integer, joinSql, sql, type Statement } from "../engine/database.ts";
import { dimensionSumsNumber } from "./dimensions.ts";

/** The usage of a product and metric in a window, as texts; see `domain/meter/quantity.ts`. */
interface WindowTotalRow extends SumParts {
  readonly organization: number;
  readonly productSlug: string;
  readonly metric: string;
  readonly count: number;
}

interface WindowTotalsQuery {
  /** Begins and ends with a quarter of an hour. */
  readonly window: UsageWindow;
  /** Organizations with numbers above `after` and up to `through`, also those that are being deleted. */
  readonly after: number;
  readonly through: number;
}

/**
 * Sums a window by organization, product and metric. A month of any time zone costs little more than one of UTC: one row and a
 * few hours for each series.
 *
 * @returns One row for each combination with records, by the organization's number. The sums are exact at one moment.
 */
export function sumWindow(database: DatabaseReader, query: WindowTotalsQuery): Promise<WindowTotalRow[]> {
  const { window, after, through } = query;
  const pieces = windowSums(window, {
    months: sql`r.organization > ${after} AND r.organization <= ${through}`,
    series: sql`e.organization > ${after} AND e.organization <= ${through}`,
  });
  return database.read<WindowTotalRow>(sql`
    SELECT s.organization, s.product_slug AS productSlug, s.metric, sum(p.count) AS count,
      CAST(sum(p.sum_high) AS TEXT) AS high, CAST(sum(p.sum_low) AS TEXT) AS low,
      CAST(sum(p.sum_micro) AS TEXT) AS micro
    FROM (${pieces}) p JOIN usage_series s ON s.id = p.series
    GROUP BY 1, 2, 3 HAVING sum(p.count) > 0 ORDER BY 1, 2, 3`);
}

/** The usage of a metric (`dimension` null), or its usage with a value of one of its dimensions. */
export interface WindowValueRow extends WindowTotalRow {
  readonly dimension: number | null;
  /** A JSON list; empty for all values that aren't kept apart. */
  readonly value: string | null;
}

/**
 * As {@linkcode sumWindow}, and for some organizations also by the values of dimensions, at the same moment: those of a dimension that has
 * all usage add up to the metric.
 */
export function sumWindowByValue(
  database: DatabaseReader,
  { window, after, through, organizations, dimensions }: WindowTotalsQuery & {
    organizations: readonly number[];
    dimensions: readonly number[];
  },
): Promise<WindowValueRow[]> {
  const all = windowSums(window, {
    months: sql`r.organization > ${after} AND r.organization <= ${through}`,
    series: sql`e.organization > ${after} AND e.organization <= ${through}`,
  });
  const values = windowSums(window, {
    months: sql`r.organization = ${integer(dimensionSumsNumber)} AND r.series IN (SELECT id FROM ds)`,
    series: sql`true`,
    table: sql`ds`,
  });
  return database.read<WindowValueRow>(sql`
    WITH ds AS MATERIALIZED (SELECT -v.id AS id, v.series, x.dimension, x.value
      FROM json_each(${JSON.stringify(dimensions)}) d CROSS JOIN usage_dimension_values x
        ON x.dimension = d.value AND x.organization IN (SELECT value FROM json_each(${
    JSON.stringify(organizations)
  })) AND x.month >= ${rollupNumber("month", window.start)} AND x.month <= ${
    rollupNumber("month", window.end - 1)
  }
      CROSS JOIN usage_dimension_series v ON v.value = x.number)
    SELECT s.organization, s.product_slug AS productSlug, s.metric, p.dimension, p.value, sum(p.count) AS count,
      CAST(sum(p.sum_high) AS TEXT) AS high, CAST(sum(p.sum_low) AS TEXT) AS low,
      CAST(sum(p.sum_micro) AS TEXT) AS micro
    FROM (SELECT a.series, NULL AS dimension, NULL AS value, a.count, a.sum_high, a.sum_low, a.sum_micro FROM (${all}) a
      UNION ALL SELECT ds.series, ds.dimension, ds.value, b.count, b.sum_high, b.sum_low, b.sum_micro
      FROM (${values}) b JOIN ds ON ds.id = b.series) p
    JOIN usage_series s ON s.id = p.series
    GROUP BY 1, 2, 3, 4, 5 HAVING sum(p.count) > 0 ORDER BY 1, 2, 3, 4, 5`);
}

/** Windows up to this length are read by hours alone, in milliseconds. */
const hoursOnlyMs = 14 * 24 * 3_600_000;

/**
 * @param window Begins and ends with a quarter of an hour.
 * @param which Conditions of what to sum: on monthly rollups `r`, and the same on series `e` of a table.
 * @returns A query for rows of series, count, sum_high, sum_low and sum_micro. Added up, they are the sums of each series.
 */
export function windowSums(
  window: UsageWindow,
  which: { readonly months: Statement; readonly series: Statement; readonly table?: Statement },
): Statement {
  const isShort = window.end - window.start <= hoursOnlyMs;
  const [first, next] = isShort ? [0, 0] : [nearestMonth(window.start), nearestMonth(window.end)];
  const months = Array.from({ length: Math.max(0, next - first) }, (_, n) => first + n);
  const pieces: Statement[] = [];
  if (months.length > 0) {
    pieces.push(sql`SELECT r.series, r.count, r.sum_high, r.sum_low, r.sum_micro FROM usage_rollups_monthly r
      WHERE r.month IN (SELECT value FROM json_each(${
      JSON.stringify(months)
    })) AND ${which.months} AND r.count > 0`);
  }
  const edges = months.length === 0
    ? [{ sign: 1, ...window }]
    : [edge(window.start, rollupStart("month", first)), edge(rollupStart("month", next), window.end)];
  for (const { unit, table, column } of shortUnits) {
    const ranges = edges.flatMap(({ sign, ...part }) =>
      rollupPieces(part, ["hour", "quarter"]).filter((piece) => piece.unit === unit)
        .map(({ start, end }) => [sign, rollupNumber(unit, start), rollupNumber(unit, end)])
    );
    if (ranges.length === 0) continue;
    const sign = sql`(w.value ->> 0)`;
    pieces.push(sql`
      SELECT r.series, ${sign} * r.count AS count, ${sign} * r.sum_high AS sum_high,
        ${sign} * r.sum_low AS sum_low, ${sign} * r.sum_micro AS sum_micro
      FROM ${which.table ?? sql`usage_series`} e CROSS JOIN json_each(${JSON.stringify(ranges)}) w
      CROSS JOIN ${table} r ON r.series = e.id AND r.${column} >= w.value ->> 1 AND r.${column} < w.value ->> 2
      WHERE ${which.series}`);
  }
  return joinSql(pieces, " UNION ALL ");
}

const shortUnits = [
  { unit: "hour", table: sql`usage_rollups_hourly`, column: sql`hour` },
  { unit: "quarter", table: sql`usage_rollups`, column: sql`quarter` },
] as const;

/** Returns the time from one moment to another, to be subtracted if the second is the earlier one. */
function edge(from: number, to: number) {
  return from < to ? { sign: 1, start: from, end: to } : { sign: -1, start: to, end: from };
}
