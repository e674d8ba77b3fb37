// The SQL of single usage records: finding and listing them, and deleting the oldest.
import { rollupQuarterMs } from "../../domain/limits.ts";
import { noneValue } from "../../domain/meter/dimension.ts";
import { idempotencyKeyHash, type StoredUsageRecord } from "../../domain/meter/usage_record.ts";
import type { RecordReference } from "../../domain/meter/usage_record_id.ts";
import { type Database, type DatabaseReader, joinSql, sql, type Statement } from "../engine/database.ts";
import { cleanIdempotencyKeys, indexHash, lookUpIdempotencyKeys } from "./idempotency_keys.ts";
import {
  environmentOf,
  isUsageOf,
  isUsageOfAny,
  ofAnyKey,
  organizationOf,
  usageNumbers,
} from "./environments.ts";
import { numberOf, seriesFilter, type UsageFilter } from "./usage_sums.ts";

/** Finds the key that makes the ids of records opaque: 96 bits in hexadecimal, the same on every server. */
export async function findRecordIdKey(database: DatabaseReader): Promise<string> {
  const row = await database.readFirst<{ key: string }>(sql`SELECT key FROM record_id_key`);
  if (row === undefined) throw new Error("the database has no key for the ids of records");
  return row.key;
}

export interface OrganizationUsageRecord extends StoredUsageRecord {
  readonly organizationId: string;
}

export interface ListedUsageRecordRow extends StoredUsageRecord {
  readonly series: number;
  /** The name of the key, and the id of the user who created it; null for a record without a key. */
  readonly apiKeyName: string | null;
  readonly apiKeyCreatedBy: string | null;
  readonly voidedByName: string | null;
}

/** A position in the order of lists: by timestamp, then by series, then by order of recording; all descending. */
export interface UsageRecordPosition {
  readonly timestamp: number;
  readonly series: number;
  readonly seq: number;
}

/** Records that count, or voided ones. */
export type UsageRecordStatus = "counted" | "voided";

/** Selects records of an organization from a position on and before another one. */
export interface UsageRecordScan {
  readonly organizationId: string;
  readonly from: UsageRecordPosition;
  readonly before: UsageRecordPosition;
  readonly status?: UsageRecordStatus | undefined;
  /** Only the environment and the API keys matter to the order of the scan. */
  readonly filter: UsageFilter;
  /** Reads the oldest first, instead of the newest. */
  readonly isUpward?: boolean | undefined;
}

/** The columns of {@linkcode StoredUsageRecord} of a record `r`, with {@linkcode recordJoins}. */
export const recordColumns = sql`r.seq, s.product_slug AS productSlug, s.metric, k.id AS apiKeyId,
  ${environmentOf(sql`s.organization`)} AS environment, r.timestamp,
  r.recorded_at AS recordedAt, r.quantity_whole AS whole, r.quantity_micro AS micro,
  r.idempotency_key AS idempotencyKey, r.properties, v.voided_at AS voidedAt, v.voided_by AS voidedBy,
  v.reason AS voidReason`;
/** The series, key and void of a record `r`. */
export const recordJoins =
  sql`JOIN usage_series s ON s.id = r.series LEFT JOIN api_keys k ON k.number = s.api_key
  LEFT JOIN usage_voids v ON v.seq = r.seq`;
/** The further columns of a {@linkcode ListedUsageRecordRow}, with {@linkcode listedJoins}. */
const listedColumns =
  sql`r.series, k.name AS apiKeyName, k.created_by AS apiKeyCreatedBy, vk.name AS voidedByName,
  ${recordColumns}`;
const listedJoins = sql`${recordJoins} LEFT JOIN api_keys vk ON vk.id = v.voided_by`;

/** Selects the positions of the records in a scan, in its order. */
export function positionsIn(scan: UsageRecordScan, condition: Statement = sql``): Statement {
  const { status } = scan;
  const counted = sql`AND NOT EXISTS (SELECT 1 FROM usage_voids v WHERE v.seq = n.seq)`;
  const numbers = usageNumbers(numberOf(scan.organizationId), scan.filter);
  const ranges = numbers.flatMap((number) =>
    rangesOf(scan).map((range) =>
      sql`SELECT n.timestamp, n.series, n.seq FROM ${
        status === "voided" ? sql`usage_voids` : sql`usage_records`
      } n
      WHERE n.organization = ${number} AND ${range} ${condition}
        ${status === "counted" ? counted : sql``}`
    )
  );
  const order = orderOf(scan);
  return sql`${joinSql(ranges, " UNION ALL ")} ORDER BY timestamp ${order}, series ${order}, seq ${order}`;
}

const orderOf = ({ isUpward = false }: UsageRecordScan) => isUpward ? sql`ASC` : sql`DESC`;

