// Which limits apply, in SQL, and their windows. A limit of an organization replaces the one of its plan with the same product,
// metric and length. A window has the same number whichever of its moments it is asked for; numbers of different lengths or time
// zones are not comparable.
import {
  limitClockMarginMs,
  operatorTimestampPastMaxMs,
  rollupQuarterMs,
  usageTimestampFutureMaxMs,
} from "../../domain/limits.ts";
import { lowBits } from "../../domain/meter/quantity.ts";
import { timezoneOffsets } from "../../domain/time.ts";
import type { LimitPeriod } from "../../domain/meter/usage_limit.ts";
import { type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import { monthOf, monthStart } from "./rollup_columns.ts";

/** The usage of an organization that a limit counts. */
export interface LimitScopeRow {
  readonly organization: number;
  /** Empty for all products. */
  readonly productSlug: string;
  /** Empty for all metrics. */
  readonly metric: string;
  readonly per: LimitPeriod;
  /** The number of the first key of a lineage; null for all usage. */
  readonly lineage: number | null;
}

const dayMs = 24 * 3_600_000;

/** Selects the limits that apply. */
interface AppliedLimits {
  /** The lineage of a key, whose budget applies too. */
  readonly lineage?: Statement;
  /** With the alerts of a key's lineage and of all usage, which are counted like limits but are none for their readers. */
  readonly withAlerts?: boolean;
  /** Only those that count this product and metric. */
  readonly series?: { readonly productSlug: Statement; readonly metric: Statement };
  /** `values`: only limits per value. `any`: them, too. By default, none of them. */
  readonly counts?: "values" | "any" | undefined;
}

/** The condition that a limit `l` applies to the organization `o`. */
export function isApplied({ lineage, series, withAlerts = false, counts }: AppliedLimits = {}): Statement {
  // With a plus sign: the limits are found by their owners, not by this.
  const ofKind =
    { values: sql`+l.property <> '' AND `, any: sql``, all: sql`+l.property = '' AND ` }[counts ?? "all"];
  const property = counts === undefined ? sql`''` : sql`l.property`;
  const covers = series === undefined
    ? sql``
    : sql`AND l.product_slug IN ('', ${series.productSlug}) AND l.metric IN ('', ${series.metric})`;
  const ofLineage = lineage === undefined ? sql`` : sql`OR (l.lineage = ${lineage} ${covers})`;
  const alerts = lineage === undefined || !withAlerts ? sql`` : sql`OR (l.alert_of = o.number ${covers}
      AND (l.alert_lineage IS NULL OR l.alert_lineage = ${lineage}))`;
  return sql`(${ofKind}((l.plan = o.plan ${covers} AND NOT EXISTS (
      SELECT 1 FROM usage_limits own WHERE own.organization = o.number AND own.product_slug = l.product_slug
        AND own.metric = l.metric AND own.per = l.per AND own.property = ${property}))
    OR (l.organization = o.number ${covers} AND l.quantity_whole IS NOT NULL) ${ofLineage} ${alerts}))`;
}

/** The position from which usage of the organization `o` counts against the limit `l`. Counters opened before it are invalid. */
export const countedSeq = sql`max(l.created_seq, o.limits_seq)`;
/** The time of {@linkcode countedSeq}, later by the difference of servers' clocks. In milliseconds since 1970. */
const countedAt = sql`(max(l.created_at, o.limits_at) + ${integer(limitClockMarginMs)})`;

/** A time at or before the start of a window of the limit `l`, given by its number; 0 for `total`. In milliseconds since 1970. */
const startOf = (window: Statement) =>
  sql`CASE l.per WHEN 'minute' THEN ${window} * 60000 WHEN 'hour' THEN ${window}
    WHEN 'day' THEN (${window} - 1) * ${integer(dayMs)} WHEN 'month' THEN ${monthStart(window)} - ${
    integer(dayMs)
  } ELSE 0 END`;

/**
 * True if nothing was recorded in a window: what is recorded from now on is all of its usage.
 *
 * @param window Its number. The limit `l` and the organization `o` have no valid counter of it.
 */
export function isComplete(window: Statement): Statement {
  return sql`(${startOf(window)} >= max(
    iif(o.created_at >= ${countedAt}, 0, ${countedAt} + ${integer(usageTimestampFutureMaxMs)}),
    iif(l.per IN ('minute', 'hour'), (SELECT limits_swept_until FROM usage_cursor), 0)))`;
}

/** True if the organization `o` may have usage in a current window of the limit `l`, given by its number. */
export const mayBeUsed = (window: Statement, now: Statement): Statement =>
  sql`iif(l.per = 'total', EXISTS (SELECT 1 FROM usage_series e WHERE e.organization = o.number),
    EXISTS (SELECT 1 FROM usage_rollups_monthly m WHERE m.month IN (${around(monthOf(now))})
      AND m.organization = o.number AND m.last_quarter >= ${startOf(window)} / ${integer(rollupQuarterMs)}))`;

/** Assignments that make all counters of an organization invalid, when its limits or its time zone change. */
export const restartLimits = (now: number): Statement =>
  sql`limits_seq = max(limits_seq, (SELECT seq FROM usage_cursor WHERE only_row = 1)) + 1, limits_at = ${now}`;

/** A sum in parts as a row value that has one form only, so that sums can be compared. */
export const comparable = (high: Statement, low: Statement, micro: Statement): Statement => {
  const whole = sql`(${low} + ${micro} / 1000000)`;
  const bits = integer(lowBits);
  return sql`(${high} + (${whole} >> ${bits}), ${whole} & ${integer(2 ** lowBits - 1)}, ${micro} % 1000000)`;
};

/** A quantity, to compare with {@linkcode comparable} sums. */
export const comparableQuantity = (whole: Statement, micro: Statement): Statement =>
  comparable(
    sql`(${whole} >> ${integer(lowBits)})`,
    sql`(${whole} & ${integer(2 ** lowBits - 1)})`,
    micro,
  );

/** The quantity of the limit `l`. */
export const limitQuantity = comparableQuantity(sql`l.quantity_whole`, sql`l.quantity_micro`);

/** The milliseconds by which the clocks of a time zone are ahead of UTC at a time. */
export const ahead = (timezone: Statement, time: Statement): Statement =>
  sql`coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = ${timezone} AND z.since <= ${time}
    ORDER BY z.since DESC LIMIT 1), 0)`;

/** The number of a limit's window. For an hour, its start as if the clocks had always been ahead by the offset. */
export const windowNumber = (per: Statement, time: Statement, offset: Statement): Statement =>
  sql`CASE ${per} WHEN 'minute' THEN ${time} / 60000
    WHEN 'hour' THEN (${time} + ${offset}) / 3600000 * 3600000 - ${offset}
    WHEN 'day' THEN (${time} + ${offset}) / 86400000
    WHEN 'month' THEN ${monthOf(sql`(${time} + ${offset})`)} ELSE 0 END`;

/** The number of the window in which the organization `o` is at a time. @param per That of the limit `l`, by default. */
export const windowAt = (time: Statement, per = sql`l.per`): Statement =>
  windowNumber(per, time, ahead(sql`o.timezone`, time));

const around = (number: Statement) => sql`${number} - 1, ${number}, ${number} + 1`;

/** Numbers of windows of a day, a month and in total that are current in some time zone. */
const windowsAround = (time: Statement): Statement =>
  sql`0, ${around(monthOf(time))}, ${around(sql`${time} / 86400000`)}`;

/** The counter `n` has all usage of the current window of the limit `l` by the organization `o`. */
export const isCurrentCounter = (now: Statement): Statement =>
  sql`n.usage_limit = l.number AND n.organization = o.number AND n.is_known = 1 AND n.opened_seq >= ${countedSeq}
    AND n.window_number = ${windowAt(now)}`;

/** Notices `x` of the organization `o` in one of the windows around now. */
export const isNoticeAround = (now: Statement) =>
  sql`x.organization = o.number AND x.window_number IN (${windowsAround(now)})`;

/**
 * Writes by how much the clocks of a time zone are ahead, for all times that records may have while the rows are kept up to date.
 * Belongs to the batch that sets the time zone of an organization.
 *
 * @param timezone An IANA name.
 */
export function timezoneRows(timezone: string, now: number): Statement[] {
  const offsets = timezoneOffsets(timezone, { start: now - offsetsPastMs, end: now + offsetsFutureMs });
  return [
    sql`DELETE FROM timezone_offsets WHERE timezone = ${timezone}`,
    sql`INSERT INTO timezone_offsets (timezone, since, ahead)
    SELECT ${timezone}, value ->> 'since', value ->> 'ahead' FROM json_each(${JSON.stringify(offsets)})`,
  ];
}

export async function findTimezones(database: DatabaseReader): Promise<string[]> {
  const rows = await database.read<{ timezone: string }>(sql`SELECT DISTINCT timezone FROM timezone_offsets`);
  return rows.map(({ timezone }) => timezone);
}

/** Longer than operators may backdate records. */
const offsetsPastMs = operatorTimestampPastMaxMs + 100 * dayMs;
const offsetsFutureMs = 5 * 366 * dayMs;

/** JSON of the limit `l`, as events have it, without its key. */
export const limitFacts = ({ whole, micro }: { whole: Statement; micro: Statement }): Statement =>
  sql`json_object('id', l.id, 'productSlug', nullif(l.product_slug, ''), 'metric', nullif(l.metric, ''),
      'per', l.per, 'by', nullif(l.property, ''), 'mode', l.mode, 'isAlert', l.alert_of IS NOT NULL, 'whole', ${whole}, 'micro', ${micro})`;

/** JSON of the newest key of a lineage, as events have it. */
export const keyFacts = (lineage: Statement): Statement =>
  sql`(SELECT json_object('id', k.id, 'name', k.name) FROM api_keys k WHERE k.number =
      (SELECT max(q.number) FROM api_keys q WHERE q.lineage = ${lineage}))`;
