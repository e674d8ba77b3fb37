// The SQL of voids. The batch that voids a record reads a bounded number of rows: which minimum and maximum remain is found
// beforehand, outside of the writer, and verified in the batch.
import { rollupHourMs, rollupQuarterMs, usageVoidRecentRecordsMax } from "../../domain/limits.ts";
import { lowBits } from "../../domain/meter/quantity.ts";
import type { Environment } from "../../domain/environment.ts";
import type { StoredUsageRecord } from "../../domain/meter/usage_record.ts";
import type { RecordReference } from "../../domain/meter/usage_record_id.ts";
import { activeApiKey, ifAudited, type insertAuditEvent, isSuspended, keyMay } from "../access/mod.ts";
import {
  type Database,
  type DatabaseReader,
  integer,
  joinSql,
  sql,
  type Statement,
} from "../engine/database.ts";
import { noteVoidedRecord } from "./statement_changes.ts";
import { dimensionSumsNumber, seriesOfValue, valuesOfRecord } from "./dimensions.ts";
import { subtractUnique } from "./counting.ts";
import { isLatest, latestOrder, replaceLatest } from "./latest_voids.ts";
import { environmentOf, organizationOf, totalOf } from "./environments.ts";
import { clearNotices } from "./limit_clearing.ts";
import { giveBackToGrants } from "./usage_grants.ts";
import { ahead, isApplied, windowNumber } from "./usage_limits.ts";
import { millionths, monthOf, monthStart } from "./rollup_columns.ts";
import { positionsIn, recordColumns, recordJoins, type UsageRecordScan } from "./usage_records.ts";

/** A smallest or largest value and the record that has it. */
export interface Extreme {
  /** In millionths, as the rollups have it, as a text; empty when there is no record. */
  readonly value: string;
  /** 0 when no record has it. */
  readonly seq: number;
}

/** The extremes of a rollup's other records, up to one of them. */
export interface RemainingExtremes {
  /** The series of the rollup. */
  readonly rollup: number;
  readonly cursor: number;
  /** Null when it was not needed. */
  readonly smallest: Extreme | null;
  readonly largest: Extreme | null;
  /** The latest record, by `latestOrder`. */
  readonly latest: Extreme | null;
}

/**
 * A rollup has these instead of its minimum and maximum when they are unknown, because a record was voided after others of its
 * 15 minutes had been deleted. Every known value is between them, also where rollups are combined.
 */
export const unknownMinimum = -1n;
export const unknownMaximum = 10n ** 22n - 1n;

interface UsageVoid extends RecordReference {
  /** SHA-256 of the requesting API key. Null for an operator, who is checked by the writer. */
  readonly keyHash: string | null;
  /** The id of the key, or of the operator. */
  readonly voidedBy: string;
  readonly reason: string;
  readonly now: number;
  /** The remaining extremes of its series and values, where it may be an extreme. Null before they were looked for. */
  readonly remaining: readonly RemainingExtremes[] | null;
}

/** The id of the entry in the audit log, and what writes it. */
type VoidAudit = ReturnType<typeof insertAuditEvent>;

const isVoided = (seq: Statement | number) => sql`EXISTS (SELECT 1 FROM usage_voids w WHERE w.seq = ${seq})`;
const quarterMs = integer(rollupQuarterMs);
const quartersPerHour = integer(rollupHourMs / rollupQuarterMs);
const recentRecordsMax = integer(usageVoidRecentRecordsMax);

/** The record `r`, if the operator or the key may void it: a key that works, of the record's organization. */
function recordOf({ seq, recordedAt, keyHash, now }: UsageVoid): Statement {
  const key = keyHash === null ? sql`` : sql`AND NOT ${isSuspended}
    JOIN api_keys k ON k.organization_id = o.id AND k.key_hash = ${keyHash} AND ${activeApiKey(now)}
      AND ${keyMay("usage:void")}`;
  return sql`usage_records r
    JOIN organizations o ON o.number = ${organizationOf(sql`r.organization`)} AND o.deleted_at IS NULL ${key}
    WHERE r.seq = ${seq} AND r.recorded_at = ${recordedAt}`;
}

