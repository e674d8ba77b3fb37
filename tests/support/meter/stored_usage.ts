// Checks the usage stored in a database against a ledger and against a slow but simple sum.
import assert from "node:assert/strict";
import { Connection } from "../../../db/engine/connection.ts";
import { createUsageRecordIds, type UsageRecordIds } from "../../../domain/meter/usage_record_id.ts";
import { checkCounted } from "./counted.ts";
import { checkRollups } from "./rollups.ts";
import type { Ledger, SentRecord } from "./ledger.ts";
import { openServer } from "../database/sqld.ts";

type Row = Readonly<Record<string, string | number | null>>;

/** A database that is only read from. */
export interface StoredUsage {
  /** @returns The rows of a query. */
  read(query: string): Promise<Row[]>;
  close(): Promise<void>;
}

/** A row of `usage_records` with the names of its series. */
interface StoredRecord {
  readonly seq: number;
  readonly marker: string;
  readonly row: Row;
  readonly isVoided: boolean;
}

/** The progress of {@linkcode checkNewRecords}. */
export interface Progress {
  seq: number;
  readonly seen: Set<string>;
}

/**
 * Opens a copy of a data file and its log, as a kill left them. No process may be writing to them. A copy, because the
 * driver keeps a file open until its statements are garbage-collected, and then a restarted server would not have to
 * recover the file.
 *
 * @param path The data file.
 */
