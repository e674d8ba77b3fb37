// The SQL that sums windows: months, with the hours by which a window differs from them.
import type { SumParts } from "../../domain/meter/quantity.ts";
import { rollupNumber, rollupUnits, signedPieces } from "../../domain/meter/rollup_unit.ts";
import type { UsageWindow } from "../../domain/meter/usage_window.ts";
import { type DatabaseReader, integer, joinSql, sql, type Statement } from "../engine/database.ts";
import { dimensionSumsNumber } from "./dimensions.ts";
import { isInWindow, rollupTables } from "./rollup_columns.ts";

/** The usage of a product and metric in a window, as texts; see `domain/meter/quantity.ts`. */
export interface WindowTotalRow extends SumParts {
  /** Index of the window. */
  readonly position: number;
  readonly organization: number;
  readonly productSlug: string;
  readonly metric: string;
  readonly count: number;
}

/** Organizations with numbers above `after` and up to `through`, also those that are being deleted. */
interface OrganizationRange {
  readonly after: number;
  readonly through: number;
}

/** Selects all usage of organizations, a metric of some, or series. The organization 0 has the totals of all. */
type WindowScope =
  | OrganizationRange
  | { readonly organizations: readonly number[]; readonly metric: string }
  | { readonly series: readonly number[] };

const listed = (values: readonly number[]) =>
  sql`IN (SELECT value FROM json_each(${JSON.stringify(values)}))`;

function conditionsOf(scope: WindowScope): WindowConditions {
  if ("series" in scope) return { series: sql`e.id ${listed(scope.series)}` };
  if ("metric" in scope) {
    return { series: sql`e.organization ${listed(scope.organizations)} AND e.metric = ${scope.metric}` };
  }
  const { after, through } = scope;
  return {
    months: sql`r.organization > ${after} AND r.organization <= ${through}`,
    series: sql`e.organization > ${after} AND e.organization <= ${through}`,
  };
}

/**
 * Sums windows by organization, product and metric.
 *
 * @param windows Each begins and ends with a quarter of an hour.
 * @returns One row for each combination with records. The sums are exact at one moment.
 */
export function sumWindows(
  database: DatabaseReader,
  windows: readonly UsageWindow[],
  scope: WindowScope,
): Promise<WindowTotalRow[]> {
  return database.read<WindowTotalRow>(sql`
    SELECT p.position, s.organization, s.product_slug AS productSlug, s.metric, sum(p.count) AS count,
      CAST(sum(p.sum_high) AS TEXT) AS high, CAST(sum(p.sum_low) AS TEXT) AS low,
      CAST(sum(p.sum_micro) AS TEXT) AS micro
    FROM (${windowSums(windows, conditionsOf(scope))}) p CROSS JOIN usage_series s ON s.id = p.series
    GROUP BY 1, 2, 3, 4 HAVING sum(p.count) > 0 ORDER BY 1, 2, 3, 4`);
}

/** The usage of a metric (`dimension` null), or its usage with a value of one of its dimensions. */
export interface WindowValueRow extends Omit<WindowTotalRow, "position"> {
  readonly dimension: number | null;
  /** A JSON list; empty for all values that aren't kept apart. */
  readonly value: string | null;
}

/**
 * As {@linkcode sumWindows} of one window, and for some organizations also by the values of dimensions, at the same moment: those of a dimension that has
 * all usage add up to the metric.
 */
export function sumWindowByValue(
  database: DatabaseReader,
  { window, organizations, dimensions, ...range }: OrganizationRange & {
    window: UsageWindow;
    organizations: readonly number[];
    dimensions: readonly number[];
  },
): Promise<WindowValueRow[]> {
  const all = windowSums(window, conditionsOf(range));
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
    CROSS JOIN usage_series s ON s.id = p.series
    GROUP BY 1, 2, 3, 4, 5 HAVING sum(p.count) > 0 ORDER BY 1, 2, 3, 4, 5`);
}

interface WindowConditions {
  /** A condition of series `e` of the table. */
  readonly series: Statement;
  /** A condition of monthly rollups `r` that is true for these series, if it finds them faster. */
  readonly months?: Statement;
  readonly table?: Statement;
}

/**
 * @param windows Each begins and ends with a quarter of an hour.
 * @returns A query for rows of position (the index of the window), series, count, sum_high, sum_low and sum_micro. Added up, they are the
 *   sums of each series in each window.
 */
export function windowSums(
  windows: UsageWindow | readonly UsageWindow[],
  { series, months, table = sql`usage_series` }: WindowConditions,
): Statement {
  const pieces = [windows].flat().flatMap((window, position) =>
    signedPieces(window).map((piece) => ({ ...piece, position }))
  );
  const selects = rollupUnits.flatMap((unit) => {
    const ranges = pieces.filter((piece) => piece.unit === unit).flatMap(({ position, sign, start, end }) => {
      const [first, after] = [rollupNumber(unit, start), rollupNumber(unit, end)];
      // Months are looked up one by one: the index of a range of them has all organizations.
      const starts = unit === "month" ? Array.from({ length: after - first }, (_, n) => first + n) : [first];
      return starts.map((start) => [position, sign, start, after]);
    });
    if (ranges.length === 0) return [];
    // With a limit, the list is read once.
    const list =
      sql`(SELECT value ->> 0 AS position, value ->> 1 AS sign, value ->> 2 AS first, value ->> 3 AS after
      FROM json_each(${JSON.stringify(ranges)}) LIMIT -1) w`;
    const sign = unit === "month" ? sql`` : sql`w.sign * `;
    const source = unit === "month" && months !== undefined
      ? sql`${list} CROSS JOIN usage_rollups_monthly r ON r.month = w.first AND ${months}`
      : sql`${table} e CROSS JOIN ${list} CROSS JOIN ${rollupTables[unit]} ON ${
        isInSeries[unit]
      } WHERE ${series}`;
    return [sql`
      SELECT w.position, r.series, ${sign}r.count AS count, ${sign}r.sum_high AS sum_high, ${sign}r.sum_low AS sum_low,
        ${sign}r.sum_micro AS sum_micro
      FROM ${source}`];
  });
  return joinSql(selects, " UNION ALL ");
}

const isInSeries = isInWindow({ organization: sql`e.organization`, series: sql`e.id` });
