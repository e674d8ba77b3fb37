// All SQL of usage: recording a group of requests in one transaction, and adding up rollups.
import { lowBits } from "../domain/quantity.ts";
import { rollupQuarterMs } from "../domain/limits.ts";
import type { UsageWindow } from "../domain/usage_window.ts";
import { type Database, sql, type Statement, type WriteResult } from "./database.ts";

/** A key works: not revoked, not expired at the parameter. */
const activeKey = "k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?)";
/** A key's last use is written at most this often, in milliseconds. */
const lastUsedIntervalMs = 60_000;

/** One record of a group. Times in milliseconds since 1970. */
export interface GroupRecord {
  /** Place in {@linkcode RecordGroup.series}. */
  readonly series: number;
  /** 32 hexadecimal digits. */
  readonly idHex: string;
  readonly timestamp: number;
  /** The caller gave the timestamp; a repeat must then give the same. */
  readonly timestampGiven: boolean;
  readonly whole: number;
  readonly micro: number;
  readonly idempotencyKey: string | null;
  readonly properties: string | null;
  /** Number of the request; all records of one request are kept, or none. */
  readonly request: number;
}

/** What is recorded together. No idempotency key may occur twice in it. */
export interface RecordGroup {
  readonly now: number;
  /** Hashes of the API keys that were shown, each once. */
  readonly keyHashes: readonly string[];
  /** Key hash, product and metric of each series, each once. */
  readonly series: readonly (readonly [keyHash: string, productSlug: string, metric: string])[];
  readonly records: readonly GroupRecord[];
  /** Some request has several records, so that one conflict must keep out others. */
  readonly hasBatches: boolean;
}

/** A key that was shown and works. */
export interface ActiveKey {
  /** Place in {@linkcode RecordGroup.keyHashes}. */
  readonly position: number;
  readonly id: string;
}

/** A record of the group whose idempotency key is taken. */
export interface TakenRecord {
  /** Place in {@linkcode RecordGroup.records}. */
  readonly position: number;
  /** 1 when the content is another one. */
  readonly differs: 0 | 1;
  readonly idHex: string;
  readonly productSlug: string;
  readonly metric: string;
  readonly apiKeyId: string;
  readonly timestamp: number;
  readonly recordedAt: number;
  readonly whole: number;
  readonly micro: number;
  readonly idempotencyKey: string;
  readonly properties: string | null;
}

/** What became of a group. */
export interface RecordOutcome {
  readonly activeKeys: readonly ActiveKey[];
  readonly taken: readonly TakenRecord[];
  /** How many records were inserted. */
  readonly inserted: number;
}

// e.value of the records' JSON: [series, idHex, timestamp, timestampGiven, whole, micro, idempotencyKey, properties, request]
const takenFrom = `
  FROM json_each(?) e
  JOIN series s ON s.position = e.value ->> 0
  JOIN usage_records r ON r.organization = s.organization AND r.idempotency_key = e.value ->> 6
  JOIN usage_series rs ON rs.id = r.series`;
const takenDiffers = `(rs.product_slug <> s.product_slug OR rs.metric <> s.metric
    OR r.quantity_whole <> e.value ->> 4 OR r.quantity_micro <> e.value ->> 5
    OR r.properties IS NOT e.value ->> 7
    OR r.timestamp <> iif(e.value ->> 3, e.value ->> 2, r.recorded_at))`;
const seriesOfGroup = `series AS MATERIALIZED (
    SELECT e.key AS position, us.id, us.organization, us.product_slug, us.metric
    FROM json_each(?) e
    JOIN api_keys k ON k.key_hash = e.value ->> 0 AND ${activeKey}
    JOIN organizations o ON o.id = k.organization_id
    JOIN usage_series us ON us.organization = o.number AND us.product_slug = e.value ->> 1
      AND us.metric = e.value ->> 2 AND us.api_key = k.number
  )`;
const insertHead = `
  INSERT INTO usage_records (seq, id, organization, series, timestamp, recorded_at, quantity_whole, quantity_micro,
    idempotency_key, properties)
  SELECT c.seq + e.key + 1, unhex(e.value ->> 1), s.organization, s.id, e.value ->> 2, ?, e.value ->> 4, e.value ->> 5,
    e.value ->> 6, e.value ->> 7
  FROM json_each(?) e
  JOIN series s ON s.position = e.value ->> 0
  JOIN usage_cursor c ON c.only_row = 1`;
const insertTail = `
  ON CONFLICT (organization, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING`;
const insertRecords = `WITH ${seriesOfGroup} ${insertHead} WHERE true ${insertTail}`;
const insertRecordsWithoutConflicts = `
  WITH ${seriesOfGroup},
  conflicts AS MATERIALIZED (SELECT DISTINCT e.value ->> 8 AS request ${takenFrom} WHERE ${takenDiffers})
  ${insertHead} WHERE e.value ->> 8 NOT IN (SELECT request FROM conflicts) ${insertTail}`;

/**
 * Writes one group of requests as one batch: authentication, records and rollups are one transaction, so a key that
 * was revoked before it is refused by it.
 *
 * @returns What became of each.
 * @throws {DatabaseError}
 */
