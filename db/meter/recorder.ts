// The SQL of the recorder: one group of requests in one transaction, with a fixed number of statements. Authentication,
// records, their keys and the rollups are one transaction, so a key that was revoked before it is rejected by it.
import { apiKeyUsedIntervalMs, rollupHourMs, rollupQuarterMs } from "../../domain/limits.ts";
import { lowBits, millionthsWholeMax, type Quantity } from "../../domain/meter/quantity.ts";
import { idempotencyKeyHash, type StoredUsageRecord } from "../../domain/meter/usage_record.ts";
import { activeApiKey } from "../api_keys.ts";
import { bind, type Database, integer, sql, type Statement, type WriteResult } from "../engine/database.ts";
import { hasRecorded, indexHash, lookUpKeys, movedPositions, moveKeys } from "./idempotency_keys.ts";

/** One record of a group. */
export interface GroupRecord {
  /** Index in {@linkcode RecordGroup.series}. */
  readonly series: number;
  /** Number of the request, whose records are all inserted or none. */
  readonly request: number;
  /** Milliseconds since 1970, which a repeat must have too; null for the time of recording. */
  readonly timestamp: number | null;
  readonly quantity: Quantity;
  readonly idempotencyKey: string | null;
  /** See `propertiesText`. */
  readonly properties: string | null;
}

/** What is recorded together. No idempotency key of an organization may occur twice in it. */
export interface RecordGroup {
  readonly now: number;
  /** Distinct hashes of the API keys. */
  readonly keyHashes: readonly string[];
  /** Key hash, product and metric of each distinct series. */
  readonly series: readonly (readonly [keyHash: string, productSlug: string, metric: string])[];
  /** See {@linkcode RecordEncoder}. */
  readonly records: readonly string[];
  /** How many of the records have an idempotency key. */
  readonly keys: number;
  /** How many series an organization may have. */
  readonly seriesMax: number;
}

/** An earlier record with the idempotency key of one of the group. */
export interface ExistingRecord extends StoredUsageRecord {
  /** Index in {@linkcode RecordGroup.records}. */
  readonly position: number;
  /** 1 when the content differs. */
  readonly differs: 0 | 1;
}

/** A new series of an organization that doesn't have room for all of its new series in the group. */
export interface LimitedSeries {
  /** Index in {@linkcode RecordGroup.series}. The organization's first ones are created while there is room. */
  readonly position: number;
  /** The organization's number. */
  readonly organization: number;
  /** How many more series it may have. */
  readonly room: number;
}

/** The outcome of a group. */
export interface RecordOutcome {
  /** Keys that work. `position`: index in {@linkcode RecordGroup.keyHashes}. */
  readonly activeKeys: readonly { readonly position: number; readonly id: string }[];
  readonly existing: readonly ExistingRecord[];
  /** By position. A request that needs a series that was not created is not recorded. */
  readonly limited: readonly LimitedSeries[];
  /** How many records were inserted. */
  readonly inserted: number;
  /** The `seq` of a record is this plus its index in the group. */
  readonly firstSeq: number;
}

/**
 * Each record is sent as one text of fixed-width fields, decimal numbers from 0, then the idempotency key and the properties:
 * SQLite reads a field of a text in a third of the time that an element of a JSON array takes.
 */
const fieldWidths = {
  series: 5,
  request: 5,
  isTimestampGiven: 1,
  timestamp: 14,
  whole: 16,
  micro: 6,
  keyHash: 15,
  keyLength: 3,
} as const;

/** Where the field after the fixed ones begins, counted from 1. */
let nextField = 1;
/** Reads a field of the record `e.value`. */
const field = Object.fromEntries(
  Object.entries(fieldWidths).map(([name, width]) => {
    const start = nextField;
    nextField += width;
    return [name, sql`CAST(substr(e.value, ${integer(start)}, ${integer(width)}) AS INTEGER)`];
  }),
) as Record<keyof typeof fieldWidths, Statement>;
const keyOfRecord = sql`substr(e.value, ${integer(nextField)}, ${field.keyLength})`;
const propertiesOfRecord = sql`nullif(substr(e.value, ${integer(nextField)} + ${field.keyLength}), '')`;

/** Encodes the records of one group. What many of them share is formatted once. */
export class RecordEncoder {
  readonly #nowField: string;
  /** Indexes of series and requests. */
  readonly #indexFields: string[] = [];

  /** @param now Milliseconds since 1970. */
  constructor(now: number) {
    this.#nowField = "0" + digits(now, fieldWidths.timestamp);
  }

