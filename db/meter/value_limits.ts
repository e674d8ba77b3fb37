// The SQL that counts a group of records against limits per value, beside that of other limits in recorder_limits.ts: in the same
// transaction, with a fixed number of statements and work in proportion to the group. A counter is never unknown: it has what was
// recorded since it was opened. In all texts ?1 is the records, ?2 the series, ?3 the time and ?4 a list of holds,
// or of requests that cutoff limits deny.
import { errorDetailsMax } from "../../domain/limits.ts";
import { limitValuesMax, namedValuesMax, valueCountersKeptDays } from "../../domain/meter/value_limit.ts";
import { bind, integer, sql, type Statement } from "../engine/database.ts";
import {
  activeHolds,
  endExpiredHolds,
  heldParts,
  heldSums,
  type Holders,
  isOver as isExpired,
  selectHeld,
  sumTexts,
  windowOfHold,
} from "./hold_counts.ts";
import { field, propertiesOfRecord } from "./record_group.ts";
import { highest, insertNoticesOf, isAnyUsed, isUsed, noticeWindow } from "./limit_notices.ts";
import {
  applied,
  cutoffNeed,
  endsHoldsInTheWay,
  high,
  isAnyRejected,
  isOver,
  isRejecting,
  low,
  needs,
  overDemand,
  overWithoutHolds,
  ownSums,
  selectOthers,
  type SelectSeries,
  stateList,
  windowOf,
} from "./recorder_limits.ts";
import { monthStart } from "./rollup_columns.ts";
import { ahead, isApplied, windowNumber } from "./usage_limits.ts";

/** A condition: any limit is per value. */
export const hasValueLimits = sql`EXISTS (SELECT 1 FROM usage_limits WHERE property <> '')`;

const now = sql`CAST(?3 AS INTEGER)`;
const cursor = sql`(SELECT seq FROM usage_cursor)`;
const dayMs = 24 * 3_600_000;

/** The value that counts for properties in JSON, by the limit of an alias. */
export const valueIn = (properties: Statement, limit: Statement) =>
  sql`coalesce(${properties} ->> ${limit}.property, '(none)')`;

/** A condition: two rows are of one window of a limit. */
const isWindow = (row: Statement, other: Statement) =>
  sql`${row}.usage_limit = ${other}.usage_limit AND ${row}.organization = ${other}.organization
      AND ${row}.window_number = ${other}.window_number`;
/** A condition: a counter is that of a row's value. */
export const isCounter = (counter: Statement, row: Statement) =>
  sql`${isWindow(counter, row)} AND ${counter}.value = ${row}.value`;
/** Joins the exception `x` of a row's value, for {@linkcode quantityOf}. */
export const joinException = (row: Statement) =>
  sql`LEFT JOIN usage_limit_exceptions x ON x.usage_limit = ${row}.usage_limit AND x.value = ${row}.value`;
/** The parts of a value's quantity in the limit `l`, null for no limit. */
export const quantityOf = {
  whole: sql`iif(x.value IS NULL, l.quantity_whole, x.quantity_whole)`,
  micro: sql`iif(x.value IS NULL, l.quantity_micro, x.quantity_micro)`,
};

const hasOwn = sql`(s.value = '(other)' OR EXISTS (SELECT 1 FROM usage_value_counters c WHERE ${
  isCounter(sql`c`, sql`s`)
}) OR EXISTS (SELECT 1 FROM usage_limit_exceptions x WHERE x.usage_limit = s.usage_limit AND x.value = s.value))`;
const room = sql`${integer(limitValuesMax)} - coalesce((SELECT w.counters FROM usage_value_windows w
      WHERE ${isWindow(sql`w`, sql`s`)}), 0)`;
/** The counter of the next usage of the value `s`: its own if it has one or there is room, otherwise that of all others. */
export const counterOf = sql`iif(${hasOwn} OR ${room} > 0, s.value, '(other)')`;
/** The counter that has the record `seq` of a row's value. */
export const counterSince = (row: Statement, seq: Statement) =>
  sql`iif(EXISTS (SELECT 1 FROM usage_value_counters c WHERE ${isCounter(sql`c`, row)}
      AND c.opened_seq < ${seq}), ${row}.value, '(other)')`;