export async function recordUsage(database: Database, group: RecordGroup): Promise<RecordOutcome> {
  const { now } = group;
  const series = JSON.stringify(group.series);
  const rows = group.records.map((r) => [
    r.series,
    r.idHex,
    r.timestamp,
    r.timestampGiven ? 1 : 0,
    r.whole,
    r.micro,
    r.idempotencyKey,
    r.properties,
    r.request,
  ]);
  const records = JSON.stringify(rows);
  const keyHashes = JSON.stringify(group.keyHashes);
  const batch: Statement[] = [sql(
    `SELECT e.key AS position, k.id FROM json_each(?) e JOIN api_keys k ON k.key_hash = e.value WHERE ${activeKey}`,
    keyHashes,
    now,
  )];
  let takenAt = -1;
  let insertedAt = -1;
  if (rows.length > 0) {
    batch.push(sql(
      `INSERT INTO usage_series (organization, product_slug, metric, api_key)
       SELECT o.number, e.value ->> 1, e.value ->> 2, k.number FROM json_each(?) e
       JOIN api_keys k ON k.key_hash = e.value ->> 0 AND ${activeKey}
       JOIN organizations o ON o.id = k.organization_id
       WHERE true ON CONFLICT DO NOTHING`,
      series,
      now,
    ));
    const hasIdempotency = group.records.some((record) => record.idempotencyKey !== null);
    if (hasIdempotency) takenAt = batch.push(takenStatement(series, records, now)) - 1;
    insertedAt = batch.push(
      hasIdempotency && group.hasBatches
        ? sql(insertRecordsWithoutConflicts, series, now, records, now, records)
        : sql(insertRecords, series, now, now, records),
    ) - 1;
    batch.push(
      rollUp,
      // Nothing recorded, nothing written: a refused key must not cost a commit.
      sql(
        `UPDATE usage_cursor SET seq = seq + ? WHERE only_row = 1
         AND EXISTS (SELECT 1 FROM usage_records r WHERE r.seq > usage_cursor.seq)`,
        rows.length,
      ),
      sql(
        `UPDATE api_keys AS k SET last_used_at = ?
         WHERE k.key_hash IN (SELECT value FROM json_each(?)) AND ${activeKey}
           AND (k.last_used_at IS NULL OR k.last_used_at <= ?)`,
        now,
        keyHashes,
        now,
        now - lastUsedIntervalMs,
      ),
    );
  }
  const results = await database.write(batch);
  return {
    activeKeys: rowsOf<ActiveKey>(results, 0),
    taken: rowsOf<TakenRecord>(results, takenAt),
    inserted: results[insertedAt]?.changes ?? 0,
  };
}

function takenStatement(series: string, records: string, now: number): Statement {
  return sql(
    `WITH ${seriesOfGroup}
     SELECT e.key AS position, ${takenDiffers} AS differs, lower(hex(r.id)) AS idHex, rs.product_slug AS productSlug,
       rs.metric, k.id AS apiKeyId, r.timestamp, r.recorded_at AS recordedAt, r.quantity_whole AS whole,
       r.quantity_micro AS micro, r.idempotency_key AS idempotencyKey, r.properties
     ${takenFrom}
     JOIN api_keys k ON k.number = rs.api_key`,
    series,
    now,
    records,
  );
}

const rollUp: Statement = sql(
  `INSERT INTO usage_rollups (series, quarter, count, sum_high, sum_low, sum_micro, smallest, largest)
   SELECT series, timestamp / ${rollupQuarterMs}, count(*), sum(quantity_whole >> ${lowBits}),
     sum(quantity_whole & ${2 ** lowBits - 1}), sum(quantity_micro),
     min(format('%016d%06d', quantity_whole, quantity_micro)), max(format('%016d%06d', quantity_whole, quantity_micro))
   FROM usage_records WHERE seq > (SELECT seq FROM usage_cursor)
   GROUP BY 1, 2
   ON CONFLICT (series, quarter) DO UPDATE SET
     count = count + excluded.count, sum_high = sum_high + excluded.sum_high, sum_low = sum_low + excluded.sum_low,
     sum_micro = sum_micro + excluded.sum_micro, smallest = min(smallest, excluded.smallest),
     largest = max(largest, excluded.largest)`,
);

function rowsOf<T>(results: readonly WriteResult[], index: number): T[] {
  return (results[index]?.rows ?? []) as unknown as T[];
}

/** What a usage query can be grouped by. */
export const usageGroups = ["productSlug", "metric", "apiKey"] as const;

/** One of {@linkcode usageGroups}. */
export type UsageGroup = (typeof usageGroups)[number];

/** Which usage to add up, of one organization. */
export interface UsageQuery {
  readonly organizationId: string;
  readonly windows: readonly UsageWindow[];
  readonly groupBy: readonly UsageGroup[];
  readonly productSlug?: string | undefined;
  readonly metric?: string | undefined;
  readonly apiKeyId?: string | undefined;
}

