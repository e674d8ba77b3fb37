// The SQL that counts a group of records against limits per value, beside that of other limits in recorder_limits.ts: in the same
// transaction, with a fixed number of statements and work in proportion to the group. A counter is never unknown: it has what was
// recorded since it was opened. In all texts ?1 is the records, ?2 the series, ?3 the time and ?4 a list of holds,
// or of requests that cutoff limits deny.
import { errorDetailsMax } from "../../domain/limits.ts";
import { lowBits } from "../../domain/meter/quantity.ts";
import { defaultNotifyAt } from "../../domain/meter/usage_limit.ts";
import { limitValuesMax, valueCountersKeptDays } from "../../domain/meter/value_limit.ts";
import { bind, integer, sql, type Statement } from "../engine/database.ts";
import { endExpiredHolds, heldSums, isOver, windowOfHold } from "./hold_counts.ts";
import { field } from "./record_group.ts";
import type { CountedValues } from "./counted_values.ts";
import { highest, isUsed } from "./limit_notices.ts";
import { endsHoldsInTheWay, type SelectSeries } from "./recorder_limits.ts";
import { monthStart } from "./rollup_columns.ts";
import { ahead, comparable, isApplied, limitQuantity, windowNumber } from "./usage_limits.ts";

/** A condition: any limit is per value. */
export const hasValueLimits = sql`EXISTS (SELECT 1 FROM usage_limits WHERE property <> '')`;

const now = sql`CAST(?3 AS INTEGER)`;
const cursor = sql`(SELECT seq FROM usage_cursor)`;
const isAnyRejected = sql`EXISTS (SELECT 1 FROM usage_limit_refused)`;
const dayMs = integer(24 * 3_600_000);

/** The value that counts for properties in JSON, by the limit of an alias. */
export const valueIn = (properties: Statement, limit: Statement) =>
  sql`coalesce(${properties} ->> ${limit}.property, '(none)')`;
const windowOf = (limit: Statement, time: Statement) =>
  windowNumber(sql`${limit}.per`, time, ahead(sql`${limit}.timezone`, time));

/** A condition: counters of a window are kept, by the clocks of the time zone at `time`. */
const isWindowKept = (
  per: Statement,
  window: Statement,
  time: Statement,
  offset: Statement,
): Statement => {
  const { hour, day, month } = valueCountersKeptDays;
  return sql`CASE ${per} WHEN 'hour' THEN ${window} + 3600000 + ${integer(hour)} * ${dayMs} > ${time}
    WHEN 'day' THEN (${window} + 1 + ${integer(day)}) * ${dayMs} > ${time} + ${offset}
    ELSE ${monthStart(sql`(${window} + 1)`)} + ${integer(month)} * ${dayMs} > ${time} + ${offset} END`;
};

const applied = (select: SelectSeries, condition: Statement) =>
  sql`applied AS MATERIALIZED (${
    select(
      sql`us.id AS series, us.organization, l.number AS usage_limit, l.per, l.property, o.timezone`,
      {
        join: sql`CROSS JOIN usage_limits l ON ${
          isApplied({
            lineage: sql`k.lineage`,
            withAlerts: true,
            series: { productSlug: sql`us.product_slug`, metric: sql`us.metric` },
            counts: "values",
          })
        }`,
        condition,
      },
    )
  })`;

const isSpanOpen = (limit: Statement, organization: Statement) =>
  sql`EXISTS (SELECT 1 FROM usage_value_spans s WHERE s.organization = ${organization} AND s.usage_limit = ${limit}
    AND s.until_seq IS NULL)`;

/** Adds what active holds `h` take from counters of values, in the order in which they were made. */
const insertHeld = (holds: Statement, condition: Statement) =>
  sql`INSERT INTO usage_hold_values (hold, usage_limit, organization, window_number, value, held_high, held_low, held_micro)
    SELECT h.number, l.number, o.number, ${windowOfHold}, ${valueIn(sql`p.value -> 4`, sql`l`)}, ${heldSums}
    FROM ${holds} CROSS JOIN organizations o ON o.number = h.organization CROSS JOIN json_each(h.records) p
    CROSS JOIN usage_limits l ON ${
    isApplied({
      lineage: sql`h.lineage`,
      withAlerts: true,
      series: { productSlug: sql`(p.value ->> 0)`, metric: sql`(p.value ->> 1)` },
      counts: "values",
    })
  } AND ${condition}
    WHERE NOT EXISTS (SELECT 1 FROM usage_hold_values v WHERE v.hold = h.number AND v.usage_limit = l.number)
    GROUP BY 1, 2, 3, 4, 5 ORDER BY h.number, min(p.key)`;