const keptMs = (per: keyof typeof valueCountersKeptDays) => integer(valueCountersKeptDays[per] * dayMs);
/** A condition: counters of the window of `s` are kept, by the clocks of now. */
const isWindowKept = sql`CASE s.per WHEN 'hour' THEN s.window_number + 3600000 + ${keptMs("hour")} > ${now}
    ELSE iif(s.per = 'day', (s.window_number + 1) * ${integer(dayMs)} + ${keptMs("day")}, ${
  monthStart(sql`(s.window_number + 1)`)
} + ${keptMs("month")}) > ${now} + ${ahead(sql`s.timezone`, now)} END`;

const isSpanOpen = (limit: Statement, organization: Statement) =>
  sql`EXISTS (SELECT 1 FROM usage_value_spans s WHERE s.organization = ${organization} AND s.usage_limit = ${limit}
    AND s.until_seq IS NULL)`;

/** Joins the active holds `h`, and their records `p`, that the limit `l` of the organization `o` hasn't taken over. It does with the first usage. */
export const untakenHolds = (window: Statement, time: Statement) =>
  sql`${activeHolds(window)} WHERE NOT ${isSpanOpen(sql`l.number`, sql`o.number`)} AND NOT ${isExpired(time)}
      AND NOT EXISTS (SELECT 1 FROM usage_hold_values v WHERE v.hold = h.number AND v.usage_limit = l.number)`;

/** Adds what holds `h` take from counters of values, in the order in which they were made. */
const insertHeld = (holds: Statement) =>
  sql`INSERT INTO usage_hold_values (hold, usage_limit, organization, window_number, value, held_high, held_low, held_micro)
    SELECT h.number, l.number, o.number, ${windowOfHold}, ${valueIn(sql`p.value -> 4`, sql`l`)}, ${heldSums}
    FROM ${holds} GROUP BY 1, 2, 3, 4, 5 ORDER BY h.number, min(p.key)`;

/** Adds what the new holds of the list ?4 take. */
export const addNewHolds: Statement = insertHeld(
  sql`json_each(?4) e CROSS JOIN usage_holds h ON h.id = e.value ->> 3 AND h.status = 'active'
    CROSS JOIN organizations o ON o.number = h.organization CROSS JOIN json_each(h.records) p
    CROSS JOIN usage_limits l ON ${
    isApplied({
      lineage: sql`h.lineage`,
      withAlerts: true,
      series: { productSlug: sql`(p.value ->> 0)`, metric: sql`(p.value ->> 1)` },
      counts: "values",
    })
  }`,
);

/** The first group that a limit counts takes over active holds, and notes from which record on it counts. */
const openSpans = (select: SelectSeries) => {
  const opened = applied(select, sql`NOT ${isSpanOpen(sql`l.number`, sql`us.organization`)}`, "values");
  return [
    sql`WITH ${opened} ${
      insertHeld(
        sql`(SELECT DISTINCT organization, usage_limit FROM applied) a CROSS JOIN usage_limits l ON l.number = a.usage_limit
          CROSS JOIN organizations o ON o.number = a.organization CROSS JOIN ${
          untakenHolds(windowOfHold, now)
        }`,
      )
    }`,
    sql`WITH ${opened}
      INSERT OR REPLACE INTO usage_value_spans (organization, usage_limit, since_seq, timezone)
      SELECT DISTINCT organization, usage_limit, ${cursor}, timezone FROM applied`,
  ];
};

/**
 * Adds up the group by limit, window and value, and finds the counter of each, as {@linkcode counterOf} does. The windows of now are always
 * there, also those of repeats. A second time, after requests were rejected, counters stay the same.
 */