/** Sums of one window and group, in parts as texts; see `domain/quantity.ts`. */
export interface UsageSumRow {
  readonly position: number;
  readonly productSlug?: string;
  readonly metric?: string;
  readonly apiKey?: string;
  readonly count: number;
  readonly high: string;
  readonly low: string;
  readonly micro: string;
  readonly smallest: string;
  readonly largest: string;
}

const groupColumns: Readonly<Record<UsageGroup, string>> = {
  productSlug: "s.product_slug",
  metric: "s.metric",
  apiKey: "k.id",
};

/**
 * Adds up rollups by window and group; never reads a record.
 *
 * @returns One row for each window and group that has records, by window.
 * @throws {DatabaseError}
 */
export function sumUsage(database: Database, query: UsageQuery): Promise<UsageSumRow[]> {
  const groups = query.groupBy.map((group) => `${groupColumns[group]} AS ${group}, `).join("");
  const windows = query.windows.map(({ start, end }) => [
    Math.ceil(start / rollupQuarterMs),
    Math.ceil(end / rollupQuarterMs),
  ]);
  const { texts, values } = filtersOf(query);
  return database.read<UsageSumRow>(sql(
    `WITH w AS MATERIALIZED (
       SELECT key AS position, value ->> 0 AS first, value ->> 1 AS after FROM json_each(?)
     )
     SELECT w.position, ${groups} sum(r.count) AS count, CAST(sum(r.sum_high) AS TEXT) AS high,
       CAST(sum(r.sum_low) AS TEXT) AS low, CAST(sum(r.sum_micro) AS TEXT) AS micro,
       min(r.smallest) AS smallest, max(r.largest) AS largest
     FROM usage_series s
     JOIN api_keys k ON k.number = s.api_key
     CROSS JOIN w
     CROSS JOIN usage_rollups r ON r.series = s.id AND r.quarter >= w.first AND r.quarter < w.after
     WHERE s.organization = (SELECT number FROM organizations WHERE id = ?)
       ${texts}
     GROUP BY w.position${query.groupBy.map((group) => `, ${groupColumns[group]}`).join("")}
     ORDER BY w.position${query.groupBy.map((group) => `, ${groupColumns[group]}`).join("")}`,
    JSON.stringify(windows),
    query.organizationId,
    ...values,
  ));
}

/** @returns How many series a query would add up. @throws {DatabaseError} */
export async function countUsageSeries(
  database: Database,
  query: Omit<UsageQuery, "windows" | "groupBy">,
): Promise<number> {
  const { texts, values } = filtersOf(query);
  const row = await database.readFirst<{ count: number }>(sql(
    `SELECT count(*) AS count FROM usage_series s JOIN api_keys k ON k.number = s.api_key
     WHERE s.organization = (SELECT number FROM organizations WHERE id = ?) ${texts}`,
    query.organizationId,
    ...values,
  ));
  return row?.count ?? 0;
}

function filtersOf(
  query: Pick<UsageQuery, "productSlug" | "metric" | "apiKeyId">,
): { texts: string; values: string[] } {
  const texts: string[] = [];
  const values: string[] = [];
  const add = (value: string | undefined, text: string) => {
    if (value === undefined) return;
    texts.push(text);
    values.push(value);
  };
  add(query.productSlug, "AND s.product_slug = ?");
  add(query.metric, "AND s.metric = ?");
  add(query.apiKeyId, "AND k.id = ?");
  return { texts: texts.join(" "), values };
}

/** A product, metric and key that an organization recorded with. */
export interface UsageSeriesRow {
  readonly productSlug: string;
  readonly metric: string;
  readonly apiKeyId: string;
}

/** @returns Every series of an organization, by product and metric. @throws {DatabaseError} */
export function listUsageSeries(database: Database, organizationId: string): Promise<UsageSeriesRow[]> {
  return database.read(sql(
    `SELECT s.product_slug AS productSlug, s.metric, k.id AS apiKeyId
     FROM usage_series s JOIN api_keys k ON k.number = s.api_key
     WHERE s.organization = (SELECT number FROM organizations WHERE id = ?)
     ORDER BY s.product_slug, s.metric, k.id`,
    organizationId,
  ));
}

/** A record as stored, with its key's name. */
export interface UsageRecordRow {
  readonly idHex: string;
  readonly productSlug: string;
  readonly metric: string;
  readonly apiKeyName: string;
  readonly timestamp: number;
  readonly whole: number;
  readonly micro: number;
}

/** @returns The records of an organization with the latest timestamps, newest first. @throws {DatabaseError} */
export function listLatestUsageRecords(
  database: Database,
  options: { organizationId: string; limit: number },
): Promise<UsageRecordRow[]> {
  return database.read(sql(
    `SELECT lower(hex(r.id)) AS idHex, s.product_slug AS productSlug, s.metric, k.name AS apiKeyName, r.timestamp,
       r.quantity_whole AS whole, r.quantity_micro AS micro
     FROM usage_records r JOIN usage_series s ON s.id = r.series JOIN api_keys k ON k.number = s.api_key
     WHERE r.organization = (SELECT number FROM organizations WHERE id = ?)
     ORDER BY r.timestamp DESC, r.seq DESC LIMIT ?`,
    options.organizationId,
    options.limit,
  ));
}