  /** @returns A record as it is sent to the database. */
  encode(record: GroupRecord): string {
    const { timestamp, idempotencyKey, quantity: { whole, micro } } = record;
    return this.#indexField(record.series) + this.#indexField(record.request) +
      (timestamp === null ? this.#nowField : "1" + digits(timestamp, fieldWidths.timestamp)) +
      digits(whole, fieldWidths.whole) + (micro === 0 ? noMicro : digits(micro, fieldWidths.micro)) +
      (idempotencyKey === null ? noKey : keyFields(idempotencyKey)) + (record.properties ?? "");
  }

  #indexField(index: number): string {
    return this.#indexFields[index] ??= digits(index, fieldWidths.series);
  }
}

function keyFields(key: string): string {
  return digits(idempotencyKeyHash(key), fieldWidths.keyHash) + digits(key.length, fieldWidths.keyLength) +
    key;
}

/** @returns The index of an encoded record's series. */
export function seriesOf(record: string | undefined): number {
  return Number(record?.slice(0, fieldWidths.series));
}

const zeros = "0".repeat(20);
const noMicro = digits(0, fieldWidths.micro);
const noKey = digits(0, fieldWidths.keyHash + fieldWidths.keyLength);

/** Pads with zeros, several times as fast as `padStart()`. */
function digits(value: number, width: number): string {
  const text = String(value);
  return zeros.slice(text.length, width) + text;
}

// The statements' texts are built once. In all of them ?1 is the records, ?2 the series and ?3 the time.
const isActive = activeApiKey(sql`?3`);
const series = sql`series AS MATERIALIZED (
    SELECT CAST(e.key AS INTEGER) AS position, us.id, us.organization, us.product_slug, us.metric
    FROM json_each(?2) e
    JOIN api_keys k ON k.key_hash = e.value ->> 0 AND ${isActive}
    JOIN organizations o ON o.id = k.organization_id
    JOIN usage_series us ON us.organization = o.number AND us.product_slug = e.value ->> 1
      AND us.metric = e.value ->> 2 AND us.api_key = k.number
  )`;
/** Every key works, and no limit was reached. */
const hasAllSeries = sql`(SELECT count(*) FROM series) = json_array_length(?2)`;
/** Requests that need a series that doesn't exist: none of their records is inserted. */
const blocked = sql`blocked AS MATERIALIZED (
    SELECT DISTINCT ${field.request} AS request FROM json_each(?1) e
    WHERE NOT ${hasAllSeries} AND ${field.series} NOT IN (SELECT position FROM series)
  )`;
/** The hashes of the group's keys, in order: neighbors in the index are looked up one after the other. */
const keyed = (condition: Statement) =>
  sql`keyed AS MATERIALIZED (
    SELECT ${indexHash(field.keyHash, sql`s.organization`)} AS hash, e.key AS position
    FROM json_each(?1) e CROSS JOIN series s ON s.position = ${field.series}
    WHERE ${field.keyLength} > 0 AND ${condition} ORDER BY 1
  )`;
const differs = sql`(rs.product_slug <> s.product_slug OR rs.metric <> s.metric
    OR r.quantity_whole <> ${field.whole} OR r.quantity_micro <> ${field.micro}
    OR r.properties IS NOT ${propertiesOfRecord}
    OR r.timestamp <> iif(${field.isTimestampGiven}, ${field.timestamp}, r.recorded_at))`;
/** Earlier records with the same key. The group is read again only for these few. */
const existing = sql`matches AS MATERIALIZED (${lookUpKeys(sql`q.position, k.seq`, sql`keyed`)}),
  existing AS MATERIALIZED (
    SELECT r.*, m.position, ${field.request} AS request, ${differs} AS differs,
      rs.product_slug AS first_product_slug, rs.metric AS first_metric, rs.api_key
    FROM json_each(?1) e CROSS JOIN matches m ON m.position = e.key
    CROSS JOIN series s ON s.position = ${field.series}
    CROSS JOIN usage_records r ON r.seq = m.seq AND r.organization = s.organization
      AND r.idempotency_key = ${keyOfRecord}
    CROSS JOIN usage_series rs ON rs.id = r.series
    WHERE EXISTS (SELECT 1 FROM matches)
  )`;
const insertRecords = (parts: { with: Statement; key: Statement; condition: Statement }) =>
  sql`WITH ${series}, ${blocked}${parts.with}
  INSERT INTO usage_records (seq, organization, series, timestamp, recorded_at, quantity_whole, quantity_micro,
    idempotency_key, properties)
  SELECT c.seq + e.key + 1, s.organization, s.id, ${field.timestamp}, ?3, ${field.whole}, ${field.micro},
    ${parts.key}, ${propertiesOfRecord}
  FROM json_each(?1) e CROSS JOIN series s ON s.position = ${field.series}
  CROSS JOIN usage_cursor c ON c.only_row = 1
  WHERE (${hasAllSeries} OR ${field.request} NOT IN (SELECT request FROM blocked)) ${parts.condition}`;