const addUp = (select: SelectSeries, condition: Statement) =>
  sql`WITH ${applied(select, condition, "values")}, found AS (
    SELECT a.*, ${
    valueIn(sql`r.properties`, sql`a`)
  } AS value, r.seq, r.timestamp AS at, ${high} AS high, ${low} AS low,
      r.quantity_micro AS micro
    FROM usage_records r CROSS JOIN applied a ON a.series = r.series WHERE r.seq > ${cursor}
    UNION ALL
    SELECT a.*, ${valueIn(propertiesOfRecord, sql`a`)}, ${cursor} + e.key + 1, ${now}, 0, 0, 0
    FROM json_each(?1) e CROSS JOIN applied a ON a.position = ${field.series}
  ), summed AS MATERIALIZED (
    SELECT usage_limit, organization, ${windowOf(sql`a.at`)} AS window_number, per, timezone, value,
      min(seq) AS first_seq, iif(max(at = ${now}), ${now}, min(at)) AS at, sum(high) AS sum_high, sum(low) AS sum_low,
      sum(micro) AS sum_micro
    FROM found a GROUP BY usage_limit, organization, 3, value
  )
  INSERT INTO usage_value_added
    (usage_limit, organization, window_number, value, counter, at, sum_high, sum_low, sum_micro)
  SELECT usage_limit, organization, window_number, value, iif(has_own OR rank <= room, value, '(other)'), at,
    sum_high, sum_low, sum_micro
  FROM (
    SELECT *, iif(has_own, 0, ${room}) AS room, row_number() OVER (
      PARTITION BY usage_limit, organization, window_number, has_own, sum_high + sum_low + sum_micro > 0
      ORDER BY first_seq) AS rank
    FROM (SELECT s.*, ${hasOwn} AS has_own FROM summed s WHERE ${isWindowKept}) s
  ) WHERE true
  ON CONFLICT DO UPDATE SET sum_high = excluded.sum_high, sum_low = excluded.sum_low, sum_micro = excluded.sum_micro`;

/** The counters of the group `l`, with their limits, their quantities (null for no limit), and what the group adds to them. */
const cells = sql`(
    SELECT a.*, l.per, l.mode, l.notify_at, l.alert_of, ${quantityOf.whole} AS quantity_whole,
      ${quantityOf.micro} AS quantity_micro
    FROM (SELECT min(number) AS number, usage_limit, organization, window_number, counter AS value, max(at) AS at,
        sum(sum_high) AS sum_high, sum(sum_low) AS sum_low, sum(sum_micro) AS sum_micro
      FROM usage_value_added GROUP BY usage_limit, organization, window_number, counter) a
    CROSS JOIN usage_limits l ON l.number = a.usage_limit ${joinException(sql`a`)}) l`;
const isOwnCounter = isCounter(sql`n`, sql`l`);
/** A part of what the counter has and what is held. */
const counted = (part: Statement) => sql`coalesce(n.sum_${part} + n.held_${part}, 0)`;
const isFull = isOver(
  [counted(sql`high`), sql`l.sum_high`],
  [counted(sql`low`), sql`l.sum_low`],
  [counted(sql`micro`), sql`(l.sum_micro + ${cutoffNeed})`],
);

/** Selects organizations that have too little room for the group, and holds. */
const inTheWay = sql`SELECT l.organization FROM ${cells} CROSS JOIN usage_value_counters n ON ${isOwnCounter}
      AND (n.held_high <> 0 OR n.held_low <> 0 OR n.held_micro <> 0)
    WHERE l.mode <> 'soft' AND ${isFull}`;

