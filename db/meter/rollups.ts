// The SQL that adds the records of one group to the rollups.
import { rollupHourMs, rollupQuarterMs } from "../../domain/limits.ts";
import { lowBits, millionthsWholeMax } from "../../domain/meter/quantity.ts";
import { integer, sql, type Statement } from "../engine/database.ts";
import { totalOf } from "./environments.ts";
import { noteAddedUsage } from "../operator/statement_changes.ts";

/** The quantity of the record `r` in millionths: an integer, or a text when 64 bits cannot hold it. See `usage_rollups`. */
export const millionths = sql`iif(r.quantity_whole < ${integer(millionthsWholeMax)},
  r.quantity_whole * 1000000 + r.quantity_micro, format('%016d%06d', r.quantity_whole, r.quantity_micro))`;

/** The calendar month of UTC, counted from January 1970. */
export const monthOf = (time: Statement): Statement =>
  sql`((strftime('%Y', ${time} / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', ${time} / 1000, 'unixepoch') - 1)`;

/** The first moment of a month. @param month As {@linkcode monthOf} counts. */
export const monthStart = (month: Statement): Statement =>
  sql`(1000 * strftime('%s', format('%d-%02d-01', 1970 + ${month} / 12, 1 + ${month} % 12)))`;

const sums = sql`count, sum_high, sum_low, sum_micro, smallest, largest`;
const quarterMs = integer(rollupQuarterMs);
/** Fills the group's own rollups, kept only until the end of the transaction, from its records `r`. */
export const addGroup = (condition: Statement): Statement =>
  sql`INSERT INTO usage_added (organization, series, quarter, ${sums})
  SELECT r.organization, r.series, r.timestamp / ${quarterMs}, count(*), sum(r.quantity_whole >> ${
    integer(lowBits)
  }),
    sum(r.quantity_whole & ${integer(2 ** lowBits - 1)}), sum(r.quantity_micro), min(${millionths}),
    max(${millionths})
  FROM usage_records r WHERE r.seq > (SELECT seq FROM usage_cursor) AND ${condition}
  GROUP BY 2, 3`;
/** From here on, the totals of the group's series are added up like the series themselves. */
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
/** Adds the group's own rollups to all others. */
export const addUp: readonly Statement[] = [
  noteAddedUsage,
  addTotals,
  addToRollups({ table: sql`usage_rollups`, unit: sql`quarter`, quarters: 1 }),
  addToRollups({
    table: sql`usage_rollups_hourly`,
    unit: sql`hour`,
    quarters: rollupHourMs / rollupQuarterMs,
  }),
  addToMonths,
  sql`DELETE FROM usage_added`,
];
