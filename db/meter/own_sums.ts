// Compares sums that are stored more than once, to find out whether a database is whole. Each query reads a bounded number of rows.
import { rollupHourMs, rollupQuarterMs, usageTimestampFutureMaxMs } from "../../domain/limits.ts";
import { sumsComparedRowsMax } from "../../domain/stream_limits.ts";
import { limitWindow } from "../../domain/meter/limit_window.ts";
import { lowBits, sumMicros, type SumParts } from "../../domain/meter/quantity.ts";
import { isoTime } from "../../domain/time.ts";
import { type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import { testTotalsNumber } from "./environments.ts";
import { sumLimit } from "./limit_counters.ts";
import type { LimitCell } from "./recorder_limits.ts";
import { monthOf, monthStart } from "./rollup_columns.ts";
import {
  haveSameRecords,
  haveSameRollups,
  monthlySums,
  type SeriesRange,
  seriesRanges,
} from "./sum_digests.ts";
import { ahead, countedSeq, isApplied, windowNumber } from "./usage_limits.ts";

/** Receives the share of the rows that have been compared, up to 1. */
export type OnCompared = (share: number) => void;

/** Digests take most of the time: what differs, and old records, are compared sum by sum afterwards. */
const digestsShare = 0.9;
const quartersEnd = Math.floor(Number.MAX_SAFE_INTEGER / rollupQuarterMs);
const quarterMs = integer(rollupQuarterMs);
const lowMask = integer(2 ** lowBits - 1);

/** The sums of rollups `r`, negated. */
const minus =
  sql`-r.count AS count, -r.sum_high AS sum_high, -r.sum_low AS sum_low, -r.sum_micro AS sum_micro`;
const plus = sql`r.count, r.sum_high, r.sum_low, r.sum_micro`;
/** True if sums don't add up to 0. The same sum can have different parts. */
const differ = sql`(sum(count) <> 0 OR sum(sum_micro) % 1000000 <> 0
  OR sum(sum_high) * ${integer(2 ** lowBits)} + sum(sum_low) + sum(sum_micro) / 1000000 <> 0)`;

/** True if the sums of a series are being deleted, which takes several transactions. */
const isGoing = (series: Statement) =>
  sql`iif(${series} > 0,
    EXISTS (SELECT 1 FROM usage_series e CROSS JOIN organizations o ON o.number = abs(e.organization)
      WHERE e.id = ${series} AND o.sums_deleted_at IS NOT NULL),
    NOT EXISTS (SELECT 1 FROM usage_dimension_series ds CROSS JOIN usage_dimension_values v ON v.number = ds.value
      CROSS JOIN usage_dimensions d ON d.number = v.dimension AND d.removed_at IS NULL
      CROSS JOIN organizations o ON o.number = abs(v.organization) AND o.sums_deleted_at IS NULL
      WHERE ds.id = -${series}))`;

/** Compares the records that are kept with the sums of 15 minutes. Returns the first difference, or null. */
export async function compareRecords(
  database: DatabaseReader,
  onCompared: OnCompared,
): Promise<string | null> {
  const kept = await database.readFirst<{ first: number; last: number; recordedAt: number }>(sql`
    SELECT seq AS first, (SELECT max(seq) FROM usage_records) AS last, recorded_at AS recordedAt
    FROM usage_records ORDER BY seq LIMIT 1`);
  if (kept === undefined) return null;
  const { first, last, recordedAt } = kept;
  // Retention deletes the oldest records, and sums stay. Timestamps may be a little later than the time of recording.
  const wholeFrom = first === 1 ? 0 : Math.ceil((recordedAt + usageTimestampFutureMaxMs) / rollupQuarterMs);
  const isSame = await haveSameRecords(
    database,
    { first, last, wholeFrom },
    (share) => onCompared(share * digestsShare),
  );
  if (isSame && wholeFrom === 0) return null;
  const all = last + 1 - first;
  let done = 0;
  for (let organization = testTotalsNumber;;) {
    const next = await nextOrganization(database, organization);
    if (next === null) return null;
    organization = next.organization;
    if (organization === 0 || next.isDeleted === 1) continue;
    const { start, end } = isSame
      ? await quartersBefore(database, { organization, wholeFrom })
      : { start: 0, end: quartersEnd };
    for (let from = start, until: number; from < end; from = until) {
      const later = await database.readFirst<{ timestamp: number }>(sql`
        SELECT timestamp FROM usage_records WHERE organization = ${organization} AND timestamp >= ${
        from * rollupQuarterMs
      } ORDER BY timestamp LIMIT 1 OFFSET ${sumsComparedRowsMax}`);
      until = later === undefined
        ? end
        : Math.min(end, Math.max(from + 1, Math.floor(later.timestamp / rollupQuarterMs)));
      const found = await database.readFirst<{ series: number; quarter: number }>(
        differingQuarter(organization, { from, until, wholeFrom }),
      );
      if (found !== undefined) {
        const time = isoTime(found.quarter * rollupQuarterMs);
        return `${await nameOf(
          database,
          found.series,
        )}: the records of the 15 minutes from ${time} don't match their sum`;
      }
      done = Math.min(all, done + sumsComparedRowsMax);
      onCompared(digestsShare + (1 - digestsShare) * done / all);
    }
  }
}

/** Returns the quarters of the records of an organization from before one; none if `start` isn't below `end`. */
async function quartersBefore(
  database: DatabaseReader,
  { organization, wholeFrom }: { organization: number; wholeFrom: number },
): Promise<{ start: number; end: number }> {
  const before = (end: Statement) =>
    sql`(SELECT ${end}(timestamp) / ${quarterMs} FROM usage_records WHERE organization = ${organization} AND timestamp < ${
      wholeFrom * rollupQuarterMs
    })`;
  const row = await database.readFirst<{ first: number | null; last: number | null }>(
    sql`SELECT ${before(sql`min`)} AS first, ${before(sql`max`)} AS last`,
  );
  return { start: row?.first ?? 0, end: (row?.last ?? -1) + 1 };
}

/** The next number that usage has, after one: those of test usage come first. Totals have no records. */
function nextOrganization(database: DatabaseReader, after: number) {
  const next = (table: Statement, from: Statement) =>
    sql`SELECT min(organization) AS organization FROM ${table} WHERE organization > ${from}`;
  const either = (from: Statement) =>
    sql`SELECT min(organization) AS organization FROM (${next(sql`usage_records`, from)} UNION ALL ${
      next(sql`usage_series`, from)
    })`;
  return database.readFirst<{ organization: number; isDeleted: 0 | 1 }>(sql`
    SELECT n.organization, EXISTS (SELECT 1 FROM organizations o WHERE o.number = abs(n.organization)
      AND o.deleted_at IS NOT NULL) AS isDeleted
    FROM (${either(sql`${after}`)}) n WHERE n.organization IS NOT NULL`).then((row) => row ?? null);
}

function differingQuarter(
  organization: number,
  { from, until, wholeFrom }: { from: number; until: number; wholeFrom: number },
): Statement {
  return sql`SELECT series, quarter FROM (
      SELECT r.series, r.timestamp / ${quarterMs} AS quarter, 1 AS count, r.quantity_whole >> ${
    integer(lowBits)
  } AS sum_high,
        r.quantity_whole & ${lowMask} AS sum_low, r.quantity_micro AS sum_micro
      FROM usage_records r WHERE r.organization = ${organization} AND r.timestamp >= ${from * rollupQuarterMs}
        AND r.timestamp < ${
    until * rollupQuarterMs
  } AND NOT EXISTS (SELECT 1 FROM usage_voids v WHERE v.seq = r.seq)
      UNION ALL SELECT r.series, r.quarter, ${minus} FROM usage_series e CROSS JOIN usage_rollups r
        ON r.series = e.id AND r.quarter >= ${from} AND r.quarter < ${until}
      WHERE e.organization = ${organization} AND r.count <> 0)
    GROUP BY 1, 2 HAVING iif(quarter >= ${wholeFrom}, ${differ}, sum(count) > 0) LIMIT 1`;
}

/** Compares the sums of 15 minutes with those of hours, and these with those of months. Returns the first difference, or null. */
export async function compareRollups(
  database: DatabaseReader,
  onCompared: OnCompared,
): Promise<string | null> {
  for await (const range of seriesRanges(database)) {
    const difference = await haveSameRollups(database, range) ? null : await differenceIn(range, database);
    if (difference !== null) return difference;
    onCompared(range.share);
  }
  return null;
}

async function differenceIn(range: SeriesRange, database: DatabaseReader): Promise<string | null> {
  const hour = await database.readFirst<{ series: number; hour: number }>(differingHour(range));
  if (hour !== undefined) {
    const time = isoTime(hour.hour * rollupHourMs);
    return `${await nameOf(
      database,
      hour.series,
    )}: the sum of the hour from ${time} isn't that of its quarters`;
  }
  const month = await database.readFirst<{ series: number; start: string }>(differingMonth(range));
  return month === undefined
    ? null
    : `${await nameOf(database, month.series)}: the sum of ${month.start} isn't that of its hours`;
}

const isIn = (column: Statement, from: number, until: number) =>
  sql`${column} >= ${from} AND ${column} < ${until} AND r.count <> 0`;

function differingHour({ from, until }: SeriesRange): Statement {
  return sql`SELECT series, hour FROM (
      SELECT r.series, r.quarter / ${
    integer(rollupHourMs / rollupQuarterMs)
  } AS hour, ${plus} FROM usage_rollups r
      WHERE ${isIn(sql`r.series`, from, until)}
      UNION ALL SELECT r.series, r.hour, ${minus} FROM usage_rollups_hourly r WHERE ${
    isIn(sql`r.series`, from, until)
  }) p
    GROUP BY 1, 2 HAVING ${differ} AND NOT ${isGoing(sql`p.series`)} LIMIT 1`;
}

function differingMonth(range: SeriesRange): Statement {
  return sql`SELECT series, format('%d-%02d', 1970 + month / 12, 1 + month % 12) AS start FROM (
      SELECT r.series, ${
    monthOf(sql`(r.hour * ${integer(rollupHourMs)})`)
  } AS month, ${plus} FROM usage_rollups_hourly r
      WHERE ${isIn(sql`r.series`, range.from, range.until)}
      UNION ALL SELECT r.series, r.month, ${minus} FROM ${monthlySums(range)} WHERE r.count <> 0) p
    GROUP BY series, month HAVING ${differ} AND NOT ${isGoing(sql`p.series`)} LIMIT 1`;
}

/** Names what a series sums up. */
async function nameOf(database: DatabaseReader, series: number): Promise<string> {
  const row = await database.readFirst<{ name: string }>(sql`
    SELECT e.product_slug || '/' || e.metric || coalesce(' of ' || o.id, '') AS name FROM usage_series e
    LEFT JOIN organizations o ON o.number = abs(e.organization)
    WHERE e.id = iif(${series} > 0, ${series}, (SELECT series FROM usage_dimension_series WHERE id = -${series}))`);
  return `${row?.name ?? "usage"} (series ${series})`;
}

interface Counter extends LimitCell, SumParts {
  readonly limitId: string;
  readonly organizationId: string;
  readonly isInWindow: 0 | 1;
}

const countersAtOnce = 500;

/** A moment in the window of the counter `n`. */
const momentIn = sql`CASE l.per WHEN 'hour' THEN n.window_number + 1800000
  WHEN 'day' THEN n.window_number * 86400000 + 43200000 - ${
  ahead(sql`o.timezone`, sql`n.window_number * 86400000`)
}
  WHEN 'month' THEN ${monthStart(sql`n.window_number`)} + 15 * 86400000 ELSE 0 END`;

/**
 * Compares the counters of limits with the sums of their windows. Minutes have no sums of their own. Returns the first difference, or null.
 */
export async function compareCounters(
  database: DatabaseReader,
  onCompared: OnCompared,
): Promise<string | null> {
  const all = await database.readFirst<{ count: number }>(
    sql`SELECT count(*) AS count FROM usage_limit_counters`,
  );
  let done = 0;
  let after: Counter | undefined;
  for (;;) {
    const counters = await database.read<Counter>(countersAfter(after));
    for (const counter of counters) {
      const { limitId, organizationId, per, timezone, at } = counter;
      // Near a change of clocks, the moment can be in another window.
      if (counter.isInWindow === 0) continue;
      const window = limitWindow(per, timezone, at);
      if (sumMicros(await sumLimit(database, counter, window)) === sumMicros(counter)) continue;
      const since = window === null ? "" : ` in the ${per} from ${isoTime(window.start)}`;
      return `the limit ${limitId} of ${organizationId}: its counter${since} doesn't match the usage`;
    }
    after = counters.at(-1);
    if (after === undefined) return null;
    onCompared(Math.min(1, (done += counters.length) / (all?.count ?? 1)));
  }
}

function countersAfter(
  after: Counter | undefined,
): Statement {
  const { usageLimit = 0, organization = 0, windowNumber: number = 0 } = after ?? {};
  return sql`SELECT c.*, c.windowNumber = ${
    windowNumber(sql`c.per`, sql`c.at`, ahead(sql`c.timezone`, sql`c.at`))
  } AS isInWindow
    FROM (SELECT n.usage_limit AS usageLimit, n.organization, n.window_number AS windowNumber, n.opened_seq AS openedSeq,
        l.id AS limitId, o.id AS organizationId, l.product_slug AS productSlug, l.metric, l.per, o.timezone,
        coalesce(l.lineage, l.alert_lineage) AS lineage, CAST(${momentIn} AS INTEGER) AS at,
        CAST(n.sum_high AS TEXT) AS high, CAST(n.sum_low AS TEXT) AS low, CAST(n.sum_micro AS TEXT) AS micro
      FROM usage_limit_counters n CROSS JOIN usage_limits l ON l.number = n.usage_limit
      CROSS JOIN organizations o ON o.number = n.organization
      WHERE (n.usage_limit, n.organization, n.window_number) > (${usageLimit}, ${organization}, ${number})
        AND n.is_known = 1 AND n.opened_seq >= ${countedSeq} AND l.per <> 'minute' AND o.sums_deleted_at IS NULL
        AND ${isApplied({ lineage: sql`coalesce(l.lineage, l.alert_lineage)`, withAlerts: true })}
      ORDER BY n.usage_limit, n.organization, n.window_number LIMIT ${countersAtOnce}) c`;
}