/** The sums of a rollup `u` without a record. */
const withoutSums = (record = sql`v`) =>
  sql`count = u.count - 1, sum_high = u.sum_high - (${record}.quantity_whole >> ${integer(lowBits)}),
  sum_low = u.sum_low - (${record}.quantity_whole & ${integer(2 ** lowBits - 1)}),
  sum_micro = u.sum_micro - ${record}.quantity_micro`;

/**
 * The record to be voided, once for each of the rollups `u` that count it: that of its series, those of its values and, with the
 * total, that of its total. None if it may not be voided, or was.
 */
const counted = (which: UsageVoid, { withTotal }: { withTotal: boolean }) => {
  const record = sql`SELECT r.*, ${millionths} AS millionths FROM ${recordOf(which)} AND NOT ${
    isVoided(sql`r.seq`)
  }`;
  const total = sql`UNION ALL SELECT record.*, s.total, ${totalOf(sql`record.organization`)}, NULL
      FROM record CROSS JOIN usage_series s ON s.id = record.series`;
  return sql`WITH record AS MATERIALIZED (${record}), v AS MATERIALIZED (
      SELECT record.*, series AS rollup, organization AS owner, NULL AS dimension FROM record
      ${withTotal ? total : sql``}
      UNION ALL SELECT record.*, -ds.id, ${integer(dimensionSumsNumber)}, d.number ${valuesOfRecord})`;
};

/** Makes SQLite find the rollups `u` by their index: it would scan them for each row of `v`. */
const isRollup = (number: Statement, lengthMs: Statement) =>
  sql`u.series IN (SELECT rollup FROM v) AND ${number} = (SELECT timestamp / ${lengthMs} FROM record)`;

/**
 * Updates the quarters of the series and of the values. Does nothing if the record may be an extreme of one of them and the given
 * ones are missing or no longer true.
 */
function subtractFromQuarter(which: UsageVoid): Statement {
  const remaining = JSON.stringify(
    (which.remaining ?? []).map(({ rollup, cursor, smallest, largest, latest }) => [
      rollup,
      cursor,
      smallest?.value ?? null,
      smallest?.seq ?? 0,
      largest?.value ?? null,
      largest?.seq ?? 0,
      latest?.value ?? null,
      latest?.seq ?? 0,
    ]),
  );
  const known = sql`k AS MATERIALIZED (SELECT v.*, j.value AS known
      FROM v LEFT JOIN json_each(${remaining}) j ON j.value ->> 0 = v.rollup)`;
  const cursor = sql`(k.known ->> 1)`;
  const isValue = sql`(k.dimension IS NULL OR k.rollup = (SELECT -ds.id FROM usage_dimensions d
      CROSS JOIN ${seriesOfValue(sql`r`)} WHERE d.number = k.dimension))`;
  const recent = sql`usage_records r WHERE r.seq > ${cursor} AND r.seq <= ${cursor} + ${recentRecordsMax}
    AND r.series = k.series AND r.timestamp >= u.quarter * ${quarterMs}
    AND r.timestamp < (u.quarter + 1) * ${quarterMs} AND NOT ${isVoided(sql`r.seq`)} AND ${isValue}`;
  const hasFewRecent = sql`
    (SELECT seq FROM usage_cursor WHERE only_row = 1) <= ${cursor} + ${recentRecordsMax}`;
  const extremes = [
    { column: sql`smallest`, best: sql`min`, value: sql`(k.known ->> 2)`, seq: sql`(k.known ->> 3)` },
    { column: sql`largest`, best: sql`max`, value: sql`(k.known ->> 4)`, seq: sql`(k.known ->> 5)` },
  ].map(({ column, best, value, seq }) => {
    // Texts, because bound numbers are floating-point and would not be exact.
    const known = sql`iif(length(${value}) = 22, ${value}, CAST(nullif(${value}, '') AS INTEGER))`;
    const latest = sql`(SELECT ${best}(${millionths}) FROM ${recent})`;
    return {
      assignment: sql`${column} = iif(u.${column} <> k.millionths, u.${column},
        coalesce(${best}(${known}, ${latest}), ${known}, ${latest}, u.${column}))`,
      isKnown: sql`(u.count = 1 OR u.${column} <> k.millionths OR (${value} IS NOT NULL
        AND NOT ${isVoided(seq)} AND ${hasFewRecent}))`,
    };
  });
  const latestSeq = sql`(k.known ->> 7)`;
  const isLatestKnown = sql`(u.count = 1 OR k.dimension IS NOT NULL OR NOT ${isLatest(sql`k`)}
    OR (k.known ->> 6 IS NOT NULL AND ${hasFewRecent} AND (${latestSeq} = 0 OR (NOT ${isVoided(latestSeq)}
      AND EXISTS (SELECT 1 FROM usage_records r WHERE r.seq = ${latestSeq})))))`;
  return sql`${counted(which, { withTotal: false })}, ${known}
    UPDATE usage_rollups AS u
    SET ${withoutSums(sql`k`)}, ${joinSql(extremes.map(({ assignment }) => assignment), ", ")}
    FROM k WHERE ${isRollup(sql`u.quarter`, quarterMs)} AND u.series = +k.rollup AND NOT EXISTS (
      SELECT 1 FROM k CROSS JOIN usage_rollups u ON u.series = k.rollup AND u.quarter = k.timestamp / ${quarterMs}
      WHERE NOT (${joinSql([...extremes.map(({ isKnown }) => isKnown), isLatestKnown], " AND ")}))`;
}

