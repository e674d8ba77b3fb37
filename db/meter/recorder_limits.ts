// The SQL that counts a group of records against limits, and takes those out of it that don't fit. It runs in the transaction
// that records, before the cursor moves. In all texts ?1 is the records, ?2 the series and ?3 the time.
import { errorDetailsMax, limitUnknownCellsMax, rollupQuarterMs } from "../../domain/limits.ts";
import { lowBits } from "../../domain/meter/quantity.ts";
import type { LimitMode } from "../../domain/meter/usage_limit.ts";
import { bind, integer, sql, type Statement } from "../engine/database.ts";
import { addToHeld, endExpiredHolds, type HeldColumns, ofWindow, selectHeld } from "./hold_counts.ts";
import { isCounter, openCounters } from "./open_counters.ts";
import { field } from "./record_group.ts";
import type { ValueStatements } from "./value_limits.ts";
import { addGroup } from "./rollups.ts";
import {
  isOfOtherWindow,
  joinShared,
  mayShare,
  selectDemands,
  selectFull,
  selectUnknownOthers,
  selectUnknownWindows,
  sharedColumns,
} from "./grant_windows.ts";
import { selectReserved } from "./reserved_room.ts";
import { raisedQuantity, takeFromGrants } from "./usage_grants.ts";
import { noteLimits } from "./limit_notices.ts";
import {
  ahead,
  comparable,
  isApplied,
  limitQuantity,
  type LimitScopeRow,
  windowNumber,
} from "./usage_limits.ts";

/** Selects columns of the series `us` of a group, their organizations `o` and their API keys `k`, if any. */
export type SelectSeries = (columns: Statement, more: { join: Statement; condition: Statement }) => Statement;

/** A limit's counter for one window of an organization. */
export interface LimitCell extends LimitScopeRow {
  readonly usageLimit: number;
  readonly windowNumber: number;
  readonly at: number;
  readonly timezone: string;
  /** The position of the last record before the counter was opened. */
  readonly openedSeq: number;
}

/** Where a limit per value stands. */
interface CountedValue {
  /** The property. */
  readonly by: string;
  /** That of a record. */
  readonly value: string;
  /** The value of its counter. */
  readonly counter: string;
  readonly countsFrom: number;
}

/** A window of a limit, and what counts against it. */
export interface LimitState extends LimitCell, Partial<CountedValue> {
  readonly limitId: string;
  readonly mode: LimitMode;
  /** The limit's quantity, including grants. */
  readonly whole: string;
  readonly micro: string;
  /** See `SumParts`. */
  readonly used: readonly [high: string, low: string, micro: string];
  /** For `parseHeld`. */
  readonly held: HeldColumns;
  /** For `parseReserved`. Undefined for a value. */
  readonly reserved?: string | null;
  /** 1 if the request would fit without holds; then `heldUntil` is when the first of them expires. */
  readonly isHeld: 0 | 1;
  readonly heldUntil: number | null;
  /** Set if a request of the group doesn't fit into the limit. */
  readonly request: number | null;
  /**
   * `exceeded`: it doesn't fit. `others`: not together with others of the group. `unknown`: what is used already is. Without a request,
   * that of a limit that isn't hard, against which the group was counted nevertheless.
   */
  readonly reason: "exceeded" | "others" | "unknown" | null;
}

const quarterMs = integer(rollupQuarterMs);
const minuteMs = integer(60_000);
const now = sql`CAST(?3 AS INTEGER)`;
/** The parts of the quantity of the record `r`. */
export const high = sql`r.quantity_whole >> ${integer(lowBits)}`;
export const low = sql`r.quantity_whole & ${integer(2 ** lowBits - 1)}`;
export const isAnyRejected = sql`EXISTS (SELECT 1 FROM usage_limit_refused)`;
/** The number of the window of a time for the limit of `a`. */
export const windowOf = (time: Statement) => windowNumber(sql`a.per`, time, ahead(sql`a.timezone`, time));

/** The limits that count the series of the group. @param counts As for `isApplied`. */
export const applied = (select: SelectSeries, condition: Statement, counts?: "values") =>
  sql`applied AS MATERIALIZED (${
    select(
      sql`us.id AS series, us.organization, l.number AS usage_limit, l.per, o.timezone${
        counts === undefined ? sql`` : sql`, l.property`
      }`,
      {
        join: sql`CROSS JOIN usage_limits l ON ${
          isApplied({
            lineage: sql`k.lineage`,
            withAlerts: true,
            series: { productSlug: sql`us.product_slug`, metric: sql`us.metric` },
            counts,
          })
        }`,
        condition,
      },
    )
  })`;

