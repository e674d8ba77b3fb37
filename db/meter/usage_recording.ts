// The SQL of the recorder: one group of requests in one transaction, with a fixed number of statements. Authentication,
// records, their keys and the rollups are one transaction: a key that was revoked before it is refused by it.
import { apiKeyUsedIntervalMs, rollupHourMs, rollupQuarterMs } from "../../domain/limits.ts";
import { lowBits, millionthsWholeMax, type Quantity } from "../../domain/meter/quantity.ts";
import { idempotencyKeyHash, type StoredUsageRecord } from "../../domain/meter/usage_record.ts";
import { type Database, sql, type Statement, type WriteResult } from "../engine/database.ts";
import { indexHash, lookUpKeys, movedPositions, moveKeys, somethingRecorded } from "./idempotency_keys.ts";

/** One record of a group. Times in milliseconds since 1970. */
export interface GroupRecord {
  /** Made by {@linkcode seriesField}. */
  readonly series: string;
  /** Made by {@linkcode requestField}. */
  readonly request: string;
  /** Made by {@linkcode timestampField}. */
  readonly timestamp: string;
  readonly quantity: Quantity;
  readonly idempotencyKey: string | null;
  /** See `propertiesText`. */
  readonly properties: string | null;
}

/** What is recorded together. No idempotency key of an organization may occur twice in it. */
export interface RecordGroup {
  readonly now: number;
  /** Hashes of the API keys that were shown, each once. */
  readonly keyHashes: readonly string[];
  /** Key hash, product and metric of each series, each once. */
  readonly series: readonly (readonly [keyHash: string, productSlug: string, metric: string])[];
  /** Each made by {@linkcode groupRecord}. */
  readonly records: readonly string[];
  /** How many of the records have an idempotency key. */
  readonly keys: number;
  /** How many series an organization may have. */
  readonly seriesMax: number;
}

/** A key that was shown and works. */
export interface ActiveKey {
  /** Place in {@linkcode RecordGroup.keyHashes}. */
  readonly position: number;
  readonly id: string;
}

/** A record that has the idempotency key of one of the group. */
export interface TakenRecord extends StoredUsageRecord {
  /** Place in {@linkcode RecordGroup.records}. */
  readonly position: number;
  /** 1 when the content is another one. */
  readonly differs: 0 | 1;
}

/** A series that the group would open, of an organization that has no room for all of those. */
export interface LimitedSeries {
  /** Place in {@linkcode RecordGroup.series}. Of the organization's, the first are opened, as many as there is room for. */
  readonly position: number;
  /** The organization's number. */
  readonly organization: number;
  /** How many more series it may have. */
  readonly room: number;
}

/** What became of a group. */
export interface RecordOutcome {
  readonly activeKeys: readonly ActiveKey[];
  readonly taken: readonly TakenRecord[];
  /** In order of position. A request of which a series was not opened is not recorded. */
  readonly limited: readonly LimitedSeries[];
  /** How many records were inserted. */
  readonly inserted: number;
  /** The `seq` of a record is this and its place in the group. */
  readonly firstSeq: number;
}

// Each record goes as one text of fixed fields: SQLite reads a field of a text in a third of the time that it takes for
// an element of an array. Whole numbers from 0, as decimal digits.
const fieldWidths = {
  series: 5,
  request: 5,
  timestampGiven: 1,
  timestamp: 14,
  whole: 16,
  micro: 6,
  keyHash: 15,
  keyLength: 3,
} as const;
const field = Object.fromEntries(fieldPlaces());
const textsAt = Object.values(fieldWidths).reduce<number>((sum, width) => sum + width, 1);
const keyText = `substr(e.value, ${textsAt}, ${field["keyLength"]})`;
const propertiesOfRecord = `nullif(substr(e.value, ${textsAt} + ${field["keyLength"]}), '')`;

/** SQL that reads each field of `e.value`. */
function* fieldPlaces(): Generator<[string, string]> {
  let at = 1;
  for (const [name, width] of Object.entries(fieldWidths)) {
    yield [name, `CAST(substr(e.value, ${at}, ${width}) AS INTEGER)`];
    at += width;
  }
}

/** @returns A place in {@linkcode RecordGroup.series}, for a record. */
export function seriesField(place: number): string {
  return digits(place, fieldWidths.series);
}

/** @returns The place of a record's series in {@linkcode RecordGroup.series}. @param record See {@linkcode groupRecord}. */
export function seriesOf(record: string | undefined): number {
  return Number(record?.slice(0, fieldWidths.series));
}