/** Adds what the new holds of the list ?4 take. */
export const addNewHolds: Statement = insertHeld(
  sql`json_each(?4) e CROSS JOIN usage_holds h ON h.id = e.value ->> 3 AND h.status = 'active'`,
  sql`true`,
);

/** The first group that a limit counts takes over active holds, and notes from which record on it counts. */
const openSpans = (select: SelectSeries) => {
  const isNew = sql`NOT ${isSpanOpen(sql`l.number`, sql`us.organization`)}`;
  return [
    sql`WITH ${applied(select, isNew)} ${
      insertHeld(
        sql`(SELECT DISTINCT organization FROM applied) a
          CROSS JOIN usage_holds h ON h.organization = a.organization AND h.status = 'active'`,
        sql`NOT ${isSpanOpen(sql`l.number`, sql`o.number`)}`,
      )
    }`,
    sql`WITH ${applied(select, isNew)}
      INSERT OR REPLACE INTO usage_value_spans (organization, usage_limit, since_seq, timezone)
      SELECT DISTINCT organization, usage_limit, ${cursor}, timezone FROM applied`,
  ];
};

const hasCounter = sql`EXISTS (SELECT 1 FROM usage_value_counters n WHERE n.usage_limit = s.usage_limit
      AND n.organization = s.organization AND n.window_number = s.window_number AND n.value = s.value)`;
const hasOwn = sql`(s.value = '(other)' OR ${hasCounter} OR EXISTS (
      SELECT 1 FROM usage_limit_exceptions x WHERE x.usage_limit = s.usage_limit AND x.value = s.value))`;
const room = sql`${integer(limitValuesMax)} - coalesce((SELECT w.counters FROM usage_value_windows w
      WHERE w.usage_limit = s.usage_limit AND w.organization = s.organization AND w.window_number = s.window_number), 0)`;

/**
 * Adds up the group by limit, window and value, and finds the counter of each: that of the value if it has one or there is room, otherwise
 * that of all others. The windows of now are always there. A second time, after requests were rejected, counters stay the same.
 */
const addUp = (select: SelectSeries, condition: Statement) =>
  sql`WITH ${applied(select, condition)}, found AS (
    SELECT a.usage_limit, a.organization, a.per, a.timezone, ${
    valueIn(sql`r.properties`, sql`a`)
  } AS value, r.seq,
      iif(w.is_now, ${now}, r.timestamp) AS at, iif(w.is_now, 0, r.quantity_whole) AS whole,
      iif(w.is_now, 0, r.quantity_micro) AS micro
    FROM usage_records r CROSS JOIN applied a ON a.series = r.series
    CROSS JOIN (SELECT 0 AS is_now UNION ALL SELECT 1) w ON w.is_now = 0 OR r.timestamp <> ${now}
    WHERE r.seq > ${cursor}
  ), summed AS MATERIALIZED (
    SELECT usage_limit, organization, ${windowOf(sql`f`, sql`f.at`)} AS window_number, per, timezone, value,
      min(seq) AS first_seq, iif(max(at = ${now}), ${now}, min(at)) AS at, sum(whole >> ${
    integer(lowBits)
  }) AS sum_high,
      sum(whole & ${integer(2 ** lowBits - 1)}) AS sum_low, sum(micro) AS sum_micro
    FROM found f GROUP BY usage_limit, organization, 3, value
  )
  INSERT INTO usage_value_added
    (usage_limit, organization, window_number, value, counter, at, sum_high, sum_low, sum_micro)
  SELECT usage_limit, organization, window_number, value, iif(has_own OR rank <= room, value, '(other)'), at,
    sum_high, sum_low, sum_micro
  FROM (
    SELECT *, iif(has_own, 0, ${room}) AS room, row_number() OVER (
      PARTITION BY usage_limit, organization, window_number, has_own, sum_high + sum_low + sum_micro > 0
      ORDER BY first_seq) AS rank
    FROM (SELECT s.*, ${hasOwn} AS has_own FROM summed s WHERE ${
    isWindowKept(sql`s.per`, sql`s.window_number`, now, ahead(sql`s.timezone`, now))
  }) s
  ) WHERE true
  ON CONFLICT DO UPDATE SET sum_high = excluded.sum_high, sum_low = excluded.sum_low, sum_micro = excluded.sum_micro`;