/** Adds up the group by limit and window, from its rollups or, for minutes, from its records. The windows of now are always there. */
const addUp = (select: SelectSeries, condition: Statement) =>
  sql`WITH ${applied(select, condition)}
  INSERT INTO usage_limit_added (usage_limit, organization, window_number, at, sum_high, sum_low, sum_micro)
  SELECT * FROM (
    SELECT a.usage_limit, a.organization, ${windowOf(now)}, ${now}, 0, 0, 0 FROM applied a
    UNION ALL
    SELECT a.usage_limit, a.organization, ${windowOf(sql`r.at`)}, r.at, r.sum_high, r.sum_low, r.sum_micro
    FROM (SELECT u.*, u.quarter * ${quarterMs} AS at FROM usage_added u) r
    CROSS JOIN applied a ON a.series = r.series AND a.per <> 'minute'
    UNION ALL
    SELECT a.usage_limit, a.organization, r.at / ${minuteMs}, r.at, r.sum_high, r.sum_low, r.sum_micro
    FROM (SELECT r.series, min(r.timestamp) AS at, sum(${high}) AS sum_high, sum(${low}) AS sum_low,
        sum(r.quantity_micro) AS sum_micro
      FROM usage_records r
      WHERE r.seq > (SELECT seq FROM usage_cursor) AND EXISTS (SELECT 1 FROM applied WHERE per = 'minute')
      GROUP BY r.series, r.timestamp / ${minuteMs}) r
    CROSS JOIN applied a ON a.series = r.series AND a.per = 'minute'
  ) WHERE true
  ON CONFLICT DO UPDATE SET sum_high = sum_high + excluded.sum_high, sum_low = sum_low + excluded.sum_low,
    sum_micro = sum_micro + excluded.sum_micro`;

type Pair = readonly [Statement, Statement];
type PairOfParts = readonly [high: Pair, low: Pair, micro: Pair];
const added = ([high, low, micro]: PairOfParts): [Statement, Statement, Statement] => [
  sql`(${high[0]} + ${high[1]})`,
  sql`(${low[0]} + ${low[1]})`,
  sql`(${micro[0]} + ${micro[1]})`,
];
/** A question needs the smallest quantity of a cutoff limit, and no more. */
export const cutoffNeed = sql`(l.mode = 'cutoff')`;
/** True if the sum of two columns for each part is more than the quantity of `l`. */
export const isOver = (...parts: PairOfParts) =>
  sql`${comparable(...added(parts))}
    > ${limitQuantity}`;
/** Sums of a counter with what is held, and of the group. */
const groupSum: PairOfParts = [
  [sql`(n.sum_high + n.held_high)`, sql`a.sum_high`],
  [sql`(n.sum_low + n.held_low)`, sql`a.sum_low`],
  [sql`(n.sum_micro + n.held_micro)`, sql`(a.sum_micro + ${cutoffNeed})`],
];
/** Ends holds of organizations that have too little room for the group, as holds that have expired must not reject anything. */
export const endsHoldsInTheWay = (more?: Statement): Statement =>
  sql`h.organization IN (SELECT a.organization FROM usage_limit_added a
      CROSS JOIN usage_limit_counters n ON ${isCounter}
      CROSS JOIN usage_limits l ON l.number = a.usage_limit AND l.mode <> 'soft' WHERE ${isOver(...groupSum)}
        AND (n.held_high <> 0 OR n.held_low <> 0 OR n.held_micro <> 0 OR ${mayShare})${
    more === undefined ? sql`` : sql` UNION ALL ${more}`
  })`;
const endHoldsInTheWay = endExpiredHolds(endsHoldsInTheWay());
/** The quantity of the limit `l` of the cell `a` with grants. It is never less than without. */
const raised = raisedQuantity(sql`a.organization`, now, sql`a.window_number`);
/** A condition: the limit `l` may reject a request of the group. */
export const isRejecting = sql`(l.mode = 'hard' OR (l.mode = 'cutoff' AND ?4 IS NOT NULL))`;
/** The columns of what a request adds by its records `r`. @param request Its number. @param limit The row of the limit. */
export const ownSums = (request: Statement, limit: Statement) =>
  sql`${limit}.mode = 'hard' OR ${request} IN (SELECT value FROM json_each(?4)) AS is_judged,
        count(r.seq) AS records, coalesce(sum(${high}), 0) AS own_high, coalesce(sum(${low}), 0) AS own_low,
        coalesce(sum(r.quantity_micro), 0) AS own_micro`;
