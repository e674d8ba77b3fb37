// The SQL of single usage records: listing, and deleting the oldest.
import { rollupQuarterMs } from "../../domain/limits.ts";
import type { StoredUsageRecord } from "../../domain/meter/usage_record.ts";
import { type Database, sql, type Statement } from "../engine/database.ts";
import { filtersOf, type UsageFilter } from "./usage_sums.ts";
import { cleanKeys, indexHash, lookUpKeys } from "./idempotency_keys.ts";

/** A record in a list, with its place in the order of the list. */
export interface ListedUsageRecordRow extends StoredUsageRecord {
  readonly series: number;
  readonly apiKeyName: string;
}

/** A place in the order of lists: by timestamp, then by series, then by order of recording; all descending. */
export interface UsageRecordPosition {
  readonly timestamp: number;
  readonly series: number;
  readonly seq: number;
}

/** SQL of a record `r` as it is shown, with {@linkcode shownJoins}. */
export const shownColumns = `r.seq, s.product_slug AS productSlug, s.metric, k.id AS apiKeyId, r.timestamp,
  r.recorded_at AS recordedAt, r.quantity_whole AS whole, r.quantity_micro AS micro,
  r.idempotency_key AS idempotencyKey, r.properties, v.voided_at AS voidedAt, v.voided_by AS voidedBy,
  v.reason AS voidReason`;
/** SQL of what goes with a record `r`. */
export const shownJoins = `JOIN usage_series s ON s.id = r.series JOIN api_keys k ON k.number = s.api_key
  LEFT JOIN usage_voids v ON v.seq = r.seq`;
const organizationNumber = "(SELECT number FROM organizations WHERE id = ?1)";

/** Which records to read: those of an organization from a position on, before another. */
export interface UsageRecordScan {
  readonly organizationId: string;
  readonly from: UsageRecordPosition;
  readonly before: UsageRecordPosition;
}

/**
 * Very many records may have one timestamp, and SQLite compares rows of several values one record at a time. So the scan
 * is made of five parts, each of which an index finds: at the end's own timestamp, between, and at the beginning's.
 *
 * @param fits SQL of a further condition on `n`.
 * @returns SQL of the places in a scan, newest first.
 */
export function placesBetween(fits: string): string {
  return [
    "n.timestamp = ?5 AND n.series = ?6 AND n.seq < ?7 AND n.seq >= iif((?2, ?3) = (?5, ?6), ?4, 0) AND (?2, ?3) <= (?5, ?6)",
    "n.timestamp = ?5 AND n.series < ?6 AND n.series > iif(?2 = ?5, ?3, 0) AND ?2 <= ?5",
    "n.timestamp < ?5 AND n.timestamp > ?2",
    "n.timestamp = ?2 AND n.series > ?3 AND ?2 < ?5",
    "n.timestamp = ?2 AND n.series = ?3 AND n.seq >= ?4 AND (?2, ?3) < (?5, ?6)",
  ].map((part) =>
    `SELECT n.timestamp, n.series, n.seq FROM usage_records n
     WHERE n.organization = ${organizationNumber} AND ${part} ${fits}`
  ).join(" UNION ALL ") + " ORDER BY timestamp DESC, series DESC, seq DESC";
}

/** @returns The first seven arguments of a statement with {@linkcode placesBetween}. */
export function scanArguments({ organizationId, from, before }: UsageRecordScan) {
  return [
    organizationId,
    ...[from, before].flatMap(({ timestamp, series, seq }) => [timestamp, series, seq]),
  ];
}

/**
 * @param scan Where to look. With a filter, this is what bounds the work; see {@linkcode endOfLook}.
 * @returns The newest `limit` records that fit, newest first. @throws {DatabaseError}
 */
export function listUsageRecords(
  database: Database,
  scan: UsageRecordScan & { readonly filter: UsageFilter; readonly limit: number },
): Promise<ListedUsageRecordRow[]> {
  const { texts, values } = filtersOf(scan.filter, 9);
  // The plus keeps the index to the order of the list.
  const fits = texts === ""
    ? ""
    : `AND +n.series IN (SELECT s.id FROM usage_series s WHERE s.organization = ${organizationNumber} ${texts})`;
  return database.read(sql(
    `SELECT r.series, k.name AS apiKeyName, ${shownColumns}
     FROM (${placesBetween(fits)} LIMIT ?8) n
     CROSS JOIN usage_records r ON r.seq = n.seq ${shownJoins}
     ORDER BY n.timestamp DESC, n.series DESC, n.seq DESC`,
    ...scanArguments(scan),
    scan.limit,
    ...values,
  ));
}

/**
 * @param query `hash`: of the idempotency key alone. Times in milliseconds since 1970; `to` is not included.
 * @returns The record that has the key, if it fits; found by the index of keys. @throws {DatabaseError}
 */