/** The counters of the group `l`, with their limits, their quantities (null for no limit), and what the group adds to them. */
const cells = sql`(
    SELECT a.*, q.per, q.mode, q.notify_at, q.alert_of, iif(x.value IS NULL, q.quantity_whole, x.quantity_whole) AS quantity_whole,
      iif(x.value IS NULL, q.quantity_micro, x.quantity_micro) AS quantity_micro
    FROM (SELECT min(number) AS number, usage_limit, organization, window_number, counter AS value, max(at) AS at,
        sum(sum_high) AS sum_high, sum(sum_low) AS sum_low, sum(sum_micro) AS sum_micro
      FROM usage_value_added GROUP BY usage_limit, organization, window_number, counter) a
    CROSS JOIN usage_limits q ON q.number = a.usage_limit
    LEFT JOIN usage_limit_exceptions x ON x.usage_limit = a.usage_limit AND x.value = a.value) l`;
const isCounter = sql`n.usage_limit = l.usage_limit AND n.organization = l.organization
      AND n.window_number = l.window_number AND n.value = l.value`;
const sumOf = (...[high, low, micro]: [Statement, Statement, Statement]) =>
  comparable(sql`(${high})`, sql`(${low})`, sql`(${micro})`);
/** A part of what the counter has and what is held. */
const counted = (part: Statement) => sql`coalesce(n.sum_${part} + n.held_${part}, 0)`;
/** With what the group adds. A question needs the smallest quantity of a cutoff limit, and no more. */
const groupSum = sumOf(
  sql`${counted(sql`high`)} + l.sum_high`,
  sql`${counted(sql`low`)} + l.sum_low`,
  sql`${counted(sql`micro`)} + l.sum_micro + (l.mode = 'cutoff')`,
);

/** Selects organizations that have too little room for the group, and holds. */
const inTheWay = sql`SELECT l.organization FROM ${cells} CROSS JOIN usage_value_counters n ON ${isCounter}
      AND (n.held_high <> 0 OR n.held_low <> 0 OR n.held_micro <> 0)
    WHERE l.mode <> 'soft' AND ${groupSum} > ${limitQuantity}`;

const overDemand = sql`${
  sumOf(sql`l.sum_high + l.high`, sql`l.sum_low + l.low`, sql`l.sum_micro + l.micro`)
} > ${limitQuantity}`;
const overWithoutHolds = sql`${
  sumOf(
    sql`l.sum_high - l.held_high + l.high`,
    sql`l.sum_low - l.held_low + l.low`,
    sql`l.sum_micro - l.held_micro + l.micro`,
  )
} > ${limitQuantity}`;

/** Adds up a part of the requests before one, and its own need. */
const runningSum = (part: Statement) =>
  sql`sum(own_${part}) OVER (PARTITION BY number ORDER BY request) - own_${part} + ${part} AS ${part}`;

