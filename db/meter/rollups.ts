// The SQL that adds the records of one group to the rollups.
import { rollupHourMs, rollupQuarterMs } from "../../domain/limits.ts";
import { integer, sql, type Statement } from "../engine/database.ts";
import { addGroupCounted } from "./counting.ts";
import { addGroupByValue } from "./dimensions.ts";
import { totalOf } from "./environments.ts";
import { monthOf, sums, sumsOfRecords } from "./rollup_columns.ts";
import { noteAddedUsage } from "./statement_changes.ts";

const quarterMs = integer(rollupQuarterMs);
/** Fills the group's own rollups, kept only until the end of the transaction, from its records `r`. */
export const addGroup = (condition: Statement): Statement =>
  sql`INSERT INTO usage_added (organization, series, quarter, ${sums})
  SELECT r.organization, r.series, r.timestamp / ${quarterMs}, ${sumsOfRecords}
  FROM usage_records r WHERE r.seq > (SELECT seq FROM usage_cursor) AND ${condition}
  GROUP BY 2, 3`;
/** Adds the totals of the group's series. Later statements add them up like the series themselves. */
const addTotals = sql`INSERT INTO usage_added (organization, series, quarter, ${sums})
  SELECT ${
  totalOf(sql`a.organization`)
}, s.total, a.quarter, sum(a.count), sum(a.sum_high), sum(a.sum_low), sum(a.sum_micro),
    min(a.smallest), max(a.largest)
  FROM usage_added a JOIN usage_series s ON s.id = a.series GROUP BY 2, 3`;
const addToSums = sql`count = count + excluded.count, sum_high = sum_high + excluded.sum_high,
    sum_low = sum_low + excluded.sum_low, sum_micro = sum_micro + excluded.sum_micro,
    smallest = iif(count = 0, excluded.smallest, min(smallest, excluded.smallest)),
    largest = iif(count = 0, excluded.largest, max(largest, excluded.largest))`;
// Rows of the same hour or month are added one by one: grouping them first would sort all of them.
const addToRollups = (options: { table: Statement; unit: Statement; quarters: number }) =>
  sql`INSERT INTO ${options.table} (series, ${options.unit}, ${sums})
  SELECT series, quarter / ${integer(options.quarters)}, ${sums} FROM usage_added WHERE true
  ON CONFLICT (series, ${options.unit}) DO UPDATE SET ${addToSums}`;
const addToMonths = sql`
  INSERT INTO usage_rollups_monthly (month, organization, series, ${sums}, first_quarter, last_quarter)
  SELECT ${monthOf(sql`quarter * ${quarterMs}`)}, organization, series, ${sums}, quarter, quarter
  FROM usage_added WHERE true
  ON CONFLICT (month, organization, series) DO UPDATE SET ${addToSums},
    first_quarter = min(first_quarter, excluded.first_quarter),
    last_quarter = max(last_quarter, excluded.last_quarter)`;
/** Adds `usage_added` to the rollups, and empties it. */
export const addToAll: readonly Statement[] = [
  addToRollups({ table: sql`usage_rollups`, unit: sql`quarter`, quarters: 1 }),
  addToRollups({
    table: sql`usage_rollups_hourly`,
    unit: sql`hour`,
    quarters: rollupHourMs / rollupQuarterMs,
  }),
  addToMonths,
  sql`DELETE FROM usage_added`,
];
/** Adds the group's own rollups to all others. @param hasDimensions True if any metric has dimensions, or is counted by more than rollups. */
export const addUp = (hasDimensions: boolean): readonly Statement[] => [
  noteAddedUsage,
  addTotals,
  ...(hasDimensions ? [...addGroupCounted, ...addGroupByValue] : []),
  ...addToAll,
];