/**
 * Runs after the quarter of the series was updated. Records of all organizations are too many to look for another extreme: it
 * is known only if the series has a record of the same quantity, and unknown otherwise.
 */
function subtractFromTotal(which: UsageVoid): Statement {
  const extreme = (column: Statement, unknown: Statement) =>
    sql`${column} = iif(u.count = 1 OR u.${column} <> v.millionths OR EXISTS (SELECT 1 FROM usage_rollups q
      WHERE q.series = v.series AND q.quarter = u.quarter AND q.count > 0 AND q.${column} = v.millionths),
      u.${column}, ${unknown})`;
  return sql`
    UPDATE usage_rollups AS u
    SET ${withoutSums()}, ${extreme(sql`smallest`, integer(Number(unknownMinimum)))},
      ${extreme(sql`largest`, sql`${String(unknownMaximum)}`)}
    FROM (SELECT r.*, ${millionths} AS millionths,
      (SELECT s.total FROM usage_series s WHERE s.id = r.series) AS total
      FROM ${recordOf(which)} AND NOT ${isVoided(sql`r.seq`)}) AS v
    WHERE u.series = v.total AND u.quarter = v.timestamp / ${quarterMs} AND changes() > 0`;
}

/** Sets the extremes of a rollup to those of its parts `q` in a range. */
const extremesOfParts = (parts: Statement) =>
  joinSql(
    [{ column: sql`smallest`, best: sql`min` }, { column: sql`largest`, best: sql`max` }].map(
      ({ column, best }) =>
        sql`${column} = coalesce((SELECT ${best}(q.${column}) FROM ${parts}), u.${column})`,
    ),
    ", ",
  );

/** Runs after the quarters were updated: the hours' extremes are those of their quarters. */
function subtractFromHours(which: UsageVoid): Statement {
  const parts = sql`usage_rollups q WHERE q.series = u.series AND q.count > 0
    AND q.quarter >= u.hour * ${quartersPerHour} AND q.quarter < (u.hour + 1) * ${quartersPerHour}`;
  return sql`${counted(which, { withTotal: true })}
    UPDATE usage_rollups_hourly AS u SET ${withoutSums()}, ${extremesOfParts(parts)} FROM v
    WHERE ${isRollup(sql`u.hour`, integer(rollupHourMs))} AND u.series = +v.rollup AND changes() > 0`;
}

/** Runs after the hours were updated: the months' extremes are those of their hours. */
function subtractFromMonths(which: UsageVoid): Statement {
  const parts = sql`usage_rollups_hourly q WHERE q.series = u.series AND q.count > 0
    AND q.hour >= ${monthStart(sql`u.month`)} / ${integer(rollupHourMs)}
    AND q.hour < ${monthStart(sql`(u.month + 1)`)} / ${integer(rollupHourMs)}`;
  return sql`${counted(which, { withTotal: true })}
    UPDATE usage_rollups_monthly AS u SET ${withoutSums()}, ${extremesOfParts(parts)} FROM v
    WHERE u.month = (SELECT ${
    monthOf(sql`timestamp`)
  } FROM record) AND u.organization IN (SELECT owner FROM v)
      AND u.series IN (SELECT rollup FROM v) AND u.series = +v.rollup AND changes() > 0`;
}