/** The columns of what a request needs: what it adds, or the least of a cutoff limit. */
export const needs = sql`iif(mode = 'cutoff', 0, own_high) AS high, iif(mode = 'cutoff', 0, own_low) AS low,
      iif(mode = 'cutoff', records > 0, own_micro) AS micro`;
/** Adds up a part of the requests before one, and its own need. */
const runningSum = (part: Statement) =>
  sql`sum(own_${part}) OVER (PARTITION BY usage_limit, organization, window_number ORDER BY request)
      - own_${part} + ${part} AS ${part}`;

export const overDemand = isOver(
  [sql`l.sum_high`, sql`l.high`],
  [sql`l.sum_low`, sql`l.low`],
  [sql`l.sum_micro`, sql`l.micro`],
);

export const overWithoutHolds = isOver(
  [sql`(l.sum_high - l.held_high)`, sql`l.high`],
  [sql`(l.sum_low - l.held_low)`, sql`l.low`],
  [sql`(l.sum_micro - l.held_micro)`, sql`l.micro`],
);
/** Selects those of `judged` that fit alone, but not together with those before them. */
export const selectOthers = (isKnown: Statement, isOther: Statement) =>
  sql`SELECT request, usage_limit, organization, window_number, at, 'others', 0 FROM (
    SELECT request, usage_limit, organization, window_number, at, is_judged, sum_high, sum_low, sum_micro, quantity_whole,
      quantity_micro, ${runningSum(sql`high`)}, ${runningSum(sql`low`)}, ${
    runningSum(sql`micro`)
  }, ${isOther} AS is_other
    FROM judged WHERE ${isKnown} AND NOT is_too_large AND high + low + micro > 0) l
  WHERE is_judged AND (${overDemand} OR is_other)`;

/**
 * Finds the requests that don't fit into hard limits, and the questions for which a cutoff limit has nothing left. `?4` has the questions,
 * by number; null without any. Usually all windows are known and have room for the whole group, and nothing else is read. Otherwise a
 * request is rejected if it doesn't fit alone; of the others, one that doesn't fit together with those before it is retried with the next
 * group.
 */
const rejectRequests = (select: SelectSeries) =>
  sql`WITH over AS (
    SELECT a.usage_limit, a.organization, a.window_number, a.at, n.is_known, n.sum_high + n.held_high AS sum_high,
      n.sum_low + n.held_low AS sum_low, n.sum_micro + n.held_micro AS sum_micro,
      n.held_high, n.held_low, n.held_micro, l.mode, a.sum_high AS high, a.sum_low AS low,
      a.sum_micro + ${cutoffNeed} AS micro, ${raised.whole} AS raised_whole, ${raised.micro} AS raised_micro, ${
    sharedColumns(now)
  }
    FROM usage_limit_added a CROSS JOIN usage_limit_counters n ON ${isCounter}
    CROSS JOIN usage_limits l ON l.number = a.usage_limit ${joinShared}
    WHERE ${isRejecting}
      AND (n.is_known = 0 OR ${isOver(...groupSum)})
  ), full AS MATERIALIZED (
    ${selectFull(overDemand)}
  ), ${applied(select, sql`EXISTS (SELECT 1 FROM full)`)},
  wanted AS MATERIALIZED (
    SELECT ${field.request} AS request, e.key AS position, a.usage_limit, a.organization,
      ${windowOf(field.timestamp)} AS window_number
    FROM json_each(?1) e CROSS JOIN applied a ON a.position = ${field.series}
    WHERE EXISTS (SELECT 1 FROM full)
    UNION ALL
    SELECT DISTINCT ${field.request}, NULL, a.usage_limit, a.organization, ${windowOf(now)}
    FROM json_each(?1) e CROSS JOIN applied a ON a.position = ${field.series}
    WHERE EXISTS (SELECT 1 FROM full)
  ), demands AS MATERIALIZED (
    SELECT *, ${needs}
    FROM (SELECT w.request, f.*, ${ownSums(sql`w.request`, sql`f`)}
      FROM wanted w CROSS JOIN full f ON f.usage_limit = w.usage_limit AND f.organization = w.organization
        AND f.window_number = w.window_number
      LEFT JOIN usage_records r ON r.seq = (SELECT seq FROM usage_cursor) + w.position + 1
      GROUP BY 1, f.usage_limit, f.organization, f.window_number)
  ), judged AS MATERIALIZED (
    SELECT *, max(is_judged AND (NOT is_known OR unknown_window IS NOT NULL)) OVER (PARTITION BY request) AS is_unknown,
      max(is_over) OVER (PARTITION BY request) AS is_too_large
    FROM (SELECT l.*, is_judged AND l.high + l.low + l.micro > 0 AND (${overDemand} OR l.is_together) AS is_over
      FROM (${selectDemands}) l)
  )
  INSERT OR IGNORE INTO usage_limit_refused (request, usage_limit, organization, window_number, at, reason, is_held)
  SELECT request, usage_limit, organization, window_number, at, 'unknown', 0 FROM judged
  WHERE is_judged AND NOT is_known
  UNION ALL ${selectUnknownWindows}
  UNION ALL
  SELECT request, usage_limit, organization, window_number, at, 'exceeded', NOT ${overWithoutHolds}
    AND (reserved > 0 OR held_high <> 0 OR held_low <> 0 OR held_micro <> 0)
  FROM (SELECT request, usage_limit, organization, window_number, at, sum_high, sum_low, sum_micro, held_high, held_low,
      held_micro, high, low, micro, reserved, raised_whole AS quantity_whole, raised_micro AS quantity_micro
    FROM judged WHERE is_over AND NOT is_unknown) l
  UNION ALL ${selectOthers(sql`NOT is_unknown`, isOfOtherWindow)}`;
