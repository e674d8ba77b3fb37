// The SQL of notices about limits: which percentages a group has used, and the requests that didn't fit. It runs in the transaction that
// records. In all texts ?3 is the time.
import { lowBits } from "../../domain/meter/quantity.ts";
import { defaultNotifyAt } from "../../domain/meter/usage_limit.ts";
import { bind, integer, joinSql, sql, type Statement } from "../engine/database.ts";
import { insertEvents } from "../outbox/mod.ts";
import { heldParts, ofWindow } from "./hold_counts.ts";
import { isCounter } from "./open_counters.ts";
import { isAccount, isUsedSinceGrant, raisedQuantity } from "./usage_grants.ts";
import { ahead, comparable, comparableQuantity, keyFacts, limitFacts, windowNumber } from "./usage_limits.ts";

const now = sql`CAST(?3 AS INTEGER)`;
/** The quantity of the limit `l` of the cell `a` with grants. It is never less than without. */
const raised = raisedQuantity(sql`a.organization`, now, sql`a.window_number`);

/** If a product overflows, SQLite continues with a floating-point number, which is above all limits. */
const multiplied = (factor: Statement, [high, low, micro]: readonly [Statement, Statement, Statement]) =>
  comparable(sql`(${high} * ${factor})`, sql`(${low} * ${factor})`, sql`(${micro} * ${factor})`);

/** True if at least this percentage of the limit `l` is used in the window of the counter `n`. */
export const isUsed = (percent: Statement) =>
  sql`${multiplied(integer(100), [sql`n.sum_high`, sql`n.sum_low`, sql`n.sum_micro`])}
    >= ${
    multiplied(percent, [
      sql`(l.quantity_whole >> ${integer(lowBits)})`,
      sql`(l.quantity_whole & ${integer(2 ** lowBits - 1)})`,
      sql`l.quantity_micro`,
    ])
  }`;
/** True if at least this percentage is used: with the account `t` of grants, of the rest when the last one was given. */
export const isUsedOfRaised = (percent: Statement, now: Statement): Statement =>
  sql`iif(t.organization IS NULL, ${isUsed(percent)}, ${isUsedSinceGrant(percent, now)})`;
/**
 * The first percentage is used, if there are no grants: with grants, at most that is used. Those of most limits are the default,
 * which needs no parsing.
 */
export const isAnyUsed = sql`iif(l.notify_at IS NULL, ${isUsed(integer(defaultNotifyAt[0] ?? 0))},
    ${isUsed(sql`min(l.notify_at ->> 0, 100)`)})`;
/** The highest percentage `p.value` of the limit `l` that meets a condition. */
export const highest = (condition: Statement) =>
  sql`(SELECT max(p.value) FROM json_each(coalesce(l.notify_at, json_array(${
    joinSql(defaultNotifyAt.map(integer), ", ")
  }))) p WHERE ${condition})`;
/** The window of the notice about a cell: for minutes and hours, the day. */
export const noticeWindow = (cell: Statement): Statement =>
  sql`iif(l.per IN ('minute', 'hour'), ${
    windowNumber(sql`'day'`, sql`${cell}.at`, ahead(sql`o.timezone`, sql`${cell}.at`))
  }, ${cell}.window_number)`;
const isFull = sql`${comparable(sql`n.sum_high`, sql`n.sum_low`, sql`n.sum_micro`)}
    >= ${comparableQuantity(raised.whole, raised.micro)}`;
/** A limit that a group has used up is noted again after a request that was too large for what was left. */
const deleteRejections = sql`
  DELETE FROM limit_notices WHERE (usage_limit, organization, window_number, percent) IN (
    SELECT x.usage_limit, x.organization, x.window_number, x.percent
    FROM usage_limit_added a CROSS JOIN usage_limits l ON l.number = a.usage_limit
    CROSS JOIN organizations o ON o.number = a.organization
    CROSS JOIN limit_notices x ON x.usage_limit = a.usage_limit AND x.organization = a.organization
      AND x.window_number = ${noticeWindow(sql`a`)} AND x.percent = 100 AND x.is_refusal = 1
    CROSS JOIN usage_limit_counters n ON ${isCounter} AND n.is_known
    WHERE a.sum_high + a.sum_low + a.sum_micro > 0 AND ${isFull})`;
/**
 * Writes the highest percentage of each window, or of each `value` in it, with `is_quiet`.
 *
 * @param rows What was used or rejected.
 * @param isRepeated When a notice `x` suffices.
 */
