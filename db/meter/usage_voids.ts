// The SQL of voids. The batch that voids a record reads a bounded number of rows: which other records decide the minimum, the maximum
// and the latest record is found beforehand, outside of the writer, and verified in the batch.
import { rollupHourMs, rollupQuarterMs, usageVoidRecentRecordsMax } from "../../domain/limits.ts";
import { lowBits } from "../../domain/meter/quantity.ts";
import type { StoredUsageRecord } from "../../domain/meter/usage_record.ts";
import type { RecordReference } from "../../domain/meter/usage_record_id.ts";
import { ifAudited, type insertAuditEvent, isSuspended, keyMay, workingApiKey } from "../access/mod.ts";
import { type Database, integer, joinSql, sql, type Statement } from "../engine/database.ts";
import { noteVoidedRecord } from "./statement_changes.ts";
import { isLatest, isVoided, subtractLatest, subtractUnique } from "./counting.ts";
import { organizationOf } from "./environments.ts";
import { clearNotices } from "./limit_clearing.ts";
import { giveBackToGrants, giveBackToWindowGrants } from "./grant_returns.ts";
import { isApplied, windowAt } from "./usage_limits.ts";
import { millionths, monthOf, monthStart } from "./rollup_columns.ts";
import { basis, isOther, type OtherRecords, recordedBetween, withRollups } from "./other_records.ts";
import { recordColumns, recordJoins } from "./usage_records.ts";
import { subtractFromValues } from "./value_limits.ts";

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
  /** Null before they were looked for: then it is voided only if it isn't the minimum, maximum or latest record. */
  readonly others: OtherRecords | null;
}

/** The id of the entry in the audit log, and what writes it. */
type VoidAudit = ReturnType<typeof insertAuditEvent>;

const quarterMs = integer(rollupQuarterMs);
const quartersPerHour = integer(rollupHourMs / rollupQuarterMs);

/** The record `r`, if the operator or the key may void it: a key that works, of the record's organization. */
function recordOf({ seq, recordedAt, keyHash, now }: UsageVoid): Statement {
  const key = keyHash === null ? sql`` : sql`AND NOT ${isSuspended}
    JOIN api_keys k ON k.organization_id = o.id AND k.key_hash = ${keyHash} AND ${workingApiKey(now)}
      AND ${keyMay("usage:void")}`;
  return sql`usage_records r
    JOIN organizations o ON o.number = ${organizationOf(sql`r.organization`)} AND o.deleted_at IS NULL ${key}
    WHERE r.seq = ${seq} AND r.recorded_at = ${recordedAt}`;
}

/** The sums of a rollup `u` without the record of a table. */
const withoutSums = (v: Statement) =>
  sql`count = u.count - 1, sum_high = u.sum_high - (${v}.quantity_whole >> ${integer(lowBits)}),
  sum_low = u.sum_low - (${v}.quantity_whole & ${integer(2 ** lowBits - 1)}),
  sum_micro = u.sum_micro - ${v}.quantity_micro`;

/** The record to be voided and its rollups `v`; none if it may not be voided, or was. */
const withRollupsOf = (which: UsageVoid) =>
  withRollups(sql`${recordOf(which)} AND NOT ${isVoided(sql`r.seq`)}`);

/** Makes SQLite find the rollups `u` by their index: it would scan them for each row of `v`. */
const isRollup = (number: Statement, lengthMs: Statement) =>
  sql`u.series IN (SELECT rollup FROM v) AND ${number} = (SELECT timestamp / ${lengthMs} FROM record)`;

/** Selects the other records that decide, and those recorded since they were found. */
function decidingRecords({ seq, others }: UsageVoid): Statement {
  const { seqs = [], isFull = false, cursor = 0 } = others ?? {};
  const found = sql`SELECT j.value FROM json_each(${JSON.stringify(seqs)}) j`;
  if (!isFull) return found;
  const last = cursor + usageVoidRecentRecordsMax;
  return sql`${found} UNION ALL ${recordedBetween(seq, { after: cursor, last })}`;
}

/** A condition: the records that decide are known, for the rollups `k` and the minimum and maximum of these records in each. */
function isDecided({ others }: UsageVoid): Statement {
  if (others?.isFull) {
    return sql`${others.basis} = ${basis}
      AND (SELECT seq FROM usage_cursor WHERE only_row = 1) <= ${others.cursor + usageVoidRecentRecordsMax}
      AND NOT EXISTS (SELECT 1 FROM json_each(${JSON.stringify(others.seqs)}) j WHERE ${
      isVoided(sql`j.value`)
    }
        OR NOT EXISTS (SELECT 1 FROM usage_records r WHERE r.seq = j.value))`;
  }
  // The total has a minimum or maximum of the record only if the series has it too.
  return sql`NOT EXISTS (
      SELECT 1 FROM k CROSS JOIN usage_rollups u ON u.series = k.rollup AND u.quarter = k.timestamp / ${quarterMs}
      WHERE NOT k.is_total AND u.count > 1 AND ((u.smallest = k.millionths AND k.smallest IS NOT k.millionths)
        OR (u.largest = k.millionths AND k.largest IS NOT k.millionths) OR ${isLatest(sql`k`)}))`;
}