const deleteRejected = sql`
  DELETE FROM usage_records WHERE seq > (SELECT seq FROM usage_cursor) AND seq IN (
    SELECT (SELECT seq FROM usage_cursor) + e.key + 1 FROM json_each(?1) e
    WHERE ${isAnyRejected} AND ${field.request} IN (SELECT request FROM usage_limit_refused))`;

const addToCounters = sql`
  INSERT INTO usage_limit_counters
    (usage_limit, organization, window_number, sum_high, sum_low, sum_micro, is_known, opened_seq)
  SELECT usage_limit, organization, window_number, sum_high, sum_low, sum_micro, 1, 0 FROM usage_limit_added
  WHERE sum_high + sum_low + sum_micro > 0
  ON CONFLICT DO UPDATE SET sum_high = sum_high + excluded.sum_high, sum_low = sum_low + excluded.sum_low,
    sum_micro = sum_micro + excluded.sum_micro`;

/** Windows with unknown usage of limits that didn't reject it, current ones first; and those that share grants with the group's. */
const unknownSoft = sql`
  SELECT * FROM (SELECT a.usage_limit, a.organization, a.window_number, a.at FROM usage_limit_added a CROSS JOIN usage_limit_counters n ON ${isCounter} AND NOT n.is_known
  CROSS JOIN usage_limits l ON l.number = a.usage_limit
    AND (l.mode <> 'hard' OR a.sum_high + a.sum_low + a.sum_micro > 0)
  ORDER BY a.at <> ${now} LIMIT ${integer(limitUnknownCellsMax)})
  UNION ALL SELECT * FROM (${selectUnknownOthers} LIMIT ${integer(limitUnknownCellsMax)})`;
/** A JSON list of {@linkcode LimitState}s. */
export const stateList = (
  { held, used, whole, micro, more }: Record<"held" | "used" | "whole" | "micro" | "more", Statement>,
) =>
  sql`json_group_array(json_object('request', a.request, 'reason', a.reason, 'isHeld', a.is_held,
    'held', ${held},
    'heldUntil', iif(a.is_held, (SELECT min(h.expires_at) FROM usage_holds h
      WHERE h.organization = a.organization AND h.status = 'active'), NULL), 'usageLimit', a.usage_limit,
    'organization', a.organization, 'windowNumber', a.window_number, 'at', a.at, 'limitId', l.id,
    'lineage', coalesce(l.lineage, l.alert_lineage), 'productSlug', l.product_slug, 'metric', l.metric, 'per', l.per, 'mode', l.mode,
    'whole', CAST(${whole} AS TEXT), 'micro', CAST(${micro} AS TEXT), 'timezone', o.timezone, 'openedSeq', n.opened_seq,
    'used', ${used}, ${more}))`;