/** As in recorder_limits.ts. A rejected request has the negative number of its row of `usage_value_added` as its limit. */
const rejectRequests = (select: SelectSeries) =>
  sql`WITH full AS MATERIALIZED (
    SELECT -l.number AS usage_limit, l.usage_limit AS number, l.mode, l.organization, l.window_number, l.value, l.at,
      l.quantity_whole, l.quantity_micro, ${counted(sql`high`)} AS sum_high, ${counted(sql`low`)} AS sum_low,
      ${
    counted(sql`micro`)
  } AS sum_micro, coalesce(n.held_high, 0) AS held_high, coalesce(n.held_low, 0) AS held_low,
      coalesce(n.held_micro, 0) AS held_micro
    FROM ${cells} LEFT JOIN usage_value_counters n ON ${isOwnCounter} WHERE ${isRejecting} AND ${isFull}
  ), ${applied(select, sql`EXISTS (SELECT 1 FROM full)`, "values")},
  demands AS MATERIALIZED (
    SELECT *, ${needs} FROM (SELECT ${field.request} AS request, l.*, ${ownSums(field.request, sql`l`)}
      FROM json_each(?1) e CROSS JOIN applied a ON a.position = ${field.series}
      CROSS JOIN usage_records r ON r.seq = ${cursor} + e.key + 1
      CROSS JOIN usage_value_added v ON v.usage_limit = a.usage_limit AND v.organization = a.organization
        AND v.window_number = ${windowOf(sql`r.timestamp`)} AND v.value = ${
    valueIn(sql`r.properties`, sql`a`)
  }
      CROSS JOIN full l ON l.number = v.usage_limit AND l.organization = v.organization
        AND l.window_number = v.window_number AND l.value = v.counter
      WHERE EXISTS (SELECT 1 FROM full) GROUP BY 1, l.usage_limit)
  ), judged AS MATERIALIZED (
    SELECT *, max(is_over) OVER (PARTITION BY request) AS is_too_large
    FROM (SELECT l.*, is_judged AND high + low + micro > 0 AND ${overDemand} AS is_over FROM demands l)
  )
  INSERT INTO usage_limit_refused (request, usage_limit, organization, window_number, at, reason, is_held)
  SELECT request, usage_limit, organization, window_number, at, 'exceeded', NOT ${overWithoutHolds} FROM judged l WHERE is_over
  UNION ALL ${selectOthers(sql`true`, sql`false`)}`;

const addToCounters = sql`
  INSERT INTO usage_value_counters
    (usage_limit, organization, window_number, value, sum_high, sum_low, sum_micro, opened_seq)
  SELECT usage_limit, organization, window_number, counter, sum(sum_high), sum(sum_low), sum(sum_micro), ${cursor}
  FROM usage_value_added WHERE sum_high + sum_low + sum_micro > 0 GROUP BY 1, 2, 3, 4
  ON CONFLICT DO UPDATE SET sum_high = sum_high + excluded.sum_high, sum_low = sum_low + excluded.sum_low,
    sum_micro = sum_micro + excluded.sum_micro`;

/** The counter `l` of a row of `usage_value_added`. */
const cellOf = sql`${cells} ON ${isWindow(sql`l`, sql`v`)} AND l.value = v.counter`;
/** The row of `usage_value_added` of a rejected request, as the cell of its counter. */
const refused = (columns: Statement) =>
  sql`SELECT l.*${columns} FROM usage_limit_refused f CROSS JOIN usage_value_added v ON v.number = -f.usage_limit
    CROSS JOIN ${cellOf}`;

/** Those of the counter `n` of a value. */
const holdersOfValue: Holders = {
  holds: sql`usage_holds h ON h.organization = n.organization AND h.status = 'active'
      CROSS JOIN usage_hold_values v ON v.hold = h.number AND ${
    isWindow(sql`v`, sql`n`)
  } AND v.counter = n.value`,
  parts: { high: sql`v.held_high`, low: sql`v.held_low`, micro: sql`v.held_micro` },
};
/** As {@linkcode selectHeld}, of a value. */
export const selectHeldOfValue = (time: Statement): Statement => selectHeld(holdersOfValue, time);