/**
 * Updates the quarters. Does nothing if the record may be the minimum, maximum or latest one, and it isn't known which other is that now.
 * Records of all organizations are too many to look for the total's: it stays known only if the series has an equal record.
 */
function subtractFromQuarters(which: UsageVoid): Statement {
  const partial = JSON.stringify(which.others?.partial ?? []);
  const extreme = (column: Statement, unknown: Statement) =>
    sql`${column} = iif(u.count = 1 OR u.${column} <> k.millionths OR k.${column} IS k.millionths, u.${column},
      coalesce(iif(k.is_total OR k.rollup IN (SELECT j.value FROM json_each(${partial}) j), NULL, k.${column}), ${unknown}))`;
  return sql`WITH ${withRollupsOf(which)}, k AS MATERIALIZED (
      SELECT v.*, min(${millionths}) AS smallest, max(${millionths}) AS largest
      FROM v LEFT JOIN usage_records r ON ${isOther(decidingRecords(which))} AND NOT ${isVoided(sql`r.seq`)}
      GROUP BY v.rollup)
    UPDATE usage_rollups AS u
    SET ${withoutSums(sql`k`)}, ${extreme(sql`smallest`, integer(Number(unknownMinimum)))},
      ${extreme(sql`largest`, sql`${String(unknownMaximum)}`)}
    FROM k WHERE ${isRollup(sql`u.quarter`, quarterMs)} AND u.series = +k.rollup AND ${isDecided(which)}`;
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
  return sql`WITH ${withRollupsOf(which)}
    UPDATE usage_rollups_hourly AS u SET ${withoutSums(sql`v`)}, ${extremesOfParts(parts)} FROM v
    WHERE ${isRollup(sql`u.hour`, integer(rollupHourMs))} AND u.series = +v.rollup AND changes() > 0`;
}

/** Runs after the hours were updated: the months' extremes are those of their hours. */
function subtractFromMonths(which: UsageVoid): Statement {
  const parts = sql`usage_rollups_hourly q WHERE q.series = u.series AND q.count > 0
    AND q.hour >= ${monthStart(sql`u.month`)} / ${integer(rollupHourMs)}
    AND q.hour < ${monthStart(sql`(u.month + 1)`)} / ${integer(rollupHourMs)}`;
  return sql`WITH ${withRollupsOf(which)}
    UPDATE usage_rollups_monthly AS u SET ${withoutSums(sql`v`)}, ${extremesOfParts(parts)} FROM v
    WHERE u.month = (SELECT ${
    monthOf(sql`timestamp`)
  } FROM record) AND u.organization IN (SELECT owner FROM v)
      AND u.series IN (SELECT rollup FROM v) AND u.series = +v.rollup AND changes() > 0`;
}

/** The windows of limits that count a record. */
const windowsOf = (seq: number) =>
  sql`SELECT r.*, l.number AS usage_limit, ${windowAt(sql`r.timestamp`)} AS window_number
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

/**
 * Subtracts a record from its rollups and from the counters of limits, once.
 *
 * @param database Writes the batch. @param audit Writes the entry if the statement before it changed a row.
 * @returns The record, voided now or before. Not voided if it may be the minimum, maximum or latest one of its quarter
 *   and `others` is missing or no longer true. Undefined if the key's organization has no such record.
 */
export async function voidRecord(database: Pick<Database, "write">, which: UsageVoid, audit: VoidAudit) {
  const { others, seq } = which;
  const isMade = ifAudited(audit.id);
  const results = await database.write([
    subtractFromQuarters(which),
    subtractFromHours(which),
    subtractFromMonths(which),
    sql`INSERT INTO usage_voids (seq, organization, timestamp, series, voided_at, voided_by, reason)
      SELECT r.seq, r.organization, r.timestamp, r.series, ${which.now}, ${which.voidedBy}, ${which.reason}
      FROM ${recordOf(which)} AND changes() > 0
      ON CONFLICT DO NOTHING`,
    audit.statement,
    subtractFromCounters(seq),
    giveBackToGrants(seq, isMade),
    giveBackToWindowGrants(seq, isMade),
    noteVoidedRecord(seq),
    ...clearNotices(windowsOf(seq), { now: which.now, after: "void" }),
    ...subtractLatest(seq, {
      others: others?.isFull ? decidingRecords(which) : null,
      isUnknown: (others?.partial.length ?? 0) > 0,
      condition: isMade,
    }),
    ...subtractUnique(seq, isMade),
    subtractFromValues(seq, isMade),
    sql`SELECT ${recordColumns} FROM (SELECT r.* FROM ${recordOf(which)}) AS r ${recordJoins}`,
  ]);
  return results.at(-1)?.rows[0] as unknown as StoredUsageRecord | undefined;
}