const insertWithoutKeys = insertRecords({ with: sql``, key: sql`NULL`, condition: sql`` });
const insertWithKeys = insertRecords({
  with: sql`, ${keyed(sql`true`)}, ${existing}`,
  key: sql`nullif(${keyOfRecord}, '')`,
  condition: sql`AND e.key NOT IN (SELECT position FROM existing)
    AND ${field.request} NOT IN (SELECT request FROM existing WHERE differs)`,
});
const insertKeys = sql`WITH ${series}
  INSERT INTO usage_keys_recent (hash, seq)
  SELECT ${indexHash(field.keyHash, sql`s.organization`)}, r.seq
  FROM json_each(?1) e CROSS JOIN series s ON s.position = ${field.series}
  CROSS JOIN usage_cursor c ON c.only_row = 1 CROSS JOIN usage_records r ON r.seq = c.seq + e.key + 1
  WHERE ${field.keyLength} > 0 ORDER BY 1`;
/** False when all (`?4`) records were inserted: then none of their keys existed, and nothing is looked up. */
const isAnyMissing = sql`
  (SELECT count(*) FROM usage_records n WHERE n.seq > (SELECT seq FROM usage_cursor)) < ?4`;
const selectExisting = sql`WITH ${series}, ${keyed(isAnyMissing)}, ${existing}
  SELECT json_group_array(json_object('position', h.position, 'differs', h.differs, 'seq', h.seq,
    'productSlug', h.first_product_slug, 'metric', h.first_metric, 'apiKeyId', k.id, 'timestamp', h.timestamp,
    'recordedAt', h.recorded_at, 'whole', h.quantity_whole, 'micro', h.quantity_micro,
    'idempotencyKey', h.idempotency_key, 'properties', h.properties, 'voidedAt', v.voided_at,
    'voidedBy', v.voided_by, 'voidReason', v.reason)) AS json
  FROM existing h CROSS JOIN api_keys k ON k.number = h.api_key LEFT JOIN usage_voids v ON v.seq = h.seq`;

/** The quantity of the record `r` in millionths: an integer, or a text when 64 bits cannot hold it. See `usage_rollups`. */
export const millionths = sql`iif(r.quantity_whole < ${integer(millionthsWholeMax)},
  r.quantity_whole * 1000000 + r.quantity_micro, format('%016d%06d', r.quantity_whole, r.quantity_micro))`;

const sums = sql`count, sum_high, sum_low, sum_micro, smallest, largest`;
const quarterMs = integer(rollupQuarterMs);
/** The group's own rollups, kept only until the end of the transaction: its records are read once for both lengths. */
const addGroup = sql`INSERT INTO usage_added (series, quarter, ${sums})
  SELECT r.series, r.timestamp / ${quarterMs}, count(*), sum(r.quantity_whole >> ${integer(lowBits)}),
    sum(r.quantity_whole & ${integer(2 ** lowBits - 1)}), sum(r.quantity_micro), min(${millionths}),
    max(${millionths})
  FROM usage_records r WHERE r.seq > (SELECT seq FROM usage_cursor)
  GROUP BY 1, 2`;
const addToRollups = (options: { table: Statement; unit: Statement; quarters: number }) =>
  sql`INSERT INTO ${options.table} (series, ${options.unit}, ${sums})
  SELECT series, quarter / ${integer(options.quarters)}, sum(count), sum(sum_high), sum(sum_low),
    sum(sum_micro), min(smallest), max(largest)
  FROM usage_added GROUP BY 1, 2
  ON CONFLICT (series, ${options.unit}) DO UPDATE SET
    count = count + excluded.count, sum_high = sum_high + excluded.sum_high,
    sum_low = sum_low + excluded.sum_low, sum_micro = sum_micro + excluded.sum_micro,
    smallest = iif(count = 0, excluded.smallest, min(smallest, excluded.smallest)),
    largest = iif(count = 0, excluded.largest, max(largest, excluded.largest))`;
const addUp = [
  addGroup,
  addToRollups({ table: sql`usage_rollups`, unit: sql`quarter`, quarters: 1 }),
  addToRollups({
    table: sql`usage_rollups_hourly`,
    unit: sql`hour`,
    quarters: rollupHourMs / rollupQuarterMs,
  }),
  sql`DELETE FROM usage_added`,
];