/** As in recorder_limits.ts. A rejected request has the negative number of its row of `usage_value_added` as its limit. */
const rejectRequests = (select: SelectSeries) =>
  sql`WITH full AS MATERIALIZED (
    SELECT l.number, l.mode, l.usage_limit, l.organization, l.window_number, l.value, l.at, l.quantity_whole, l.quantity_micro,
      ${counted(sql`high`)} AS sum_high, ${counted(sql`low`)} AS sum_low, ${counted(sql`micro`)} AS sum_micro,
      coalesce(n.held_high, 0) AS held_high, coalesce(n.held_low, 0) AS held_low, coalesce(n.held_micro, 0) AS held_micro
    FROM ${cells} LEFT JOIN usage_value_counters n ON ${isCounter}
    WHERE (l.mode = 'hard' OR (l.mode = 'cutoff' AND ?4 IS NOT NULL)) AND ${groupSum} > ${limitQuantity}
  ), ${applied(select, sql`EXISTS (SELECT 1 FROM full)`)},
  demands AS MATERIALIZED (
    SELECT ${field.request} AS request, l.*, l.mode = 'hard' OR ${field.request} IN (SELECT value FROM json_each(?4)) AS is_judged,
      sum(r.quantity_whole >> ${integer(lowBits)}) AS own_high,
      sum(r.quantity_whole & ${integer(2 ** lowBits - 1)}) AS own_low, sum(r.quantity_micro) AS own_micro
    FROM json_each(?1) e CROSS JOIN applied a ON a.position = ${field.series}
    CROSS JOIN usage_records r ON r.seq = ${cursor} + e.key + 1
    CROSS JOIN usage_value_added v ON v.usage_limit = a.usage_limit AND v.organization = a.organization
      AND v.window_number = ${windowOf(sql`a`, sql`r.timestamp`)} AND v.value = ${
    valueIn(sql`r.properties`, sql`a`)
  }
    CROSS JOIN full l ON l.usage_limit = v.usage_limit AND l.organization = v.organization
      AND l.window_number = v.window_number AND l.value = v.counter
    WHERE EXISTS (SELECT 1 FROM full)
    GROUP BY 1, l.number HAVING l.mode = 'cutoff' OR own_high + own_low + own_micro > 0
  ), judged AS MATERIALIZED (
    SELECT *, max(is_over) OVER (PARTITION BY request) AS is_too_large
    FROM (SELECT l.*, is_judged AND ${overDemand} AS is_over FROM (
      SELECT *, iif(mode = 'cutoff', 0, own_high) AS high, iif(mode = 'cutoff', 0, own_low) AS low,
        iif(mode = 'cutoff', 1, own_micro) AS micro FROM demands) l)
  )
  INSERT INTO usage_limit_refused (request, usage_limit, organization, window_number, at, reason, is_held)
  SELECT request, -number, organization, window_number, at, 'exceeded', NOT ${overWithoutHolds} FROM judged l WHERE is_over
  UNION ALL
  SELECT request, -number, organization, window_number, at, 'others', 0 FROM (
    SELECT request, number, organization, window_number, at, is_judged, sum_high, sum_low, sum_micro, quantity_whole,
      quantity_micro, ${runningSum(sql`high`)}, ${runningSum(sql`low`)}, ${runningSum(sql`micro`)}
    FROM judged WHERE NOT is_too_large) l
  WHERE is_judged AND ${overDemand}`;

const addToCounters = sql`
  INSERT INTO usage_value_counters
    (usage_limit, organization, window_number, value, sum_high, sum_low, sum_micro, opened_seq)
  SELECT usage_limit, organization, window_number, counter, sum(sum_high), sum(sum_low), sum(sum_micro), ${cursor}
  FROM usage_value_added WHERE sum_high + sum_low + sum_micro > 0 GROUP BY 1, 2, 3, 4
  ON CONFLICT DO UPDATE SET sum_high = sum_high + excluded.sum_high, sum_low = sum_low + excluded.sum_low,
    sum_micro = sum_micro + excluded.sum_micro`;

/** The row of `usage_value_added` of a rejected request, as the cell of its counter. */
const refused = (columns: Statement) =>
  sql`SELECT l.*${columns} FROM usage_limit_refused f CROSS JOIN usage_value_added v ON v.number = -f.usage_limit
    CROSS JOIN ${cells} ON l.usage_limit = v.usage_limit AND l.organization = v.organization
      AND l.window_number = v.window_number AND l.value = v.counter`;
const noticeWindow = sql`iif(l.per = 'hour', ${
  windowNumber(sql`'day'`, sql`l.at`, ahead(sql`o.timezone`, sql`l.at`))
}, l.window_number)`;
const isFirstUsed = sql`${
  isUsed(sql`min(coalesce(l.notify_at ->> 0, ${integer(defaultNotifyAt[0] ?? 0)}), 100)`)
}`;

