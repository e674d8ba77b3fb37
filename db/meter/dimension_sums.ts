// The SQL that reads sums of usage by the values of properties.
import { otherValue } from "../../domain/meter/dimension.ts";
import { rollupNumber, type RollupUnit } from "../../domain/meter/rollup_unit.ts";
import type { UsageWindow } from "../../domain/meter/usage_window.ts";
import { type DatabaseReader, integer, joinSql, sql, type Statement } from "../engine/database.ts";
import { dimensionSumsNumber } from "./dimensions.ts";
import { isInWindow } from "./rollup_columns.ts";

/** Sums by some properties of one dimension of each metric. */
export interface UsageSplit {
  readonly dimensions: readonly {
    readonly number: number;
    /** The places of the properties in its values. */
    readonly places: readonly number[];
  }[];
  readonly properties: readonly {
    readonly name: string;
    /** Only usage with one of these. */
    readonly values: readonly string[] | undefined;
    readonly isGroup: boolean;
  }[];
}

/** Finds the rollups `r` of a series `ds` of a value in the window `w`. */
const isOfValue = isInWindow({ organization: integer(dimensionSumsNumber), series: sql`-ds.id` });

const column = (index: number) => [sql`ds.value_1`, sql`ds.value_2`, sql`ds.value_3`][index] ?? sql`NULL`;

/** The columns by which sums are grouped. */
export function splitColumns({ properties }: UsageSplit): Statement[] {
  return properties.flatMap(({ isGroup }, index) => isGroup ? [column(index)] : []);
}

/** The values of the columns of {@linkcode splitColumns} as JSON. */
export function splitValues(split: UsageSplit): Statement {
  return sql`json_array(${joinSql(splitColumns(split), ", ")})`;
}

/** A condition that a column of months has one of a time. */
function isIn(month: Statement, { start, end }: UsageWindow): Statement {
  return sql`${month} >= ${rollupNumber("month", start)} AND ${month} <= ${rollupNumber("month", end - 1)}`;
}

/**
 * @param options `range`: the time of all windows.
 * @returns The table `ds` of the values' series, the join of their series `s` and windows `w`, and the condition of their rollups `r`.
 */
export function splitSource(
  split: UsageSplit,
  { numbers, range, unit, joinKeys }: {
    numbers: readonly number[];
    range: UsageWindow;
    unit: RollupUnit;
    joinKeys: Statement;
  },
): { table: Statement; from: Statement; isRollup: Statement } {
  const { dimensions, properties } = split;
  const list = JSON.stringify(dimensions.map(({ number, places }) => [number, ...places]));
  const columns = [1, 2, 3].map((n) => {
    const name = [sql`value_1`, sql`value_2`, sql`value_3`][n - 1] ?? sql``;
    if (n > properties.length) return sql`NULL AS ${name}`;
    return sql`iif(x.value = '', ${otherValue}, x.value ->> (d.value ->> ${integer(n)})) AS ${name}`;
  });
  const filters = properties.flatMap(({ values }, index) =>
    values === undefined
      ? []
      : [sql`AND ${column(index)} IN (SELECT value FROM json_each(${JSON.stringify(values)}))`]
  );
  return {
    table: sql`ds AS MATERIALIZED (SELECT * FROM (
      SELECT v.id, v.series, x.month, ${joinSql(columns, ", ")}
      FROM json_each(${list}) d CROSS JOIN usage_dimension_values x ON x.dimension = d.value ->> 0
        AND x.organization IN (SELECT value FROM json_each(${JSON.stringify(numbers)})) AND ${
      isIn(sql`x.month`, range)
    }
      CROSS JOIN usage_dimension_series v ON v.value = x.number) ds WHERE true ${joinSql(filters, " ")})`,
    from: sql`ds CROSS JOIN usage_series s ON s.id = ds.series ${joinKeys} CROSS JOIN w`,
    isRollup: unit === "month" ? sql`ds.month = w.first AND ${isOfValue[unit]}` : isOfValue[unit],
  };
}

/** Counts the series of values by the number of their usage. */
export async function countValueSeries(
  database: DatabaseReader,
  { split, numbers, range }: { split: UsageSplit; numbers: readonly number[]; range: UsageWindow },
): Promise<{ series: ReadonlyMap<number, number>; hasOverflow: boolean }> {
  const rows = await database.read<{ organization: number; series: number; hasOverflow: 0 | 1 }>(sql`
    SELECT abs(x.organization) AS organization, count(*) AS series, max(x.value = '') AS hasOverflow
    FROM json_each(${JSON.stringify(split.dimensions.map(({ number }) => number))}) d
    CROSS JOIN usage_dimension_values x ON x.dimension = d.value
      AND x.organization IN (SELECT value FROM json_each(${JSON.stringify(numbers)})) AND ${
    isIn(sql`x.month`, range)
  }
    CROSS JOIN usage_dimension_series v ON v.value = x.number GROUP BY 1`);
  return {
    series: new Map(rows.map(({ organization, series }) => [organization, series])),
    hasOverflow: rows.some(({ hasOverflow }) => hasOverflow === 1),
  };
}