export async function storedInFile(path: string): Promise<StoredUsage> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-stored-" });
  await Deno.copyFile(path, `${folder}/copy.db`);
  await Deno.copyFile(`${path}-wal`, `${folder}/copy.db-wal`).catch((error) => {
    // A server that stopped by itself leaves no log.
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  const connection = new Connection(`${folder}/copy.db`, { readOnly: true });
  return {
    read: (query) => Promise.resolve(connection.all({ sql: query, args: [] }) as Row[]),
    async close() {
      connection.close();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** @param url The URL of a libSQL server. */
export function storedAtServer(url: string): StoredUsage {
  const database = openServer(url);
  return { read: (query) => database.read({ sql: query, args: [] }), close: () => database.close() };
}

/**
 * Checks the records added since the last call: each was sent, and is stored unchanged and only once. Also checks that
 * all acknowledged records are stored by now.
 */
export async function checkNewRecords(
  stored: StoredUsage,
  { ledger, progress }: { ledger: Ledger; progress: Progress },
): Promise<void> {
  const ids = await recordIds(stored);
  for (const record of await readRecords(stored, progress.seq)) {
    assert(!progress.seen.has(record.marker), `${record.marker} is stored twice`);
    progress.seen.add(record.marker);
    progress.seq = Math.max(progress.seq, record.seq);
    checkRecord(record, { ledger, ids });
  }
  checkAcknowledged(progress.seen, ledger);
}

/**
 * Checks everything: all records, as {@linkcode checkNewRecords} does; that each batch is stored completely or not at
 * all; and each rollup against the sum of its records.
 */
export async function checkAllUsage(stored: StoredUsage, ledger: Ledger): Promise<void> {
  const ids = await recordIds(stored);
  const records = await readRecords(stored, 0);
  const seen = new Set<string>();
  for (const record of records) {
    assert(!seen.has(record.marker), `${record.marker} is stored twice`);
    seen.add(record.marker);
    checkRecord(record, { ledger, ids });
  }
  checkAcknowledged(seen, ledger);
  checkBatches(seen, ledger);
  checkVoids(records, ledger);
  await checkRollups(stored.read);
  await checkCounted(stored.read);
  await checkKeys(stored);
  const [check] = await stored.read("PRAGMA integrity_check");
  assert.deepEqual(Object.values(check ?? {})[0], "ok");
  assert.deepEqual(ledger.surprises, []);
}

/** Checks that the index of idempotency keys has exactly one entry for each record with a key. */
async function checkKeys(stored: StoredUsage): Promise<void> {
  const index = ["recent", "middle", "settled"].map((name) => `SELECT seq FROM usage_keys_${name}`).join(
    " UNION ALL ",
  );
  const keyed = "SELECT seq FROM usage_records WHERE idempotency_key IS NOT NULL";
  const [found] = await stored.read(
    `SELECT (SELECT count(*) FROM (${index})) AS entries, (SELECT count(*) FROM (${keyed})) AS records,
       (SELECT count(*) FROM (${keyed} INTERSECT SELECT seq FROM (${index}))) AS both`,
  );
  assert.deepEqual([found?.["entries"], found?.["both"]], [found?.["records"], found?.["records"]]);
}

async function recordIds(stored: StoredUsage): Promise<UsageRecordIds> {
  const [row] = await stored.read("SELECT key FROM record_id_key");
  return createUsageRecordIds(String(row?.["key"]));
}

function checkRecord(
  { seq, marker, row, isVoided }: StoredRecord,
  { ledger, ids }: { ledger: Ledger; ids: UsageRecordIds },
): void {
  const sent = ledger.records.get(marker);
  assert(sent !== undefined, `a record that was never sent: ${JSON.stringify(row)}`);
  assert.equal(row["product_slug"], sent.json.productSlug);
  assert.equal(row["metric"], sent.json.metric);
  assert.equal(row["idempotency_key"], sent.json.idempotencyKey ?? null);
  assert.equal(microsOf(row), sent.micros, `the quantity of ${marker}`);
  const timestamp = sent.json.timestamp === undefined ? row["recorded_at"] : Date.parse(sent.json.timestamp);
  assert.equal(row["timestamp"], timestamp);
  if (sent.id !== undefined) {
    assert.equal(ids.of({ seq, recordedAt: Number(row["recorded_at"]) }), sent.id);
  }
  if (isVoided) assert.notEqual(sent.voided, "no", `${marker} is void, but no void was requested`);
}

function checkAcknowledged(seen: ReadonlySet<string>, ledger: Ledger): void {
  const lost = [...ledger.records.values()].filter((record) =>
    record.isAcknowledged && !seen.has(record.marker)
  );
  assert.equal(lost.length, 0, `${lost.length} acknowledged records are lost, such as ${lost[0]?.marker}`);
}

function checkBatches(seen: ReadonlySet<string>, ledger: Ledger): void {
  for (const { isBatch, records } of ledger.requests) {
    if (!isBatch) continue;
    // Ignore a record that was also sent on its own: it is stored either way.
    const own = records.filter(({ id }) => id === undefined);
    const there = own.filter(({ marker }) => seen.has(marker)).length;
    assert(
      there === 0 || there === own.length,
      `${there} of the ${own.length} records of a batch are stored`,
    );
  }
}

function checkVoids(records: readonly StoredRecord[], ledger: Ledger): void {
  const voided = new Set(records.filter(({ isVoided }) => isVoided).map(({ marker }) => marker));
  const lost = ledger.singles.filter((record: SentRecord) =>
    record.voided === "yes" && !voided.has(record.marker)
  );
  assert.equal(lost.length, 0, `${lost.length} acknowledged voids are lost, such as of ${lost[0]?.marker}`);
}

function microsOf(row: Row): bigint {
  return BigInt(row["whole"] ?? 0) * 1_000_000n + BigInt(row["micro"] ?? 0);
}

/** Keeps each response below the 10 MB limit of a libSQL server. */
const pageRecords = 10_000;

async function readRecords(stored: StoredUsage, afterSeq: number): Promise<StoredRecord[]> {
  const rows = await stored.read(
    `SELECT r.seq, r.series, s.product_slug, s.metric, r.timestamp, r.recorded_at,
       CAST(r.quantity_whole AS TEXT) AS whole, r.quantity_micro AS micro, r.idempotency_key, r.properties,
       v.seq IS NOT NULL AS voided
     FROM usage_records r JOIN usage_series s ON s.id = r.series LEFT JOIN usage_voids v ON v.seq = r.seq
     WHERE r.seq > ${afterSeq} ORDER BY r.seq LIMIT ${pageRecords}`,
  );
  const records = rows.map((row) => ({
    seq: Number(row["seq"]),
    marker: String(row["idempotency_key"] ?? JSON.parse(String(row["properties"])).marker),
    row,
    isVoided: row["voided"] === 1,
  }));
  const last = records.at(-1);
  return records.length < pageRecords || last === undefined
    ? records
    : [...records, ...await readRecords(stored, last.seq)];
}