/** Joins what holds that have expired, and are still active, have taken of the counter `n`. */
const expiredOfValue = (time: Statement) =>
  sql`usage_holds h CROSS JOIN usage_hold_values v ON v.hold = h.number AND v.usage_limit = n.usage_limit
        AND v.organization = n.organization AND v.window_number = n.window_number AND v.counter = n.value
      WHERE h.organization = n.organization AND h.status = 'active' AND h.expires_at <= ${time} AND ${
    isOver(time)
  }`;
/** JSON of the parts of what active holds have taken of the counter `n`; null if it is nothing. */
const heldParts = sql`iif(n.held_high <> 0 OR n.held_low <> 0 OR n.held_micro <> 0, (SELECT json_array(
      n.held_high - coalesce(sum(v.held_high), 0), n.held_low - coalesce(sum(v.held_low), 0),
      n.held_micro - coalesce(sum(v.held_micro), 0)) FROM ${expiredOfValue(now)}), NULL)`;

/**
 * Notes the highest percentage that a value has used, or 100 if a request doesn't fit: once for each window of the limit, whichever value it
 * was. An hour's is once a day.
 */
const insertNotices = sql`
  INSERT INTO limit_notices
    (usage_limit, organization, window_number, percent, is_refusal, used, at, noted_at, mailed_at, quantity_whole, quantity_micro)
  SELECT usage_limit, organization, window_number, percent, is_refusal AND mode = 'hard', used, at, ${now}, NULL,
    quantity_whole, quantity_micro
  FROM (
    SELECT l.usage_limit, l.organization, ${noticeWindow} AS window_number, l.is_refusal, l.mode, l.at, l.quantity_whole,
      l.quantity_micro, json_array(coalesce(n.sum_high, 0), coalesce(n.sum_low, 0), coalesce(n.sum_micro, 0),
        json(${heldParts})) AS used,
      iif(l.is_refusal, iif(${highest(sql`true`)} >= 100, 100, NULL), ${
  highest(isUsed(sql`p.value`))
}) AS percent
    FROM (SELECT l.*, 0 AS is_refusal FROM ${cells} WHERE l.sum_high + l.sum_low + l.sum_micro > 0
      UNION ALL ${refused(sql`, 1`)} WHERE f.reason = 'exceeded' AND NOT f.is_held) l
    CROSS JOIN organizations o ON o.number = l.organization
    LEFT JOIN usage_value_counters n ON ${isCounter}
    WHERE iif(l.is_refusal, n.sum_high + n.sum_low + n.sum_micro > 0 OR l.quantity_whole + l.quantity_micro = 0, ${isFirstUsed})
  ) a WHERE percent IS NOT NULL AND NOT EXISTS (SELECT 1 FROM limit_notices x WHERE x.usage_limit = a.usage_limit
      AND x.organization = a.organization AND x.window_number = a.window_number AND x.percent >= a.percent)
  GROUP BY usage_limit, organization, window_number HAVING max(2 * percent + NOT is_refusal) > 0`;

/** JSON for `parseHeld` of the counter `n`: what it has, and what to subtract because it has expired. */
export const selectHeldOfValue = (time: Statement): Statement => {
  const text = (part: Statement) => sql`CAST(coalesce(${part}, 0) AS TEXT)`;
  return sql`json_array(${text(sql`n.held_high`)}, ${text(sql`n.held_low`)}, ${text(sql`n.held_micro`)},
    json(iif(n.held_high <> 0 OR n.held_low <> 0 OR n.held_micro <> 0, (SELECT json_array(1, ${
    text(sql`sum(v.held_high)`)
  }, ${text(sql`sum(v.held_low)`)}, ${text(sql`sum(v.held_micro)`)})
      FROM ${expiredOfValue(time)}), NULL)))`;
};

/** Since when the limit `l` counts the usage of the organization `o`, in milliseconds since 1970. */
export const countsFrom =
  sql`max(l.created_at, o.created_at, iif(l.plan IS NULL, 0, coalesce(o.plan_since, 0)))`;