export const insertNoticesOf = (
  rows: Statement,
  { isRepeated, byValue = false }: { isRepeated: Statement; byValue?: boolean },
): Statement =>
  sql`
  INSERT INTO limit_notices
    (usage_limit, organization, window_number, percent, is_refusal, used, at, noted_at, mailed_at, quantity_whole,
      quantity_micro${byValue ? sql`, value, is_quiet` : sql``})
  SELECT usage_limit, organization, window_number, percent, reason IS NOT NULL AND mode = 'hard', used, at,
    CAST(?3 AS INTEGER), NULL, quantity_whole, quantity_micro${byValue ? sql`, value, is_quiet` : sql``}
  FROM (${rows}) a WHERE percent IS NOT NULL AND NOT EXISTS (SELECT 1 FROM limit_notices x WHERE x.usage_limit = a.usage_limit
      AND x.organization = a.organization AND x.window_number = a.window_number AND x.percent >= a.percent
      ${isRepeated})
  GROUP BY usage_limit, organization, window_number${
    byValue ? sql`, value` : sql``
  } HAVING max(2 * percent + (reason IS NULL)) > 0`;
/**
 * Notes the highest percentage of each limit that a group has used, or 100 if a request of it doesn't fit, unless nothing else is used.
 * Limits with an unknown counter are noted when it is completed.
 */
const insertNotices = insertNoticesOf(
  sql`
    SELECT a.usage_limit, a.organization, ${noticeWindow(sql`a`)} AS window_number, a.at, a.reason, l.mode,
      ${raised.whole} AS quantity_whole, ${raised.micro} AS quantity_micro, json_array(n.sum_high, n.sum_low, n.sum_micro,
        json(${heldParts(ofWindow(sql`a.window_number`), now)})) AS used, CASE
        WHEN a.reason IS NULL THEN ${highest(isUsedOfRaised(sql`p.value`, now))}
        WHEN (n.sum_high + n.sum_low + n.sum_micro > 0 OR ${isFull}) AND ${
    highest(sql`true`)
  } >= 100 THEN 100 END AS percent
    FROM (SELECT usage_limit, organization, window_number, at, NULL AS reason FROM usage_limit_added
        WHERE sum_high + sum_low + sum_micro > 0
      UNION ALL SELECT usage_limit, organization, window_number, at, reason FROM usage_limit_refused
        WHERE reason = 'exceeded' AND NOT is_held) a
    CROSS JOIN usage_limits l ON l.number = a.usage_limit
    CROSS JOIN usage_limit_counters n ON n.usage_limit = a.usage_limit AND n.organization = a.organization
      AND n.window_number = a.window_number AND (a.reason IS NOT NULL OR (n.is_known AND ${isAnyUsed}))
    CROSS JOIN organizations o ON o.number = a.organization
    LEFT JOIN usage_grant_accounts t ON ${isAccount(sql`a.organization`)}
  `,
  { isRepeated: sql`AND (a.reason IS NOT NULL OR x.is_refusal = 0)` },
);

/** The facts of notices without an event. There are such only until the next statements of the batch. */
const newFacts = sql`
  SELECT x.organization, iif(x.percent < 100, 'limit.approaching',
      iif(l.mode = 'soft', 'limit.exceeded', 'limit.reached')) AS type,
    json_object('limit', json_set(${
  limitFacts({
    whole: sql`coalesce(x.quantity_whole, l.quantity_whole)`,
    micro: sql`coalesce(x.quantity_micro, l.quantity_micro)`,
  })
}, '$.value', nullif(x.value, ''), '$.apiKey', ${keyFacts(sql`coalesce(l.lineage, l.alert_lineage)`)}),
      'used', json(x.used), 'percent', x.percent, 'isRefusal', x.is_refusal, 'usedAt', x.at,
      'timezone', o.timezone) AS facts
  FROM limit_notices x CROSS JOIN usage_limits l ON l.number = x.usage_limit
  CROSS JOIN organizations o ON o.number = x.organization WHERE x.mailed_at IS NULL`;

/** Writes the notices about the limits of a group, and their events, of which emails are made. */
export function noteLimits(now: number): Statement[] {
  return [
    bind(deleteRejections, null, null, now),
    bind(insertNotices, null, null, now),
    insertEvents(sql`r.type`, { at: now, rows: newFacts }),
    sql`UPDATE limit_notices SET mailed_at = noted_at WHERE mailed_at IS NULL`,
  ];
}
