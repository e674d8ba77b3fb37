// The tables and columns of rollups, and how records are added up in them.
import { lowBits, millionthsWholeMax } from "../../domain/meter/quantity.ts";
import type { RollupUnit } from "../../domain/meter/rollup_unit.ts";
import { integer, sql, type Statement } from "../engine/database.ts";

/** The quantity of the record `r` in millionths: an integer, or a text when 64 bits cannot hold it. See `usage_rollups`. */
export const millionths = sql`iif(r.quantity_whole < ${integer(millionthsWholeMax)},
  r.quantity_whole * 1000000 + r.quantity_micro, format('%016d%06d', r.quantity_whole, r.quantity_micro))`;

/** The calendar month of UTC, counted from January 1970. */
export const monthOf = (time: Statement): Statement =>
  sql`((strftime('%Y', ${time} / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', ${time} / 1000, 'unixepoch') - 1)`;

/** The first moment of a month. @param month As {@linkcode monthOf} counts. */
export const monthStart = (month: Statement): Statement =>
  sql`(1000 * strftime('%s', format('%d-%02d-01', 1970 + ${month} / 12, 1 + ${month} % 12)))`;

export const sums = sql`count, sum_high, sum_low, sum_micro, smallest, largest`;

/** Adds up records `r`. */
export const sumsOfRecords = sql`count(*) AS count, sum(r.quantity_whole >> ${integer(lowBits)}) AS sum_high,
    sum(r.quantity_whole & ${integer(2 ** lowBits - 1)}) AS sum_low, sum(r.quantity_micro) AS sum_micro,
    min(${millionths}) AS smallest, max(${millionths}) AS largest`;

/** The tables of rollups `r`. */
export const rollupTables: Record<RollupUnit, Statement> = {
  month: sql`usage_rollups_monthly r`,
  hour: sql`usage_rollups_hourly r`,
  quarter: sql`usage_rollups r`,
};

/** Finds the rollups `r` of a series from the first number `w.first` to the one before `w.after`. */
export const isInWindow = (
  { organization, series }: Record<"organization" | "series", Statement>,
): Record<RollupUnit, Statement> => ({
  month: sql`r.month = w.first AND r.organization = ${organization} AND r.series = ${series}`,
  hour: sql`r.series = ${series} AND r.hour >= w.first AND r.hour < w.after`,
  quarter: sql`r.series = ${series} AND r.quarter >= w.first AND r.quarter < w.after`,
});
