// The SQL of windows that share grants. Two windows of a limit may need the same grant: this month, and last month while a hold of it is
// active or when a late record belongs to it. So a window may only use what no hold of another window needs.
import { sql, type Statement } from "../engine/database.ts";
import { activeHolds } from "./hold_counts.ts";
import { clamped, hasWindowGrants, inMicros, isAccount, leftMicros, million, taken } from "./usage_grants.ts";
import { countedSeq } from "./usage_limits.ts";

/** Held by a counter, in millionths. */
const heldOf = (n: Statement) =>
  clamped(inMicros(sql`${n}.held_high`, sql`${n}.held_low`, sql`${n}.held_micro`));
export const hasHeld = (n: Statement): Statement =>
  sql`(${n}.held_high <> 0 OR ${n}.held_low <> 0 OR ${n}.held_micro <> 0)`;

/** The quantity of the limit `l` of the account `t` for a window, without what is left of grants. */
const floor = (window: Statement) => ({
  whole: sql`(l.quantity_whole + ${taken(window).whole})`,
  micro: sql`(l.quantity_micro + ${taken(window).micro})`,
});
/** The millionths of grants that the holds of a counter need. */
const neededByHolds = (n: Statement) => {
  const { whole, micro } = floor(sql`${n}.window_number`);
  return sql`min(${heldOf(n)}, ${
    clamped(inMicros(
      sql`(${n}.sum_high + ${n}.held_high)`,
      sql`(${n}.sum_low + ${n}.held_low - ${whole})`,
      sql`${n}.sum_micro + ${n}.held_micro - ${micro}`,
    ))
  })`;
};
/**
 * Adds up what holds of windows of the limit `l` need of the grants of its account `t`, in millionths.
 *
 * @param windows The rest of a query: the windows `m`, with the columns of a counter. @param isMost Those that lack earlier usage need
 *   as much as they may need.
 */
export const reservedBy = (windows: Statement, isMost = false): Statement => {
  const need = neededByHolds(sql`m`);
  return sql`coalesce((SELECT ${clamped(sql`(sum(need / ${million}) * ${million} + sum(need % ${million}))`)}
      FROM (SELECT ${
    isMost ? sql`iif(m.is_known, ${need}, ${heldOf(sql`m`)})` : need
  } AS need FROM ${windows})), 0)`;
};
/** Counters `m` of other windows of the limit `l` that hold something. */
const others = sql`organizations o CROSS JOIN usage_limit_counters m ON m.usage_limit = a.usage_limit
    AND m.organization = o.number AND m.window_number <> a.window_number AND ${hasHeld(sql`m`)}
    AND m.opened_seq >= ${countedSeq} WHERE o.number = a.organization`;

/** Joins the account `t` of the limit `l` of the cell `a`, if grants raise it and it has windows. */
export const joinShared = sql`LEFT JOIN usage_grant_accounts t ON ${isAccount(sql`a.organization`)}
    AND t.per <> 'total'`;
/**
 * Columns of the cell `a`, with its limit `l`, its counter `n` and {@linkcode joinShared}, in millionths: what is left of grants, what holds
 * of other windows need of it, what those of its own need; and another window that holds something and lacks earlier usage.
 */
export const sharedColumns = (now: Statement): Statement => {
  const shared = (value: Statement) => sql`iif(t.organization IS NULL, 0, ${value})`;
  const { whole, micro } = floor(sql`a.window_number`);
  return sql`t.organization IS NOT NULL AS is_shared, ${shared(leftMicros(now))} AS rest,
    ${shared(reservedBy(others))} AS reserved,
    ${shared(neededByHolds(sql`n`))} AS own_need, ${shared(whole)} AS floor_whole, ${
    shared(micro)
  } AS floor_micro,
    iif(t.organization IS NULL, NULL, (SELECT m.window_number FROM ${others} AND m.is_known = 0 LIMIT 1)) AS unknown_window`;
};
/** The part of what is left of grants that a row of {@linkcode sharedColumns} can't use, in millionths. */
const lost = sql`min(rest, reserved)`;
/** Needed of grants with what is added, in a row of {@linkcode sharedColumns}, in millionths. Null without. */
const need = clamped(
  inMicros(sql`(sum_high + high)`, sql`(sum_low + low - floor_whole)`, sql`sum_micro + micro - floor_micro`),
);
/** True if windows together need more of grants than is left. `need` has what each needs, which is more than what its holds need. */
const isOverTogether = (partition: Statement): Statement => {
  const more = sql`iif(need > own_need, need - own_need, 0)`;
  const micro = sql`sum(${more} % ${million}) OVER (PARTITION BY ${partition})`;
  const room = sql`(rest - reserved - own_need)`;
  return sql`(sum(${more} / ${million}) OVER (PARTITION BY ${partition}) + ${micro} / ${million}, ${micro} % ${million})
      > (${room} / ${million}, ${room} % ${million})`;
};