/** The percentages that the values `name` have used, or 100 if a request doesn't fit. */
const noted = sql`
    SELECT l.usage_limit, l.organization, ${
  noticeWindow(sql`l`)
} AS window_number, l.reason, l.mode, l.at, l.quantity_whole,
      l.quantity_micro, json_array(coalesce(n.sum_high, 0), coalesce(n.sum_low, 0), coalesce(n.sum_micro, 0),
        json(${heldParts(holdersOfValue, now)})) AS used,
      iif(l.reason IS NULL, ${highest(isUsed(sql`p.value`))}, iif(${
  highest(sql`true`)
} >= 100, 100, NULL)) AS percent, l.value AS name
    FROM (SELECT l.*, NULL AS reason FROM ${cells} WHERE l.sum_high + l.sum_low + l.sum_micro > 0
      UNION ALL ${refused(sql`, f.reason`)} WHERE f.reason = 'exceeded' AND NOT f.is_held) l
    CROSS JOIN organizations o ON o.number = l.organization
    LEFT JOIN usage_value_counters n ON ${isOwnCounter}
    WHERE iif(l.reason IS NULL, ${isAnyUsed}, n.sum_high + n.sum_low + n.sum_micro > 0 OR l.quantity_whole + l.quantity_micro = 0)`;

/** A condition: all metrics in the catalogue that the limit `y` counts let events name values of its property. */
const isShareable =
  sql`(SELECT min(EXISTS (SELECT 1 FROM json_each(m.shareable) e WHERE e.value = y.property))
      FROM products p CROSS JOIN product_metrics m ON m.product = p.slug AND y.metric IN ('', m.slug)
      WHERE y.product_slug IN ('', p.slug)) = 1`;

/**
 * Notes the highest percentage that a value has used, or 100 if a request doesn't fit: once for each window of the limit, whichever value it
 * was, and once for each value that may be named. An hour's is once a day. Emails have the first one of a percentage.
 */
const insertNotices = insertNoticesOf(
  sql`
    WITH noted AS MATERIALIZED (${noted}), shared AS MATERIALIZED (
      SELECT f.*, (SELECT count(DISTINCT x.value) FROM limit_notices x WHERE ${
    isWindow(sql`x`, sql`f`)
  } AND x.value > '') AS named
      FROM (SELECT DISTINCT usage_limit, organization, window_number FROM noted) f
      CROSS JOIN usage_limits y ON y.number = f.usage_limit AND ${isShareable}
    ), known AS (
      SELECT f.*, w.named, w.named IS NOT NULL AND EXISTS (SELECT 1 FROM limit_notices x
        WHERE ${isWindow(sql`x`, sql`f`)} AND x.value = f.name) AS is_named
      FROM noted f LEFT JOIN shared w ON ${isWindow(sql`w`, sql`f`)} WHERE f.percent IS NOT NULL
    ), valued AS (
      SELECT *, iif(is_named OR named + dense_rank() OVER (
          PARTITION BY usage_limit, organization, window_number, is_named ORDER BY name) <= ${
    integer(namedValuesMax)
  }, name, '') AS value FROM known
    )
    SELECT *, value <> first_value(value) OVER (PARTITION BY usage_limit, organization, window_number
        ORDER BY 2 * percent + (reason IS NULL) DESC, value) OR EXISTS (SELECT 1 FROM limit_notices x
        WHERE ${isWindow(sql`x`, sql`v`)} AND x.percent >= v.percent) AS is_quiet
    FROM valued v`,
  { isRepeated: sql`AND x.value = a.value`, byValue: true },
);

/** Since when the limit `l` counts the usage of the organization `o`, in milliseconds since 1970. */
export const countsFrom =
  sql`max(l.created_at, o.created_at, iif(l.plan IS NULL, 0, coalesce(o.plan_since, 0)))`;