/**
 * Very many records may have one timestamp, and SQLite compares rows of several values one record at a time. So a scan is
 * made of ranges, each of which an index finds.
 */
function rangesOf({ from, before }: UsageRecordScan): Statement[] {
  const { timestamp } = before;
  if (from.timestamp < timestamp) {
    return [
      sql`n.timestamp = ${timestamp} AND n.series = ${before.series} AND n.seq < ${before.seq}`,
      sql`n.timestamp = ${timestamp} AND n.series < ${before.series}`,
      sql`n.timestamp < ${timestamp} AND n.timestamp > ${from.timestamp}`,
      sql`n.timestamp = ${from.timestamp} AND n.series > ${from.series}`,
      sql`n.timestamp = ${from.timestamp} AND n.series = ${from.series} AND n.seq >= ${from.seq}`,
    ];
  }
  if (from.timestamp > timestamp || from.series > before.series) return [sql`false`];
  if (from.series === before.series) {
    return [sql`n.timestamp = ${timestamp} AND n.series = ${before.series}
      AND n.seq < ${before.seq} AND n.seq >= ${from.seq}`];
  }
  return [
    sql`n.timestamp = ${timestamp} AND n.series = ${before.series} AND n.seq < ${before.seq}`,
    sql`n.timestamp = ${timestamp} AND n.series < ${before.series} AND n.series > ${from.series}`,
    sql`n.timestamp = ${timestamp} AND n.series = ${from.series} AND n.seq >= ${from.seq}`,
  ];
}

/** Returns the first `limit` records that match. With a filter, {@linkcode endOfScan} bounds the work. */
export function scanUsageRecords(
  database: DatabaseReader,
  scan: UsageRecordScan & { readonly limit: number },
): Promise<ListedUsageRecordRow[]> {
  const filter = seriesFilter(scan.filter);
  // The plus sign makes SQLite use the index for the order of the list.
  const ofSeries = filter.sql === "" ? sql`` : sql`AND +n.series IN (
    SELECT s.id FROM usage_series s
    WHERE ${isUsageOf(sql`s.organization`, numberOf(scan.organizationId), scan.filter)} ${filter})`;
  const values = Object.entries(scan.filter.properties ?? {}).map(([name, list]) =>
    sql`coalesce(p.properties ->> ${name}, ${noneValue}) IN (SELECT value FROM json_each(${
      JSON.stringify(list)
    }))`
  );
  const matches = values.length === 0
    ? ofSeries
    : sql`${ofSeries} AND EXISTS (SELECT 1 FROM usage_records p WHERE p.seq = n.seq AND ${
      joinSql(values, " AND ")
    })`;
  const order = orderOf(scan);
  return database.read(sql`
    SELECT ${listedColumns}
    FROM (${positionsIn(scan, matches)} LIMIT ${scan.limit}) n
    CROSS JOIN usage_records r ON r.seq = n.seq ${listedJoins}
    ORDER BY n.timestamp ${order}, n.series ${order}, n.seq ${order}`);
}

/**
 * @param scan `from` and `to`: bounds of the timestamp; `to` is not included. `after` and `before`:
 *   bounds of the `seq`, not included, which bound the work.
 * @returns The newest `limit` records of all organizations that match, in reverse order of recording.
 */
export function scanAllUsageRecords(
  database: DatabaseReader,
  scan: {
    readonly from: number;
    readonly to: number;
    readonly after: number;
    readonly before: number;
    readonly filter: UsageFilter;
    readonly limit: number;
  },
): Promise<(ListedUsageRecordRow & OrganizationUsageRecord)[]> {
  return database.read(sql`
    SELECT n.organizationId, ${listedColumns}
    FROM (SELECT n.seq, o.id AS organizationId FROM usage_records n CROSS JOIN usage_series s ON s.id = n.series
      CROSS JOIN organizations o ON o.number = ${organizationOf(sql`n.organization`)} AND o.deleted_at IS NULL
      WHERE n.seq > ${scan.after} AND n.seq < ${scan.before} AND n.timestamp >= ${scan.from}
        AND n.timestamp < ${scan.to} AND ${isUsageOfAny(sql`n.organization`, scan.filter)} ${
    seriesFilter(scan.filter)
  }
      ORDER BY n.seq DESC LIMIT ${scan.limit}) n
    CROSS JOIN usage_records r ON r.seq = n.seq ${listedJoins}
    ORDER BY r.seq DESC`);
}

export interface RecordOfOrganization extends OrganizationUsageRecord {
  readonly externalId: string | null;
  /** 1 if the organization is being deleted. */
  readonly isDeleted: 0 | 1;
}