/** The windows of limits that count a record. */
const windowsOf = (seq: number) =>
  sql`SELECT r.*, l.number AS usage_limit, ${
    windowNumber(sql`l.per`, sql`r.timestamp`, ahead(sql`o.timezone`, sql`r.timestamp`))
  } AS window_number
    FROM usage_records r JOIN organizations o ON o.number = r.organization
    JOIN usage_series s ON s.id = r.series LEFT JOIN api_keys k ON k.number = s.api_key
    CROSS JOIN usage_limits l ON ${
    isApplied({
      lineage: sql`k.lineage`,
      withAlerts: true,
      series: { productSlug: sql`s.product_slug`, metric: sql`s.metric` },
    })
  } WHERE r.seq = ${seq}`;

/** Runs after the entry in the audit log: subtracts the record from the limits' windows. */
const subtractFromCounters = (seq: number) =>
  sql`
    UPDATE usage_limit_counters AS n SET sum_high = n.sum_high - (v.quantity_whole >> ${integer(lowBits)}),
      sum_low = n.sum_low - (v.quantity_whole & ${integer(2 ** lowBits - 1)}),
      sum_micro = n.sum_micro - v.quantity_micro
    FROM (${windowsOf(seq)} AND changes() > 0) AS v
    WHERE n.usage_limit = v.usage_limit AND n.organization = v.organization
      AND n.window_number = v.window_number`;

/** Runs after the entry in the audit log. @param isMade A condition: this batch voided the record. */
function subtractFromCounts({ seq, remaining }: UsageVoid, isMade: Statement): Statement[] {
  // The series' own rollup is the first.
  const { cursor = 0, latest = null } = remaining?.find((one) => one.latest !== null) ?? {};
  const recent = sql`r.seq > ${cursor} AND r.seq <= ${cursor} + ${recentRecordsMax} AND ${cursor} > 0`;
  return [
    ...replaceLatest({ seq, remaining: latest, recent, condition: isMade }),
    ...subtractUnique(seq, isMade),
  ];
}

/**
 * Subtracts a record from its rollups and from the counters of limits, once.
 *
 * @param database Writes the batch. @param audit Writes the entry if the statement before it changed a row.
 * @returns The record, voided now or before. Not voided if it may be the minimum or maximum and the remaining extremes are
 *   missing or no longer true. Undefined if the key's organization has no such record.
 */
export async function voidRecord(database: Pick<Database, "write">, which: UsageVoid, audit: VoidAudit) {
  const results = await database.write([
    subtractFromQuarter(which),
    subtractFromTotal(which),
    subtractFromHours(which),
    subtractFromMonths(which),
    sql`INSERT INTO usage_voids (seq, organization, timestamp, series, voided_at, voided_by, reason)
      SELECT r.seq, r.organization, r.timestamp, r.series, ${which.now}, ${which.voidedBy}, ${which.reason}
      FROM ${recordOf(which)} AND changes() > 0
      ON CONFLICT DO NOTHING`,
    audit.statement,
    subtractFromCounters(which.seq),
    giveBackToGrants(which.seq, ifAudited(audit.id)),
    noteVoidedRecord(which.seq),
    ...clearNotices(windowsOf(which.seq), { now: which.now, after: "void" }),
    ...subtractFromCounts(which, ifAudited(audit.id)),
    sql`SELECT ${recordColumns} FROM (SELECT r.* FROM ${recordOf(which)}) AS r ${recordJoins}`,
  ]);
  return results.at(-1)?.rows[0] as unknown as StoredUsageRecord | undefined;
}

/** A record, and a rollup of its series or of one of its values that counts it. */
export interface RecordInRollup {
  readonly cursor: number;
  readonly series: number;
  /** The series of the rollup. */
  readonly rollup: number;
  /** The number of the dimension; null for the rollup of its series. */
  readonly dimension: number | null;
  readonly environment: Environment;
  readonly start: number;
  readonly count: number;
  /** In millionths, as a text. */
  readonly value: string;
  readonly isSmallest: 0 | 1;
  readonly isLargest: 0 | 1;
  readonly isLatest: 0 | 1;
}

