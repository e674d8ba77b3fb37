// The SQL of voids. The batch that voids a record looks at a bounded number of rows, whatever there is: what takes the
// place of a rollup's smallest or largest is found before it, outside of the writer, and checked in it.
import { rollupHourMs, rollupQuarterMs, usageVoidRecentRecordsMax } from "../../domain/limits.ts";
import { lowBits } from "../../domain/meter/quantity.ts";
import type { StoredUsageRecord } from "../../domain/meter/usage_record.ts";
import { type Database, sql } from "../engine/database.ts";
import { millionthsOf } from "./usage_recording.ts";
import {
  placesBetween,
  scanArguments,
  shownColumns,
  shownJoins,
  type UsageRecordScan,
} from "./usage_records.ts";

/** A value in millionths as the rollups have it, written as a text, and the record that has it. */
export interface Extreme {
  /** Empty when there is no record. */
  readonly value: string;
  /** 0 when no record has it. */
  readonly seq: number;
}

/** What the other records of a quarter of an hour have, up to a moment. */
export interface OtherExtremes {
  /** The last record that was looked at. */
  readonly cursor: number;
  /** Null when it was not looked for. */
  readonly smallest: Extreme | null;
  readonly largest: Extreme | null;
}

/**
 * What stands in a rollup whose smallest or largest is not known: it had been voided when records of the quarter were
 * deleted already. Every known value is above the first and below the second, also where rollups are put together.
 */
export const unknownSmallest = "-1";
export const unknownLargest = "9".repeat(22);

/** Which record to void, and why. */
export interface UsageVoid {
  /** SHA-256 of the API key that asks for it. */
  readonly keyHash: string;
  readonly seq: number;
  readonly recordedAt: number;
  readonly reason: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** What the others have; null before they were looked at. */
  readonly others: OtherExtremes | null;
}

/** `?1` seq, `?2` recordedAt, `?3` the key's hash, `?4` now: the record, if it is one of the key's organization. */
const recordOfKey = `usage_records r
  JOIN organizations o ON o.number = r.organization
  JOIN api_keys a ON a.organization_id = o.id AND a.key_hash = ?3 AND a.revoked_at IS NULL
    AND (a.expires_at IS NULL OR a.expires_at > ?4)
  WHERE r.seq = ?1 AND r.recorded_at = ?2`;
const isVoided = (seq: string) => `EXISTS (SELECT 1 FROM usage_voids w WHERE w.seq = ${seq})`;
const quartersPerHour = rollupHourMs / rollupQuarterMs;
/** What was recorded in the rollup `u` after the others were looked at (`?5`). */
const recent = `usage_records n WHERE n.seq > ?5 AND n.seq <= ?5 + ${usageVoidRecentRecordsMax}
  AND n.series = u.series AND n.timestamp >= u.quarter * ${rollupQuarterMs}
  AND n.timestamp < (u.quarter + 1) * ${rollupQuarterMs} AND NOT ${isVoided("n.seq")}`;
/** Where the others' values are: `?6` and `?7`, `?8` and `?9`. */
const extremes = [
  { column: "smallest", best: "min", value: "?6", holder: "?7" },
  { column: "largest", best: "max", value: "?8", holder: "?9" },
] as const;
/** Numbers are bound as floating ones, which would not be exact. */
const stored = (text: string) => `iif(length(${text}) = 22, ${text}, CAST(nullif(${text}, '') AS INTEGER))`;
const withoutRecord = extremes.map(({ column, best, value }) => {
  const latest = `(SELECT ${best}(${millionthsOf("n")}) FROM ${recent})`;
  const known = stored(value);
  return `${column} = iif(u.${column} <> v.millionths, u.${column},
    coalesce(${best}(${known}, ${latest}), ${known}, ${latest}, u.${column}))`;
}).join(", ");
/** The record is neither, or what takes its place is known and still counts. */
const isPrepared = extremes.map(({ column, value, holder }) =>
  `(u.count = 1 OR u.${column} <> v.millionths OR (${value} IS NOT NULL AND NOT ${isVoided(holder)}
    AND (SELECT seq FROM usage_cursor WHERE only_row = 1) <= ?5 + ${usageVoidRecentRecordsMax}))`
).join(" AND ");
const withoutSums = `count = u.count - 1, sum_high = u.sum_high - (v.quantity_whole >> ${lowBits}),
    sum_low = u.sum_low - (v.quantity_whole & ${
  2 ** lowBits - 1
}), sum_micro = u.sum_micro - v.quantity_micro`;
const recordToVoid = `FROM (SELECT r.*, ${millionthsOf("r")} AS millionths
    FROM ${recordOfKey} AND NOT ${isVoided("r.seq")}) AS v WHERE u.series = v.series`;
const takeFromQuarter = `UPDATE usage_rollups AS u SET ${withoutSums}, ${withoutRecord}
  ${recordToVoid} AND u.quarter = v.timestamp / ${rollupQuarterMs} AND ${isPrepared}`;
/** After the quarter: smallest and largest are those of the hour's quarters. */
const ofQuarters = (column: "smallest" | "largest", best: "min" | "max") =>
  `${column} = coalesce((SELECT ${best}(q.${column}) FROM usage_rollups q WHERE q.series = u.series AND q.count > 0
    AND q.quarter >= u.hour * ${quartersPerHour} AND q.quarter < (u.hour + 1) * ${quartersPerHour}), u.${column})`;