/** The windows of now that are known, without those of alerts; those of other limits than hard ones that aren't, and those that requests of the group don't fit into. */
const selectStates = sql`
  SELECT ${
  stateList({
    ...raised,
    held: selectHeld(ofWindow(sql`a.window_number`), now),
    used: sql`json_array(CAST(n.sum_high AS TEXT), CAST(n.sum_low AS TEXT), CAST(n.sum_micro AS TEXT))`,
    more: sql`'reserved', ${selectReserved(sql`a.window_number`, now, "most")}`,
  })
} AS list
  FROM (SELECT NULL AS request, NULL AS reason, 0 AS is_held, usage_limit, organization, window_number, at
      FROM usage_limit_added a WHERE at = ${now}
        AND EXISTS (SELECT 1 FROM usage_limit_counters n WHERE ${isCounter} AND n.is_known)
    UNION ALL SELECT NULL, 'unknown', 0, usage_limit, organization, window_number, at FROM (${unknownSoft})
    UNION ALL SELECT request, reason, is_held, usage_limit, organization, window_number, at
      FROM (SELECT *, row_number() OVER (PARTITION BY request) AS rank FROM usage_limit_refused)
      WHERE rank <= iif(reason = 'unknown', ${integer(limitUnknownCellsMax)}, ${integer(errorDetailsMax)})) a
  CROSS JOIN usage_limit_counters n ON ${isCounter}
  CROSS JOIN usage_limits l ON l.number = a.usage_limit AND (l.alert_of IS NULL OR a.reason IS NOT NULL)
  CROSS JOIN organizations o ON o.number = a.organization`;

/** Builds the statements that count a group, whose series are found in one way, and check it. */
export function limitStatements(select: SelectSeries) {
  return {
    add: addUp(select, sql`true`),
    reject: rejectRequests(select),
    addAgain: addUp(select, isAnyRejected),
  };
}

/** Says how a group's records count: as usage, as held, or as usage that no limit rejects. */
export interface Counted {
  readonly as: "usage" | "holds" | "settlement";
  /** True if the database has active holds. Without, none are looked for that have expired. */
  readonly hasHolds: boolean;
  /** The numbers of the requests that ask, which cutoff limits deny. */
  readonly questions: readonly number[];
  /** Run once the counters have the records. */
  readonly more?: readonly Statement[];
  /** Run while `usage_limit_added` still has the group. */
  readonly select?: Statement;
  /** Set if the database has limits per value. */
  readonly byValue?: ValueStatements | undefined;
}

/**
 * Counts the inserted records against limits, and deletes those that don't fit.
 *
 * @param add Adds a statement to the batch. @param statements For the group. @param values Records, series and time.
 * @returns The positions of the statement that deletes, of those that return {@linkcode LimitState}s, and of `select`.
 */
export function countAgainstLimits(
  add: (statement: Statement) => number,
  statements: ReturnType<typeof limitStatements>,
  [records, series, time]: readonly [records: string, series: string, now: number],
  { as, hasHolds, questions, more = [], select, byValue }: Counted,
): readonly [deletedAt: number, statesAt: readonly number[], selectedAt: number] {
  let deletedAt = -1;
  add(bind(statements.add, null, series, time));
  add(openCounters);
  const addAll = (some: readonly Statement[] = []) => some.forEach((statement) => add(statement));
  addAll(byValue?.open(records, series, time));
  if (as !== "settlement") {
    if (hasHolds) addAll((byValue?.endHolds ?? endHoldsInTheWay)(time));
    const asking = questions.length === 0 ? null : JSON.stringify(questions);
    add(bind(statements.reject, records, series, time, asking));
    addAll(byValue?.reject(records, series, time, asking));
    deletedAt = add(bind(deleteRejected, records));
    add(sql`DELETE FROM usage_added WHERE ${isAnyRejected}`);
    add(addGroup(isAnyRejected));
    add(sql`DELETE FROM usage_limit_added WHERE ${isAnyRejected}`);
    add(bind(statements.addAgain, null, series, time));
    addAll(byValue?.addAgain(records, series, time));
  }
  add(as === "holds" ? addToHeld : addToCounters);
  if (as !== "holds") addAll(byValue?.addToCounters);
  addAll(more);
  if (as !== "holds") add(bind(takeFromGrants, null, null, time));
  addAll([...byValue?.note(time) ?? [], ...noteLimits(time)]);
  const statesAt = [bind(selectStates, null, null, time), ...byValue?.selectStates(time) ?? []].map((one) =>
    add(one)
  );
  const selectedAt = select === undefined ? -1 : add(select);
  addAll(byValue?.end);
  add(sql`DELETE FROM usage_limit_added`);
  add(sql`DELETE FROM usage_limit_refused`);
  return [deletedAt, statesAt, selectedAt];
}
