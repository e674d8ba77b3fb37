// Deletes counters of values that are not needed anymore, a bounded number of rows at a time.
import { limitClockMarginMs } from "../../domain/limits.ts";
import { rollupNumber } from "../../domain/meter/rollup_unit.ts";
import { valueCountersKeptDays } from "../../domain/meter/value_limit.ts";
import { integer, joinSql, sql, type Statement } from "../engine/database.ts";

/** Deletes some counters of values, and then what counts them. @param windows A condition. @param rows The maximum number of each. */
export const deleteValues = (windows: Statement, rows: number): Statement[] => {
  const some =
    sql`(SELECT usage_limit, organization, window_number FROM usage_value_windows WHERE ${windows} LIMIT ${rows})`;
  return [
    sql`DELETE FROM usage_value_counters WHERE (usage_limit, organization, window_number, value) IN
      (SELECT c.usage_limit, c.organization, c.window_number, c.value FROM ${some} w
        CROSS JOIN usage_value_counters c ON c.usage_limit = w.usage_limit AND c.organization = w.organization
          AND c.window_number = w.window_number LIMIT ${rows})`,
    sql`DELETE FROM usage_value_windows WHERE (usage_limit, organization, window_number) IN (SELECT * FROM ${some} w
      WHERE NOT EXISTS (SELECT 1 FROM usage_value_counters c WHERE c.usage_limit = w.usage_limit
        AND c.organization = w.organization AND c.window_number = w.window_number))`,
  ];
};

const dayMs = 24 * 3_600_000;

/**
 * Conditions: windows of each length that ended before a time. One index finds them all, because the numbers of each length are in a range
 * of their own: months since 1970, days since 1970, minutes since 1970, and milliseconds since 1970 for hours. `total` is 0, and never old.
 */
export function endedBefore(times: Readonly<Record<"hour" | "day" | "month", number> & { minute?: number }>) {
  const { minute, hour, day, month } = times;
  return [
    ...minute === undefined ? [] : [{ from: 1e6, before: Math.floor(minute / 60_000) }],
    { from: 1e11, before: hour - 3_600_000 },
    // Slack for zones that are ahead of UTC or behind it.
    { from: 1e4, before: Math.floor(day / dayMs) - 1 },
    { from: 1, before: rollupNumber("month", month - dayMs) },
  ].map(({ from, before }) => sql`window_number >= ${integer(from)} AND window_number < ${before}`);
}

/** Windows that ended longer ago than their counters are kept. */
function oldWindows(now: number): Statement[] {
  const before = (days: number) => now - days * dayMs - limitClockMarginMs;
  const { hour, day, month } = valueCountersKeptDays;
  return endedBefore({ hour: before(hour), day: before(day), month: before(month) });
}

/** A condition: counters of values can be deleted. */
export const hasOldValues = (now: number): Statement =>
  sql`EXISTS (${
    joinSql(
      oldWindows(now).map((isOld) => sql`SELECT 1 FROM usage_value_windows WHERE ${isOld}`),
      " UNION ALL ",
    )
  })`;

/** Deletes some counters of values that are not kept any longer, and spans whose records are gone. */
export const deleteOldValues = (now: number, rows: number): Statement[] => [
  ...oldWindows(now).flatMap((isOld) => deleteValues(isOld, rows)),
  sql`DELETE FROM usage_value_spans WHERE until_seq < (SELECT min(seq) FROM usage_records)`,
];