const takeFromHour = `UPDATE usage_rollups_hourly AS u SET ${withoutSums},
    ${ofQuarters("smallest", "min")}, ${ofQuarters("largest", "max")}
  ${recordToVoid} AND u.hour = v.timestamp / ${rollupHourMs} AND changes() > 0`;
const insertVoid = `INSERT INTO usage_voids (seq, voided_at, voided_by, reason)
  SELECT r.seq, ?4, a.id, ?5 FROM ${recordOfKey} AND changes() > 0 ON CONFLICT DO NOTHING`;

/**
 * Takes a record out of the rollups, once.
 *
 * @returns The record, voided now or before; not voided when it may be the smallest or largest and what the others have is
 *   not known or not true any more; undefined when the key's organization has no such record.
 * @throws {DatabaseError}
 */
export async function voidUsageRecord(
  database: Database,
  { seq, recordedAt, keyHash, now, reason, others }: UsageVoid,
): Promise<StoredUsageRecord | undefined> {
  const which = [seq, recordedAt, keyHash, now] as const;
  const { cursor = 0, smallest = null, largest = null } = others ?? {};
  const results = await database.write([
    sql(
      takeFromQuarter,
      ...which,
      cursor,
      smallest?.value ?? null,
      smallest?.seq ?? 0,
      largest?.value ?? null,
      largest?.seq ?? 0,
    ),
    sql(takeFromHour, ...which),
    sql(insertVoid, ...which, reason),
    sql(`SELECT ${shownColumns} FROM (SELECT r.* FROM ${recordOfKey}) AS r ${shownJoins}`, ...which),
  ]);
  return results[3]?.rows[0] as unknown as StoredUsageRecord | undefined;
}

/** A record and the rollup of its quarter of an hour, at one moment. */
export interface RecordInRollup {
  /** The last record that there is. */
  readonly cursor: number;
  readonly series: number;
  /** The quarter's first moment, in milliseconds since 1970. */
  readonly start: number;
  /** How many records count in the rollup. */
  readonly count: number;
  /** In millionths, as a text. */
  readonly value: string;
  readonly isSmallest: 0 | 1;
  readonly isLargest: 0 | 1;
}

/** @returns The record as it is in its rollup, or undefined when the organization has no such record. */
export function findRecordInRollup(
  database: Database,
  { organizationId, seq }: { organizationId: string; seq: number },
): Promise<RecordInRollup | undefined> {
  return database.readFirst(sql(
    `SELECT c.seq AS cursor, r.series, u.quarter * ${rollupQuarterMs} AS start, u.count,
       CAST(${millionthsOf("r")} AS TEXT) AS value, u.smallest = ${millionthsOf("r")} AS isSmallest,
       u.largest = ${millionthsOf("r")} AS isLargest
     FROM usage_records r JOIN organizations o ON o.number = r.organization AND o.id = ?1
     JOIN usage_rollups u ON u.series = r.series AND u.quarter = r.timestamp / ${rollupQuarterMs}
     JOIN usage_cursor c ON c.only_row = 1
     WHERE r.seq = ?2`,
    organizationId,
    seq,
  ));
}

/** What some records have that count. */
export interface CountedExtremes {
  readonly count: number;
  readonly smallest: Extreme;
  readonly largest: Extreme;
}

const countedExtremes = (records: string) =>
  `WITH e AS MATERIALIZED (SELECT r.seq, ${millionthsOf("r")} AS value FROM ${records} AND NOT ${
    isVoided("r.seq")
  })
   SELECT (SELECT count(*) FROM e) AS count, CAST(min(value) AS TEXT) AS value, seq FROM e
   UNION ALL SELECT 0, CAST(max(value) AS TEXT), seq FROM e`;

/** @returns What records of a series have in a scan, but for one (`seq`) and those after `last`. */
export function extremesOfScan(
  database: Database,
  { scan, series, seq, last }: { scan: UsageRecordScan; series: number; seq: number; last: number },
): Promise<CountedExtremes> {
  // The plus keeps the index to its order.
  const records = `(${placesBetween("AND +n.series = ?8 AND n.seq <> ?9 AND n.seq <= ?10")}) p
    CROSS JOIN usage_records r ON r.seq = p.seq WHERE true`;
  return readExtremes(database, countedExtremes(records), [...scanArguments(scan), series, seq, last]);
}

/** @returns What records of a rollup have that were recorded after one and up to another. */
export function extremesOfRecent(
  database: Database,
  { series, start, after, last }: { series: number; start: number; after: number; last: number },
): Promise<CountedExtremes> {
  const records = `usage_records r WHERE r.seq > ?1 AND r.seq <= ?2 AND r.series = ?3
    AND r.timestamp >= ?4 AND r.timestamp < ?4 + ${rollupQuarterMs}`;
  return readExtremes(database, countedExtremes(records), [after, last, series, start]);
}

async function readExtremes(
  database: Database,
  text: string,
  values: readonly (string | number)[],
): Promise<CountedExtremes> {
  const [smallest, largest] = await database.read<
    { count: number; value: string | null; seq: number | null }
  >(sql(text, ...values));
  return {
    count: smallest?.count ?? 0,
    smallest: { value: smallest?.value ?? "", seq: smallest?.seq ?? 0 },
    largest: { value: largest?.value ?? "", seq: largest?.seq ?? 0 },
  };
}