/** The windows of now of the group's values, without those of alerts, and those that requests of it don't fit into. */
const selectStates = sql`
  SELECT json_group_array(json_object('request', a.request, 'reason', a.reason, 'isHeld', a.is_held,
    'held', ${selectHeldOfValue(now)},
    'heldUntil', iif(a.is_held, (SELECT min(h.expires_at) FROM usage_holds h
      WHERE h.organization = a.organization AND h.status = 'active'), NULL), 'usageLimit', a.usage_limit,
    'organization', a.organization, 'windowNumber', a.window_number, 'at', a.at, 'limitId', l.id, 'lineage', NULL,
    'productSlug', l.product_slug, 'metric', l.metric, 'per', l.per, 'mode', l.mode, 'by', l.property, 'value', a.value,
    'counter', a.counter, 'countsFrom', ${countsFrom}, 'whole', CAST(a.quantity_whole AS TEXT),
    'micro', CAST(a.quantity_micro AS TEXT), 'timezone', o.timezone, 'openedSeq', 0, 'used', json_array(
      CAST(coalesce(n.sum_high, 0) AS TEXT), CAST(coalesce(n.sum_low, 0) AS TEXT), CAST(coalesce(n.sum_micro, 0) AS TEXT)))) AS list
  FROM (SELECT NULL AS request, NULL AS reason, 0 AS is_held, v.value AS value, l.usage_limit, l.organization, l.window_number,
      l.value AS counter, l.at, l.quantity_whole, l.quantity_micro
      FROM usage_value_added v CROSS JOIN ${cells} ON l.usage_limit = v.usage_limit AND l.organization = v.organization
        AND l.window_number = v.window_number AND l.value = v.counter AND l.alert_of IS NULL
      WHERE v.at = ${now}
    UNION ALL SELECT request, reason, is_held, value, usage_limit, organization, window_number, value, at, quantity_whole,
        quantity_micro
      FROM (${
  refused(sql`, f.request, f.reason, f.is_held, row_number() OVER (PARTITION BY f.request) AS rank`)
})
      WHERE rank <= ${integer(errorDetailsMax)}) a
  CROSS JOIN usage_limits l ON l.number = a.usage_limit
  CROSS JOIN organizations o ON o.number = a.organization
  LEFT JOIN usage_value_counters n ON n.usage_limit = a.usage_limit AND n.organization = a.organization
    AND n.window_number = a.window_number AND n.value = a.counter
  WHERE a.quantity_whole IS NOT NULL`;

const endHolds = endExpiredHolds(endsHoldsInTheWay(inTheWay));

/** Builds the statements that count a group by value, whose series are found in one way. */
export function valueStatements(select: SelectSeries): CountedValues {
  const statements = {
    open: openSpans(select),
    add: addUp(select, sql`true`),
    reject: rejectRequests(select),
    addAgain: addUp(select, isAnyRejected),
  };
  return {
    open: (series, time) => [...statements.open, statements.add].map((one) => bind(one, null, series, time)),
    endHolds,
    reject: (records, series, time, asking) => [bind(statements.reject, records, series, time, asking)],
    addAgain: (series, time) => [
      sql`UPDATE usage_value_added SET sum_high = 0, sum_low = 0, sum_micro = 0 WHERE ${isAnyRejected}`,
      bind(statements.addAgain, null, series, time),
    ],
    addToCounters: [addToCounters],
    note: (time) => [bind(insertNotices, null, null, time)],
    selectStates: (time) => [bind(selectStates, null, null, time)],
    end: [sql`DELETE FROM usage_value_added`],
  };
}

/**
 * Subtracts a voided record from the counters that have it: of the limits that counted it, in the window of the time zone of then, that of its
 * value if that was open, otherwise that of all others.
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
    UPDATE usage_value_counters AS n SET sum_high = n.sum_high - (r.quantity_whole >> ${integer(lowBits)}),
      sum_low = n.sum_low - (r.quantity_whole & ${
    integer(2 ** lowBits - 1)
  }), sum_micro = n.sum_micro - r.quantity_micro
    FROM usage_records r WHERE r.seq = ${seq} AND n.opened_seq < ${seq}
      AND (n.usage_limit, n.organization, n.window_number, n.value) IN (
        SELECT v.usage_limit, v.organization, v.window_number, iif(EXISTS (SELECT 1 FROM usage_value_counters c
          WHERE c.usage_limit = v.usage_limit AND c.organization = v.organization AND c.window_number = v.window_number
            AND c.value = v.value AND c.opened_seq < ${seq}), v.value, '(other)') FROM v)`;