/** Returns the first `limit` records of all organizations after one, in the order of recording. */
export function findUsageRecordsAfter(
  database: DatabaseReader,
  { seq, limit }: { seq: number; limit: number },
): Promise<RecordOfOrganization[]> {
  return database.read(sql`
    SELECT o.id AS organizationId, o.external_id AS externalId, o.deleted_at IS NOT NULL AS isDeleted, ${recordColumns}
    FROM (SELECT * FROM usage_records WHERE seq > ${seq} ORDER BY seq LIMIT ${limit}) r
    CROSS JOIN organizations o ON o.number = ${
    organizationOf(sql`r.organization`)
  } ${recordJoins} ORDER BY r.seq`);
}

export function findUsageRecordAfter(database: DatabaseReader, seq: number) {
  return database.readFirst<RecordReference>(sql`
    SELECT seq, recorded_at AS recordedAt FROM usage_records WHERE seq > ${seq} ORDER BY seq LIMIT 1`);
}

export async function findLastUsageRecord(database: DatabaseReader): Promise<number> {
  return (await database.readFirst<{ seq: number }>(sql`SELECT seq FROM usage_cursor`))?.seq ?? 0;
}

/** Finds the organizations that have one of the ids, or one of the keys. */
export async function findOrganizationsWith(
  database: DatabaseReader,
  by: { readonly organizationIds: readonly string[] } | { readonly apiKeyIds: readonly string[] },
): Promise<string[]> {
  const ids = "organizationIds" in by
    ? sql`SELECT value FROM json_each(${JSON.stringify(by.organizationIds)})`
    : sql`SELECT k.organization_id FROM api_keys k
      WHERE k.id IN (SELECT value FROM json_each(${JSON.stringify(by.apiKeyIds)}))`;
  const rows = await database.read<{ id: string }>(
    sql`SELECT o.id FROM organizations o WHERE o.deleted_at IS NULL AND o.id IN (${ids})`,
  );
  return rows.map(({ id }) => id);
}

/** Finds the position of the last of the first `recordsMax` records in a scan, if there are that many. */
export function endOfScan(database: DatabaseReader, scan: UsageRecordScan & { readonly recordsMax: number }) {
  return database.readFirst<UsageRecordPosition>(
    sql`${positionsIn(scan)} LIMIT 1 OFFSET ${scan.recordsMax - 1}`,
  );
}

/** Finds the record with an idempotency key, by its own `hash`, if it matches. `to` is not included. */
export function findUsageRecordsByKey(
  database: DatabaseReader,
  query: {
    readonly organizationId: string;
    readonly idempotencyKey: string;
    readonly hash: number;
    readonly from: number;
    readonly to: number;
    readonly filter: UsageFilter;
  },
): Promise<ListedUsageRecordRow[]> {
  const found = seqsOfKeys(query.filter, {
    columns: sql`q.organization, q.idempotency_key, k.seq`,
    given: sql`${query.idempotencyKey} AS idempotency_key`,
    hash: sql`${query.hash}`,
    from: sql`organizations o WHERE o.id = ${query.organizationId}`,
  });
  return database.read(sql`
    SELECT ${listedColumns}
    FROM (${found}) q
    CROSS JOIN usage_records r ON r.seq = q.seq AND r.organization = q.organization
      AND r.idempotency_key = q.idempotency_key ${listedJoins}
    WHERE r.timestamp >= ${query.from} AND r.timestamp < ${query.to} ${seriesFilter(query.filter)}`);
}

/** Looks up idempotency keys, each with its own hash, of organizations `o`. */
function seqsOfKeys(
  filter: UsageFilter,
  { columns, given, hash, from }: Record<"columns" | "given" | "hash" | "from", Statement>,
): Statement {
  const found = usageNumbers(sql`o.number`, filter).map((number) => {
    // Bound numbers reach SQLite as floating-point, which cannot hold the hash in the index.
    const hashed = sql`(SELECT CAST(${number} AS INTEGER) AS organization, ${given},
      ${indexHash(sql`CAST(${hash} AS INTEGER)`, number)} AS hash FROM ${from})`;
    return lookUpIdempotencyKeys(columns, hashed);
  });
  return joinSql(found, " UNION ALL ");
}

/** Finds times of records of any environment by their idempotency keys. Returns them by the position of the keys, which several may share. */
export async function findTimesByKey(
  database: DatabaseReader,
  keys: readonly {
    readonly position: number;
    readonly organizationId: string;
    readonly idempotencyKey: string;
  }[],
): Promise<ReadonlyMap<number, number>> {
  const list = JSON.stringify(
    keys.map((
      { position, organizationId, idempotencyKey: key },
    ) => [position, organizationId, key, idempotencyKeyHash(key)]),
  );
  const found = seqsOfKeys(ofAnyKey, {
    columns: sql`q.position, q.organization, q.idempotency_key, k.seq`,
    given: sql`e.value ->> 0 AS position, e.value ->> 2 AS idempotency_key`,
    hash: sql`e.value ->> 3`,
    from: sql`json_each(${list}) e CROSS JOIN organizations o ON o.id = e.value ->> 1`,
  });
  const rows = await database.read<{ position: number; timestamp: number }>(sql`
    SELECT q.position, r.timestamp FROM (${found}) q CROSS JOIN usage_records r ON r.seq = q.seq
      AND r.organization = q.organization AND r.idempotency_key = q.idempotency_key`);
  return new Map(rows.map(({ position, timestamp }) => [position, timestamp]));
}

