// Deletes counters and notices of limits that are not needed anymore, a bounded number of rows at a time.
import { joinSql, sql, type Statement } from "../engine/database.ts";
import { deleteOldValues, deleteValues, endedBefore, hasOldValues } from "./value_sweep.ts";

interface OldCounters {
  readonly now: number;
  /** Minutes and hours that ended before this time. */
  readonly shortBefore: number;
  /** Days and months that ended before this time. */
  readonly longBefore: number;
}

const oldWindows = ({ shortBefore, longBefore }: OldCounters): Statement[] =>
  endedBefore({ minute: shortBefore, hour: shortBefore, day: longBefore, month: longBefore });

const deleteCounters = (condition: Statement, rows: number) =>
  sql`DELETE FROM usage_limit_counters WHERE (usage_limit, organization, window_number) IN
    (SELECT usage_limit, organization, window_number FROM usage_limit_counters WHERE ${condition} LIMIT ${rows})`;
const deleteNotices = (condition: Statement, rows: number) =>
  sql`DELETE FROM limit_notices WHERE (usage_limit, organization, window_number, value, percent) IN
    (SELECT usage_limit, organization, window_number, value, percent FROM limit_notices WHERE ${condition} LIMIT ${rows})`;

/** A condition: there are counters or notices of long ago. */
export function hasOldCounters(old: OldCounters): Statement {
  const found = oldWindows(old).flatMap((isOld) => [
    sql`SELECT 1 FROM usage_limit_counters WHERE ${isOld}`,
    sql`SELECT 1 FROM limit_notices WHERE ${isOld}`,
  ]);
  return sql`EXISTS (${joinSql(found, " UNION ALL ")}) OR ${hasOldValues(old.now)}`;
}

/** Deletes some. @param rows The maximum number of each kind. */
export const deleteOldest = (old: OldCounters, rows: number): Statement[] => [
  // From here on, counters of these windows are unknown when they are opened again.
  sql`UPDATE usage_cursor SET limits_swept_until = ${old.shortBefore}
    WHERE only_row = 1 AND limits_swept_until < ${old.shortBefore}`,
  ...oldWindows(old).flatMap((isOld) => [deleteCounters(isOld, rows), deleteNotices(isOld, rows)]),
  ...deleteOldValues(old.now, rows),
];

/** The removed limit whose counters and notices can be deleted first: the check of changed limits needs the notices. */
const firstRemoved = sql`(SELECT min(number) FROM usage_limits_removed
  WHERE NOT EXISTS (SELECT 1 FROM limit_rechecks))`;

export const hasRemovedLimits = sql`${firstRemoved} IS NOT NULL`;

/** Deletes some counters and notices of a removed limit, if they aren't needed. @param rows The maximum number of each. */
export function deleteRemoved(rows: number): Statement[] {
  const ofLimit = sql`usage_limit = ${firstRemoved}`;
  return [
    ...deleteAll(ofLimit, rows),
    sql`DELETE FROM usage_limits_removed WHERE number = ${firstRemoved}
      AND NOT EXISTS (SELECT 1 FROM usage_limit_counters WHERE ${ofLimit})
      AND NOT EXISTS (SELECT 1 FROM limit_notices WHERE ${ofLimit})
      AND NOT EXISTS (SELECT 1 FROM usage_value_windows WHERE ${ofLimit})`,
  ];
}

/** Deletes some counters and notices of an organization, given by its number. */
export const deleteCounts = (
  { organization, rows }: { organization: Statement; rows: number },
): Statement[] => deleteAll(sql`organization = ${organization}`, rows);

const deleteAll = (condition: Statement, rows: number) => [
  deleteCounters(condition, rows),
  deleteNotices(condition, rows),
  ...deleteValues(condition, rows),
  sql`DELETE FROM usage_value_spans WHERE ${condition}`,
];