/** @returns The number of a request, all of whose records are kept, or none. */
export function requestField(request: number): string {
  return digits(request, fieldWidths.request);
}

/**
 * @param timestamp Milliseconds since 1970.
 * @param isGiven The caller gave it; a repeat must then give the same.
 */
export function timestampField(timestamp: number, isGiven: boolean): string {
  return (isGiven ? "1" : "0") + digits(timestamp, fieldWidths.timestamp);
}

/** @returns A record as it goes to the database. */
export function groupRecord(record: GroupRecord): string {
  const { idempotencyKey, quantity: { whole, micro } } = record;
  const key = idempotencyKey === null
    ? noKey
    : digits(idempotencyKeyHash(idempotencyKey), fieldWidths.keyHash) +
      digits(idempotencyKey.length, fieldWidths.keyLength) + idempotencyKey;
  const head = record.series + record.request + record.timestamp + digits(whole, fieldWidths.whole);
  return head + (micro === 0 ? noMicro : digits(micro, fieldWidths.micro)) + key + (record.properties ?? "");
}

const noMicro = digits(0, fieldWidths.micro);
const noKey = digits(0, fieldWidths.keyHash + fieldWidths.keyLength);

function digits(value: number, width: number): string {
  return String(value).padStart(width, "0");
}

/** SQL: an API key `k` works at `?3`. */
const isActive = "k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?3)";
// In every statement ?1 is the records, ?2 the series, ?3 the time.
const series = `series AS MATERIALIZED (
    SELECT CAST(e.key AS INTEGER) AS position, us.id, us.organization, us.product_slug, us.metric
    FROM json_each(?2) e
    JOIN api_keys k ON k.key_hash = e.value ->> 0 AND ${isActive}
    JOIN organizations o ON o.id = k.organization_id
    JOIN usage_series us ON us.organization = o.number AND us.product_slug = e.value ->> 1
      AND us.metric = e.value ->> 2 AND us.api_key = k.number
  )`;
/** All series exist: every key works, and no limit was reached. */
const allSeries = "(SELECT count(*) FROM series) = json_array_length(?2)";
/** Requests of which a series is not there: none of their records is kept. */
const held = `held AS MATERIALIZED (
    SELECT DISTINCT ${field["request"]} AS request FROM json_each(?1) e
    WHERE NOT ${allSeries} AND ${field["series"]} NOT IN (SELECT position FROM series)
  )`;
const isNotHeld = `(${allSeries} OR ${field["request"]} NOT IN (SELECT request FROM held))`;
/** Records with a key, by hash: neighbours in the index are looked up one after the other. */
const keyed = (condition = "true") =>
  `keyed AS MATERIALIZED (
    SELECT ${indexHash(field["keyHash"] ?? "", "s.organization")} AS hash, e.key AS position, e.value,
      s.organization, s.product_slug, s.metric, ${keyText} AS idempotency_key
    FROM json_each(?1) e CROSS JOIN series s ON s.position = ${field["series"]}
    WHERE ${field["keyLength"]} > 0 AND ${condition} ORDER BY 1
  )`;
const differs = `(rs.product_slug <> e.product_slug OR rs.metric <> e.metric
    OR e.quantity_whole <> ${field["whole"]} OR e.quantity_micro <> ${field["micro"]}
    OR e.properties IS NOT ${propertiesOfRecord}
    OR e.timestamp <> iif(${field["timestampGiven"]}, ${field["timestamp"]}, e.recorded_at))`;
/** Records whose key is taken. Whether the content differs is asked of these few only. */
const hits = `taken AS MATERIALIZED (${
  lookUpKeys(
    `q.position, q.value, q.product_slug, q.metric, r.seq, r.series, r.timestamp, r.recorded_at,
      r.quantity_whole, r.quantity_micro, r.properties, r.idempotency_key`,
    "keyed",
  )
}),
  hits AS MATERIALIZED (
    SELECT e.*, ${field["request"]} AS request, ${differs} AS differs, rs.product_slug AS first_product_slug,
      rs.metric AS first_metric, rs.api_key
    FROM taken e CROSS JOIN usage_series rs ON rs.id = e.series
  )`;