/** Series that don't exist yet; `?4` is how many an organization may have. */
const newSeries = (condition: Statement) =>
  sql`SELECT CAST(e.key AS INTEGER) AS position, o.number AS organization, e.value ->> 1 AS product_slug,
    e.value ->> 2 AS metric, k.number AS api_key, ?4 - o.series AS room
  FROM json_each(?2) e
  JOIN api_keys k ON k.key_hash = e.value ->> 0 AND ${isActive}
  JOIN organizations o ON o.id = k.organization_id
  WHERE ${condition} AND NOT EXISTS (SELECT 1 FROM usage_series us WHERE us.organization = o.number
    AND us.product_slug = e.value ->> 1 AND us.metric = e.value ->> 2 AND us.api_key = k.number)`;
/** Most organizations have room for more series than the whole group has: theirs are not looked up here. */
const selectLimited = sql`
  SELECT json_group_array(json_object('position', position, 'organization', organization, 'room', room)) AS json
  FROM (SELECT n.*, count(*) OVER (PARTITION BY organization) AS requested
    FROM (${newSeries(sql`o.series + json_array_length(?2) > ?4`)}) n)
  WHERE requested > room`;
const insertSeries = sql`INSERT INTO usage_series (organization, product_slug, metric, api_key)
  SELECT organization, product_slug, metric, api_key
  FROM (SELECT n.*, row_number() OVER (PARTITION BY organization ORDER BY position) AS rank
    FROM (${newSeries(sql`true`)}) n)
  WHERE rank <= room ORDER BY position`;
/** A rejected request leaves no series behind that never had a record. */
const deleteUnusedSeries = sql`WITH ${series}
  DELETE FROM usage_series WHERE (?4 > 0 OR NOT ${hasAllSeries}) AND id IN (SELECT id FROM series)
    AND NOT EXISTS (SELECT 1 FROM usage_rollups r WHERE r.series = usage_series.id)`;
const moveCursor = sql`UPDATE usage_cursor AS c SET seq = seq + ?1, ${movedPositions}
  WHERE only_row = 1 AND ${hasRecorded}`;

/**
 * Inserts the records of one group of requests as one batch.
 *
 * @returns The outcome of the group.
 * @throws {DatabaseError}
 */
export async function insertUsageRecords(database: Database, group: RecordGroup): Promise<RecordOutcome> {
  const { now, keys } = group;
  const keyHashes = JSON.stringify(group.keyHashes);
  const batch: Statement[] = [sql`
    SELECT json_group_array(
      json_object('position', e.key, 'id', k.id, 'seq', (SELECT seq FROM usage_cursor))) AS json
    FROM json_each(${keyHashes}) e JOIN api_keys k ON k.key_hash = e.value WHERE ${activeApiKey(now)}`];
  /** @returns The statement's position in the batch. */
  const add = (statement: Statement) => batch.push(statement) - 1;
  let [insertedAt, existingAt, limitedAt] = [-1, -1, -1];
  const count = group.records.length;
  if (count > 0) {
    const seriesAndTime = [JSON.stringify(group.series), now] as const;
    const values = [JSON.stringify(group.records), ...seriesAndTime] as const;
    limitedAt = add(bind(selectLimited, null, ...seriesAndTime, group.seriesMax));
    add(bind(insertSeries, null, ...seriesAndTime, group.seriesMax));
    insertedAt = add(bind(keys > 0 ? insertWithKeys : insertWithoutKeys, ...values));
    if (keys > 0) {
      existingAt = add(bind(selectExisting, ...values, count));
      batch.push(bind(insertKeys, ...values), ...moveKeys(keys));
    }
    batch.push(
      ...addUp,
      bind(deleteUnusedSeries, null, ...seriesAndTime, keys),
      bind(moveCursor, count, keys),
      sql`UPDATE api_keys AS k SET last_used_at = ${now}
        WHERE k.key_hash IN (SELECT value FROM json_each(${keyHashes})) AND ${activeApiKey(now)}
          AND (k.last_used_at IS NULL OR k.last_used_at <= ${now - apiKeyUsedIntervalMs})`,
    );
  }
  // The recorder sends few batches at a time, on behalf of many requests: a flood of other writes must not keep them out.
  const results = await database.write(batch, { bypassesQueueLimit: true });
  const activeKeys = rowsOf<{ position: number; id: string; seq: number }>(results, 0);
  return {
    activeKeys,
    existing: rowsOf<ExistingRecord>(results, existingAt),
    limited: rowsOf<LimitedSeries>(results, limitedAt).sort((a, b) => a.position - b.position),
    inserted: results[insertedAt]?.changes ?? 0,
    firstSeq: (activeKeys[0]?.seq ?? 0) + 1,
  };
}

/** @returns The rows that a statement returned as `json`. */
function rowsOf<T>(results: readonly WriteResult[], index: number): T[] {
  return JSON.parse(String(results[index]?.rows[0]?.["json"] ?? "[]"));
}