/** Returns the rollups that count a record: that of its series first. */
export function findRecordInRollups(
  database: DatabaseReader,
  { organizationId, seq }: { organizationId: string; seq: number },
): Promise<RecordInRollup[]> {
  return database.read(sql`
    WITH record AS MATERIALIZED (
      SELECT r.* FROM usage_records r JOIN organizations o ON o.number = ${
    organizationOf(sql`r.organization`)
  } AND o.id = ${organizationId} WHERE r.seq = ${seq}
    ), v AS MATERIALIZED (
      SELECT record.*, series AS rollup, NULL AS dimension FROM record
      UNION ALL SELECT record.*, -ds.id, d.number ${valuesOfRecord}
    )
    SELECT c.seq AS cursor, r.series, r.rollup, r.dimension, ${
    environmentOf(sql`r.organization`)
  } AS environment, u.quarter * ${quarterMs} AS start, u.count,
      CAST(${millionths} AS TEXT) AS value, u.smallest = ${millionths} AS isSmallest,
      u.largest = ${millionths} AS isLargest, r.dimension IS NULL AND ${isLatest(sql`r`)} AS isLatest
    FROM v r CROSS JOIN usage_rollups u ON u.series = r.rollup AND u.quarter = r.timestamp / ${quarterMs}
    CROSS JOIN usage_cursor c ON c.only_row = 1 ORDER BY r.dimension`);
}

export interface CountedExtremes {
  readonly count: number;
  readonly smallest: Extreme;
  readonly largest: Extreme;
  readonly latest: Extreme;
}

type RollupOfRecords = Pick<RecordInRollup, "series" | "rollup" | "dimension">;

/** The condition that a rollup counts the record `r` of its series. */
const isCountedIn = ({ rollup, dimension }: RollupOfRecords) =>
  dimension === null
    ? sql``
    : sql`AND (SELECT -ds.id FROM usage_dimensions d CROSS JOIN ${seriesOfValue(sql`r`)}
    WHERE d.number = ${dimension}) = ${rollup}`;

/** Finds the extremes of a series or value in a scan, without one record (`seq`) and without those after `last`. */
export function extremesOfScan(
  database: DatabaseReader,
  { scan, of, seq, last }: { scan: UsageRecordScan; of: RollupOfRecords; seq: number; last: number },
): Promise<CountedExtremes> {
  // The plus sign makes SQLite use the index for the order of the positions.
  const isOther = sql`AND +n.series = ${of.series} AND n.seq <> ${seq} AND n.seq <= ${last}`;
  return readExtremes(
    database,
    sql`(${positionsIn(scan, isOther)}) p CROSS JOIN usage_records r ON r.seq = p.seq WHERE true ${
      isCountedIn(of)
    }`,
  );
}

/** Finds the extremes of a rollup's records that were recorded after one record and up to another. */
export function extremesOfRecent(
  database: DatabaseReader,
  { of, start, after, last }: { of: RollupOfRecords; start: number; after: number; last: number },
): Promise<CountedExtremes> {
  return readExtremes(
    database,
    sql`usage_records r WHERE r.seq > ${after} AND r.seq <= ${last} AND r.series = ${of.series}
      AND r.timestamp >= ${start} AND r.timestamp < ${start} + ${quarterMs} ${isCountedIn(of)}`,
  );
}

async function readExtremes(database: DatabaseReader, records: Statement): Promise<CountedExtremes> {
  const [smallest, largest, latest] = await database.read<
    { count: number; value: string | null; seq: number | null }
  >(sql`
    WITH e AS MATERIALIZED (SELECT r.seq, ${millionths} AS value, ${latestOrder} AS latest FROM ${records} AND NOT ${
    isVoided(sql`r.seq`)
  })
    SELECT (SELECT count(*) FROM e) AS count, CAST(min(value) AS TEXT) AS value, seq FROM e
    UNION ALL SELECT 0, CAST(max(value) AS TEXT), seq FROM e
    UNION ALL SELECT 0, max(latest), seq FROM e`);
  return {
    count: smallest?.count ?? 0,
    smallest: { value: smallest?.value ?? "", seq: smallest?.seq ?? 0 },
    largest: { value: largest?.value ?? "", seq: largest?.seq ?? 0 },
    latest: { value: latest?.value ?? "", seq: latest?.seq ?? 0 },
  };
}