export function findUsageRecordsByKey(
  database: Database,
  query: {
    readonly organizationId: string;
    readonly idempotencyKey: string;
    readonly hash: number;
    readonly from: number;
    readonly to: number;
    readonly filter: UsageFilter;
  },
): Promise<ListedUsageRecordRow[]> {
  const { texts, values } = filtersOf(query.filter, 6);
  // Both drivers bind numbers as floating ones, which have not enough digits for the index's hash.
  const keyed = `(SELECT o.number AS organization, ?2 AS idempotency_key,
      ${indexHash("CAST(?3 AS INTEGER)", "o.number")} AS hash FROM organizations o WHERE o.id = ?1)`;
  return database.read(sql(
    `SELECT r.series, k.name AS apiKeyName, ${shownColumns} FROM (${lookUpKeys("r.*", keyed)}) r ${shownJoins}
     WHERE r.timestamp >= ?4 AND r.timestamp < ?5 ${texts}`,
    query.organizationId,
    query.idempotencyKey,
    query.hash,
    query.from,
    query.to,
    ...values,
  ));
}

/**
 * @param options Which record of which organization.
 * @returns The record, or undefined when the organization has no such record. @throws {DatabaseError}
 */
export function findUsageRecord(
  database: Database,
  options: { organizationId: string; seq: number; recordedAt: number },
): Promise<StoredUsageRecord | undefined> {
  return database.readFirst(sql(
    `SELECT ${shownColumns} FROM usage_records r ${shownJoins}
     WHERE r.seq = ?2 AND r.recorded_at = ?3 AND r.organization = ${organizationNumber}`,
    options.organizationId,
    options.seq,
    options.recordedAt,
  ));
}

/** @returns The place of the last of the newest `recordsMax` records, or undefined when there are fewer. */
export function endOfLook(
  database: Database,
  scan: UsageRecordScan & { readonly recordsMax: number },
): Promise<UsageRecordPosition | undefined> {
  return database.readFirst(sql(
    `${placesBetween("")} LIMIT 1 OFFSET ?8`,
    ...scanArguments(scan),
    scan.recordsMax - 1,
  ));
}

/**
 * Asks the rollups, so that a scan need not look at what lies between.
 *
 * @returns The end of the last quarter of an hour that begins before `before` and has a record that fits, in
 *   milliseconds since 1970; null when there is none.
 */
export async function lastUsageBefore(
  database: Database,
  options: { organizationId: string; filter: UsageFilter; before: number },
): Promise<number | null> {
  const { texts, values } = filtersOf(options.filter, 3);
  const row = await database.readFirst<{ quarter: number | null }>(sql(
    `SELECT max((SELECT max(r.quarter) FROM usage_rollups r WHERE r.series = s.id AND r.quarter < ?1)) AS quarter
     FROM usage_series s
     WHERE s.organization = (SELECT number FROM organizations WHERE id = ?2) ${texts}`,
    Math.ceil(options.before / rollupQuarterMs),
    options.organizationId,
    ...values,
  ));
  return row?.quarter === undefined || row.quarter === null ? null : (row.quarter + 1) * rollupQuarterMs;
}

/**
 * @param options Which record of which organization.
 * @returns Where it is in lists, or undefined when the organization has no such record.
 */
export function findUsageRecordPosition(
  database: Database,
  options: { organizationId: string; seq: number; recordedAt: number },
): Promise<UsageRecordPosition | undefined> {
  return database.readFirst(sql(
    `SELECT n.timestamp, n.series, n.seq FROM usage_records n
     WHERE n.organization = ${organizationNumber} AND n.seq = ?2 AND n.recorded_at = ?3`,
    options.organizationId,
    options.seq,
    options.recordedAt,
  ));
}

/** @returns When the oldest record that is kept was recorded, or undefined when there is none. */
export async function oldestUsageRecordedAt(database: Database): Promise<number | undefined> {
  const row = await database.readFirst<{ recordedAt: number }>(
    sql`SELECT recorded_at AS recordedAt FROM usage_records ORDER BY seq LIMIT 1`,
  );
  return row?.recordedAt;
}

/**
 * Deletes the oldest records, a few at a time, and with them what is only about them. Rollups stay.
 *
 * @param options `before`: only what was recorded earlier, in milliseconds since 1970. `limit`: at most so many.
 * @returns How many were deleted. @throws {DatabaseError}
 */
export async function deleteOldUsageRecords(
  database: Database,
  { before, limit }: { before: number; limit: number },
): Promise<number> {
  const old = `(SELECT f.seq FROM (SELECT seq, recorded_at FROM usage_records ORDER BY seq LIMIT ?2) f
    WHERE f.recorded_at < ?1)`;
  const batch: Statement[] = [
    ...cleanKeys(limit),
    sql(`DELETE FROM usage_voids WHERE seq IN ${old}`, before, limit),
    sql(`DELETE FROM usage_records WHERE seq IN ${old}`, before, limit),
  ];
  return (await database.write(batch)).at(-1)?.changes ?? 0;
}