const insertRecords = (isKeyed: boolean) =>
  `WITH ${series}, ${held}${isKeyed ? `, ${keyed()}, ${hits}` : ""}
  INSERT INTO usage_records (seq, organization, series, timestamp, recorded_at, quantity_whole, quantity_micro,
    idempotency_key, properties)
  SELECT c.seq + e.key + 1, s.organization, s.id, ${field["timestamp"]}, ?3, ${field["whole"]}, ${
    field["micro"]
  },
    ${isKeyed ? `nullif(${keyText}, '')` : "NULL"}, ${propertiesOfRecord}
  FROM json_each(?1) e CROSS JOIN series s ON s.position = ${field["series"]}
  CROSS JOIN usage_cursor c ON c.only_row = 1
  WHERE ${isNotHeld} ${
    isKeyed
      ? `AND e.key NOT IN (SELECT position FROM hits)
    AND ${field["request"]} NOT IN (SELECT request FROM hits WHERE differs)`
      : ""
  }`;
const insertKeyed = insertRecords(true);
const insertPlain = insertRecords(false);
const insertKeys = `WITH ${series}
  INSERT INTO usage_keys_recent (hash, seq)
  SELECT ${indexHash(field["keyHash"] ?? "", "s.organization")}, r.seq
  FROM json_each(?1) e CROSS JOIN series s ON s.position = ${field["series"]}
  CROSS JOIN usage_cursor c ON c.only_row = 1 CROSS JOIN usage_records r ON r.seq = c.seq + e.key + 1
  WHERE ${field["keyLength"]} > 0 ORDER BY 1`;
/** Looks nothing up when all (`?4`) records were inserted: then there is no row to begin with. */
const notAllInserted =
  "(SELECT count(*) FROM usage_records n WHERE n.seq > (SELECT seq FROM usage_cursor)) < ?4";
const selectTaken = `WITH ${series}, ${keyed(notAllInserted)}, ${hits}
  SELECT h.position, h.differs, h.seq, h.first_product_slug AS productSlug, h.first_metric AS metric,
    k.id AS apiKeyId, h.timestamp, h.recorded_at AS recordedAt, h.quantity_whole AS whole, h.quantity_micro AS micro,
    h.idempotency_key AS idempotencyKey, h.properties, v.voided_at AS voidedAt, v.voided_by AS voidedBy,
    v.reason AS voidReason
  FROM hits h CROSS JOIN api_keys k ON k.number = h.api_key LEFT JOIN usage_voids v ON v.seq = h.seq`;

/** SQL of a quantity in millionths: an integer, or a text where 64 bits do not hold it. See `usage_rollups`. */
export function millionthsOf(record: string): string {
  const [whole, micro] = [`${record}.quantity_whole`, `${record}.quantity_micro`];
  return `iif(${whole} < ${millionthsWholeMax}, ${whole} * 1000000 + ${micro}, format('%016d%06d', ${whole}, ${micro}))`;
}

const sums = "count, sum_high, sum_low, sum_micro, smallest, largest";
/** The group's own rollups, for a moment: records are looked at once for both lengths. */
const addGroup = `INSERT INTO usage_added (series, quarter, ${sums})
   SELECT r.series, r.timestamp / ${rollupQuarterMs}, count(*), sum(r.quantity_whole >> ${lowBits}),
     sum(r.quantity_whole & ${2 ** lowBits - 1}), sum(r.quantity_micro), min(${millionthsOf("r")}),
     max(${millionthsOf("r")})
   FROM usage_records r WHERE r.seq > (SELECT seq FROM usage_cursor)
   GROUP BY 1, 2`;
const addTo = (table: string, stretch: "quarter" | "hour") =>
  `INSERT INTO ${table} (series, ${stretch}, ${sums})
   SELECT series, quarter / ${stretch === "quarter" ? 1 : rollupHourMs / rollupQuarterMs}, sum(count),
     sum(sum_high), sum(sum_low), sum(sum_micro), min(smallest), max(largest)
   FROM usage_added GROUP BY 1, 2
   ON CONFLICT (series, ${stretch}) DO UPDATE SET
     count = count + excluded.count, sum_high = sum_high + excluded.sum_high, sum_low = sum_low + excluded.sum_low,
     sum_micro = sum_micro + excluded.sum_micro,
     smallest = iif(count = 0, excluded.smallest, min(smallest, excluded.smallest)),
     largest = iif(count = 0, excluded.largest, max(largest, excluded.largest))`;
const addUp = [
  addGroup,
  addTo("usage_rollups", "quarter"),
  addTo("usage_rollups_hourly", "hour"),
  "DELETE FROM usage_added",
].map((text) => sql(text));

/**
 * Writes one group of requests as one batch.
 *
 * @returns What became of each.
 * @throws {DatabaseError}
 */