const ofLimit = sql`usage_limit, organization`;
const withNeed = sql`iif(high + low + micro > 0, ${need}, NULL) AS need`;
/** Selects those rows of `over`, with {@linkcode sharedColumns}, whose window may have too little room for the group. */
export const selectFull = (isOver: Statement): Statement =>
  sql`SELECT usage_limit, organization, window_number, at, is_known, mode, sum_high, sum_low, sum_micro, held_high, held_low,
      held_micro, quantity_whole, quantity_micro, raised_whole, raised_micro, is_shared, rest, reserved, own_need,
      floor_whole, floor_micro, unknown_window
    FROM (SELECT *, is_shared AND ${isOverTogether(ofLimit)} AS is_together
      FROM (SELECT *, raised_whole - 1 - ${lost} / ${million} AS quantity_whole,
        raised_micro + ${million} - ${lost} % ${million} AS quantity_micro, ${withNeed} FROM over)) l
    WHERE NOT is_known OR is_together OR unknown_window IS NOT NULL OR ${isOver}`;
/** Selects the demands of requests, those that need more of grants for several windows than is left, and for how many windows. */
export const selectDemands = sql`SELECT *, is_shared AND need > 0 AND ${
  isOverTogether(sql`request, ${ofLimit}`)
} AS is_together, count(need) OVER (PARTITION BY request, ${ofLimit}) AS windows FROM (SELECT *, ${withNeed} FROM demands)`;
/** Of several windows that share grants, only that of the first request is decided in a group. */
export const isOfOtherWindow =
  sql`is_shared AND request <> min(request) OVER (PARTITION BY ${ofLimit}) AND window_number
    IS NOT first_value(iif(windows = 1, window_number, NULL)) OVER (PARTITION BY ${ofLimit} ORDER BY request)`;

/** Selects the windows without all earlier usage that requests of `judged` wait for. */
export const selectUnknownWindows = sql`SELECT j.request, j.usage_limit, j.organization, j.unknown_window,
      min(h.created_at), 'unknown', 0
    FROM judged j CROSS JOIN usage_limits l ON l.number = j.usage_limit
    CROSS JOIN organizations o ON o.number = j.organization CROSS JOIN ${activeHolds(sql`j.unknown_window`)}
    WHERE j.is_judged AND j.unknown_window IS NOT NULL GROUP BY 1, 2, 3, 4`;

/** Selects other windows of the cells `a` that hold something and lack earlier usage, with a time in each. */
export const selectUnknownOthers =
  sql`SELECT a.usage_limit, a.organization, m.window_number, (SELECT min(h.created_at)
      FROM (SELECT 1) CROSS JOIN ${activeHolds(sql`m.window_number`)}) AS at
    FROM (SELECT 1 WHERE ${hasWindowGrants}) CROSS JOIN usage_limit_added a
    CROSS JOIN usage_limits l ON l.number = a.usage_limit
    CROSS JOIN usage_grant_accounts t ON ${isAccount(sql`a.organization`)} AND t.per <> 'total'
    CROSS JOIN ${others} AND m.is_known = 0`;

/** True if the cell `a` of the limit `l` may have no room because of holds of other windows. */
export const mayShare = sql`EXISTS (SELECT 1 FROM usage_grant_accounts t WHERE ${
  isAccount(sql`a.organization`)
} AND t.per <> 'total')`;

/** Deletes some of what windows of an organization have taken. */
export const deleteWindowTakes = (
  { organization, rows }: { organization: Statement; rows: number },
): Statement =>
  sql`DELETE FROM usage_grant_windows WHERE organization = ${organization} AND (product_slug, metric, per, window_number)
    IN (SELECT product_slug, metric, per, window_number FROM usage_grant_windows
      WHERE organization = ${organization} LIMIT ${rows})`;