/** A record by the parts of its id. */
interface UsageRecordKey extends RecordReference {
  /** Only a record of this organization. */
  readonly organizationId?: string | undefined;
}

/** The record `r` and its organization `o`. */
const recordWith = ({ organizationId, seq, recordedAt }: UsageRecordKey) =>
  sql`usage_records r JOIN organizations o ON o.number = ${
    organizationOf(sql`r.organization`)
  } AND o.deleted_at IS NULL
    ${organizationId === undefined ? sql`` : sql`AND o.id = ${organizationId}`}
    WHERE r.seq = ${seq} AND r.recorded_at = ${recordedAt}`;

/** Finds a record, unless it is not in the organization. */
export function findUsageRecord(database: DatabaseReader, key: UsageRecordKey) {
  return database.readFirst<OrganizationUsageRecord & ListedUsageRecordRow>(sql`
    SELECT ${listedColumns}, r.organizationId
    FROM (SELECT r.*, o.id AS organizationId FROM ${recordWith(key)}) AS r ${listedJoins}`);
}

/** Finds a record's position in lists, unless it is not in the organization. */
export function findUsageRecordPosition(database: DatabaseReader, key: UsageRecordKey) {
  return database.readFirst<UsageRecordPosition>(
    sql`SELECT r.timestamp, r.series, r.seq FROM ${recordWith(key)}`,
  );
}

type UsageOfOrganization = Pick<UsageRecordScan, "organizationId" | "filter">;

/** Returns the end of the last 15 minutes that begin before `before` and have a match, so that a scan can skip the rest. */
export async function lastUsageBefore(
  database: DatabaseReader,
  { before, ...query }: UsageOfOrganization & { before: number },
): Promise<number | null> {
  const isInRange = sql`r.quarter < ${Math.ceil(before / rollupQuarterMs)}`;
  const quarter = await findQuarter(database, query, { extreme: sql`max`, isInRange });
  return quarter === null ? null : (quarter + 1) * rollupQuarterMs;
}

/** Returns the start of the first 15 minutes that end after `from` and have a matching record, or null. */
export async function firstUsageFrom(
  database: DatabaseReader,
  { from, ...query }: UsageOfOrganization & { from: number },
): Promise<number | null> {
  const isInRange = sql`r.quarter >= ${Math.floor(from / rollupQuarterMs)}`;
  const quarter = await findQuarter(database, query, { extreme: sql`min`, isInRange });
  return quarter === null ? null : quarter * rollupQuarterMs;
}

async function findQuarter(
  database: DatabaseReader,
  { organizationId, filter }: UsageOfOrganization,
  { extreme, isInRange }: Record<"extreme" | "isInRange", Statement>,
): Promise<number | null> {
  const row = await database.readFirst<{ quarter: number | null }>(sql`
    SELECT ${extreme}((SELECT ${extreme}(r.quarter) FROM usage_rollups r
      WHERE r.series = s.id AND ${isInRange})) AS quarter
    FROM usage_series s
    WHERE ${isUsageOf(sql`s.organization`, numberOf(organizationId), filter)} ${seriesFilter(filter)}`);
  return row?.quarter ?? null;
}

export async function findOldestRecordedAt(database: DatabaseReader): Promise<number | undefined> {
  const row = await database.readFirst<{ recordedAt: number }>(
    sql`SELECT recorded_at AS recordedAt FROM usage_records ORDER BY seq LIMIT 1`,
  );
  return row?.recordedAt;
}

/** Deletes the oldest records with their voids, and returns how many. Rollups stay. */
export async function deleteOldestUsageRecords(
  database: Database,
  { before, limit }: { before: number; limit: number },
): Promise<number> {
  const old =
    sql`(SELECT f.seq FROM (SELECT seq, recorded_at FROM usage_records ORDER BY seq LIMIT ${limit}) f
    WHERE f.recorded_at < ${before})`;
  const results = await database.write([
    ...cleanIdempotencyKeys(limit),
    sql`DELETE FROM usage_voids WHERE seq IN ${old}`,
    sql`DELETE FROM usage_records WHERE seq IN ${old}`,
  ]);
  return results.at(-1)?.changes ?? 0;
}