/** The windows of now of the group's values, without those of alerts, and those that requests of it don't fit into. */
const selectStates = sql`
  SELECT ${
  stateList({
    held: selectHeldOfValue(now),
    whole: sql`a.quantity_whole`,
    micro: sql`a.quantity_micro`,
    used: sumTexts((part) => sql`n.sum_${part}`),
    more: sql`'by', l.property, 'value', a.value, 'counter', a.counter, 'countsFrom', ${countsFrom}`,
  })
} AS list
  FROM (SELECT NULL AS request, NULL AS reason, 0 AS is_held, v.value AS value, l.usage_limit, l.organization, l.window_number,
      l.value AS counter, l.at, l.quantity_whole, l.quantity_micro
      FROM usage_value_added v CROSS JOIN ${cellOf} AND l.alert_of IS NULL WHERE v.at = ${now}
    UNION ALL SELECT request, reason, is_held, value, usage_limit, organization, window_number, value, at, quantity_whole,
        quantity_micro
      FROM (${
  refused(sql`, f.request, f.reason, f.is_held, row_number() OVER (PARTITION BY f.request) AS rank`)
})
      WHERE rank <= ${integer(errorDetailsMax)}) a
  CROSS JOIN usage_limits l ON l.number = a.usage_limit
  CROSS JOIN organizations o ON o.number = a.organization
  LEFT JOIN usage_value_counters n ON ${isWindow(sql`n`, sql`a`)} AND n.value = a.counter
  WHERE a.quantity_whole IS NOT NULL`;

/** Ends holds that have expired of organizations that have too little room, also in other limits. */
const endHolds = endExpiredHolds(endsHoldsInTheWay(inTheWay));

/** Builds the statements that count a group by value, whose series are found in one way. */
export function valueStatements(select: SelectSeries) {
  const statements = {
    open: openSpans(select),
    add: addUp(select, sql`true`),
    reject: rejectRequests(select),
    addAgain: addUp(select, isAnyRejected),
  };
  return {
    /** Adds up the group by value. */
    open: (records: string, series: string, time: number) => [
      ...statements.open.map((one) => bind(one, null, series, time)),
      bind(statements.add, records, series, time),
    ],
    endHolds,
    /** @param asking The numbers of the requests that cutoff limits deny, in JSON; null for none. */
    reject: (records: string, series: string, time: number, asking: string | null) => [
      bind(statements.reject, records, series, time, asking),
    ],
    addAgain: (records: string, series: string, time: number) => [
      sql`UPDATE usage_value_added SET sum_high = 0, sum_low = 0, sum_micro = 0 WHERE ${isAnyRejected}`,
      bind(statements.addAgain, records, series, time),
    ],
    addToCounters: [addToCounters],
    note: (time: number) => [bind(insertNotices, null, null, time)],
    selectStates: (time: number) => [bind(selectStates, null, null, time)],
    end: [sql`DELETE FROM usage_value_added`],
  };
}

export type ValueStatements = ReturnType<typeof valueStatements>;

/**
 * Subtracts a voided record from the counters that have it: of the limits that counted it, in the window of the time zone of then.
 *
 * @param condition The record was voided in this batch.
 */
export const subtractFromValues = (seq: number, condition: Statement): Statement =>
  sql`WITH v AS MATERIALIZED (
      SELECT r.organization, l.number AS usage_limit, ${valueIn(sql`r.properties`, sql`l`)} AS value, ${
    windowNumber(sql`l.per`, sql`r.timestamp`, ahead(sql`s.timezone`, sql`r.timestamp`))
  } AS window_number
      FROM usage_records r CROSS JOIN usage_series us ON us.id = r.series LEFT JOIN api_keys k ON k.number = us.api_key
      CROSS JOIN usage_value_spans s ON s.organization = r.organization AND s.since_seq < r.seq
        AND (s.until_seq IS NULL OR s.until_seq >= r.seq)
      CROSS JOIN usage_limits l ON l.number = s.usage_limit AND l.product_slug IN ('', us.product_slug)
        AND l.metric IN ('', us.metric) AND (l.alert_lineage IS NULL OR l.alert_lineage = k.lineage)
      WHERE r.seq = ${seq} AND ${condition})
    UPDATE usage_value_counters AS n SET sum_high = n.sum_high - (${high}), sum_low = n.sum_low - (${low}),
      sum_micro = n.sum_micro - r.quantity_micro
    FROM usage_records r WHERE r.seq = ${seq} AND n.opened_seq < ${seq}
      AND (n.usage_limit, n.organization, n.window_number, n.value) IN (
        SELECT v.usage_limit, v.organization, v.window_number, ${counterSince(sql`v`, sql`${seq}`)} FROM v)`;