export async function recordUsage(database: Database, group: RecordGroup): Promise<RecordOutcome> {
  const { now } = group;
  const keyHashes = JSON.stringify(group.keyHashes);
  const batch: Statement[] = [sql(
    `SELECT e.key AS position, k.id, (SELECT seq FROM usage_cursor) AS seq
     FROM json_each(?1) e JOIN api_keys k ON k.key_hash = e.value WHERE ${isActive.replace("?3", "?2")}`,
    keyHashes,
    now,
  )];
  let insertedAt = -1;
  let takenAt = -1;
  let limitedAt = -1;
  const count = group.records.length;
  if (count > 0) {
    const records = JSON.stringify(group.records);
    const seriesText = JSON.stringify(group.series);
    const { keys } = group;
    const seriesArguments = [null, seriesText, now, group.seriesMax] as const;
    limitedAt = batch.push(sql(selectLimited, ...seriesArguments)) - 1;
    batch.push(sql(insertSeries, ...seriesArguments));
    insertedAt = batch.push(sql(keys > 0 ? insertKeyed : insertPlain, records, seriesText, now)) - 1;
    if (keys > 0) {
      takenAt = batch.push(sql(selectTaken, records, seriesText, now, count)) - 1;
      batch.push(sql(insertKeys, records, seriesText, now), ...moveKeys(keys));
    }
    batch.push(
      ...addUp,
      sql(dropUnusedSeries, null, seriesText, now, keys),
      sql(moveCursor, count, keys),
      sql(useKeys, keyHashes, now - apiKeyUsedIntervalMs, now),
    );
  }
  // The recorder sends few batches at a time, for many: other writes, which one account can flood, do not keep them out.
  const results = await database.write(batch, { bypassesQueueLimit: true });
  const activeKeys = rowsOf<ActiveKey & { seq: number }>(results, 0);
  return {
    activeKeys,
    taken: rowsOf<TakenRecord>(results, takenAt),
    limited: rowsOf<LimitedSeries>(results, limitedAt),
    inserted: results[insertedAt]?.changes ?? 0,
    firstSeq: (activeKeys[0]?.seq ?? 0) + 1,
  };
}

/** Series that are not there yet; `?4` is how many an organization may have. */
const newSeries = (condition: string) =>
  `SELECT CAST(e.key AS INTEGER) AS position, o.number AS organization, e.value ->> 1 AS product_slug,
    e.value ->> 2 AS metric, k.number AS api_key, ?4 - o.series AS room
  FROM json_each(?2) e
  JOIN api_keys k ON k.key_hash = e.value ->> 0 AND ${isActive}
  JOIN organizations o ON o.id = k.organization_id
  WHERE ${condition} AND NOT EXISTS (SELECT 1 FROM usage_series us WHERE us.organization = o.number
    AND us.product_slug = e.value ->> 1 AND us.metric = e.value ->> 2 AND us.api_key = k.number)`;
/** Most organizations have room for more series than the whole group has: theirs are not looked up for this. */
const selectLimited = `SELECT position, organization, room
  FROM (SELECT n.*, count(*) OVER (PARTITION BY organization) AS wanted
    FROM (${newSeries("o.series + json_array_length(?2) > ?4")}) n)
  WHERE wanted > room ORDER BY position`;
const insertSeries = `INSERT INTO usage_series (organization, product_slug, metric, api_key)
  SELECT organization, product_slug, metric, api_key
  FROM (SELECT n.*, row_number() OVER (PARTITION BY organization ORDER BY position) AS place
    FROM (${newSeries("true")}) n)
  WHERE place <= room ORDER BY position`;
/** A request that was rejected, for its idempotency key or the limit, leaves no series behind that never had a record. */
const dropUnusedSeries = `WITH ${series}
  DELETE FROM usage_series WHERE (?4 > 0 OR NOT ${allSeries}) AND id IN (SELECT id FROM series)
    AND NOT EXISTS (SELECT 1 FROM usage_rollups r WHERE r.series = usage_series.id)`;
const moveCursor = `UPDATE usage_cursor AS c SET seq = seq + ?1, ${movedPositions}
  WHERE only_row = 1 AND ${somethingRecorded}`;
const useKeys = `UPDATE api_keys AS k SET last_used_at = ?3
  WHERE k.key_hash IN (SELECT value FROM json_each(?1)) AND ${isActive}
    AND (k.last_used_at IS NULL OR k.last_used_at <= ?2)`;

function rowsOf<T>(results: readonly WriteResult[], index: number): T[] {
  return (results[index]?.rows ?? []) as unknown as T[];
}
