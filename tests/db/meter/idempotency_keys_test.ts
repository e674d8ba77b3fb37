// The index of idempotency keys: every key is found once, whichever table it has moved to.
import assert from "node:assert/strict";
import { type Database, sql } from "../../../db/engine/database.ts";
import { cleanIdempotencyKeys } from "../../../db/meter/idempotency_keys.ts";
import { insertUsageRecords, type RecordOutcome } from "../../../db/meter/recorder.ts";
import { keysMiddleMax, keysRecentMax } from "../../../domain/limits.ts";
import { idempotencyHashSpace } from "../../../domain/meter/usage_record.ts";
import { bothDatabases, databaseKinds, onDatabases } from "../../support/database/database.ts";
import { encodedRecord, insertKeys, plainGroup } from "../../support/meter/record_groups.ts";
import { repeats } from "../../support/runner/extent.ts";
import fc from "../../support/runner/fast_check.ts";

const tables = ["usage_keys_recent", "usage_keys_middle", "usage_keys_settled"] as const;
const activeKey = "a".repeat(64);
const otherActiveKey = "b".repeat(64);
const revoked = "c".repeat(64);
const now = 1_800_000_000_000;

/** One record; `idempotencyKey` null for one without. */
interface Given {
  readonly idempotencyKey: string | null;
  readonly keyHash?: number;
  readonly whole?: number;
}

/** The position of a key's hash in a record's text. */
const hashAt = { from: 47, to: 62 };

/** Returns a record as it is sent to the database. */
function encoded({ idempotencyKey, keyHash, whole }: Given, at: { series: number; request: number }): string {
  const text = encodedRecord(now, { ...at, quantity: { whole: whole ?? 1, micro: 0 }, idempotencyKey });
  if (keyHash === undefined) return text;
  const hash = String(keyHash).padStart(hashAt.to - hashAt.from, "0");
  return `${text.slice(0, hashAt.from)}${hash}${text.slice(hashAt.to)}`;
}

function record(database: Database, records: readonly Given[], apiKey = activeKey): Promise<RecordOutcome> {
  return insertUsageRecords(database, {
    ...plainGroup,
    now,
    targets: [apiKey],
    series: [[apiKey, "tiles", "requests"]],
    records: records.map((given, request) => encoded(given, { series: 0, request })),
    idempotencyKeys: records.filter(({ idempotencyKey }) => idempotencyKey !== null).length,
  });
}

const randomSeries = [
  { organization: 0, row: [activeKey, "tiles", "requests"] },
  { organization: 0, row: [activeKey, "tiles", "bytes"] },
  { organization: 1, row: [otherActiveKey, "tiles", "requests"] },
] as const;

/** A record of a random group; `key` is its idempotency key, with the number of its organization. */
interface RandomRecord {
  readonly series: number;
  readonly request: number;
  readonly key: string | null;
  readonly whole: number;
}

const aRandomRecord: fc.Arbitrary<RandomRecord> = fc.record({
  series: fc.nat(randomSeries.length - 1),
  request: fc.nat(2),
  letter: fc.option(fc.constantFrom(..."abcdefgh")),
  whole: fc.integer({ min: 1, max: 2 }),
}).map(({ letter, ...rest }) => ({
  ...rest,
  key: letter === null ? null : `${letter} ${randomSeries[rest.series]?.organization}`,
}));

/** Records of one group, and the table whose keys are then moved to the next one. */
const aRandomGroup = fc.record({
  records: fc.uniqueArray(aRandomRecord, { maxLength: 12, selector: ({ key }) => key ?? {} }),
  moved: fc.option(fc.nat(1)),
});

/** Records a random group. `prefix`: of its keys, which have one of three hashes in the index. Both organizations have the same keys. */
function recordRandom(database: Database, records: readonly RandomRecord[], prefix: string) {
  return insertUsageRecords(database, {
    ...plainGroup,
    now,
    targets: [activeKey, otherActiveKey],
    series: randomSeries.map(({ row }) => row),
    records: records.map(({ key, whole, ...at }) => {
      const inIndex = (key ?? "a").charCodeAt(0) % 3 + idempotencyHashSpace;
      const keyHash = (inIndex - 2654435761 * (randomSeries[at.series]?.organization ?? 0)) %
        idempotencyHashSpace;
      return encoded({ idempotencyKey: key && prefix + key[0], keyHash, whole }, at);
    }),
    idempotencyKeys: records.filter(({ key }) => key !== null).length,
  });
}

/** The expected outcome of a group after others, given the content of each idempotency key: its own are added. */
function decide(contents: Map<string, string>, records: readonly RandomRecord[]) {
  const contentOf = ({ series, whole }: RandomRecord) => `${series} ${whole}`;
  const existing = records.flatMap((record, position) => {
    const first = contents.get(record.key ?? "");
    return first === undefined ? [] : [{ position, differs: first === contentOf(record) ? 0 : 1 }];
  });
  const conflicts = existing.filter(({ differs }) => differs === 1);
  const rejected = new Set(conflicts.map(({ position }) => records[position]?.request));
  const inserted = records.filter(({ key, request }) => !rejected.has(request) && !contents.has(key ?? ""));
  for (const record of inserted) if (record.key !== null) contents.set(record.key, contentOf(record));
  return { inserted: inserted.length, existing };
}

const named = (name: string, from: number, count: number): Given[] =>
  Array.from({ length: count }, (_, n) => ({ idempotencyKey: `${name} ${from + n}` }));
const plain = (count: number): Given[] => Array.from({ length: count }, () => ({ idempotencyKey: null }));

async function countOf(database: Database, from: string): Promise<number> {
  const statement = { sql: `SELECT count(*) AS count FROM ${from}`, args: [] };
  return (await database.readFirst<{ count: number }>(statement))?.count ?? -1;
}

/** Asserts that the three tables have the key of every record once, and nothing else. */
async function assertKeysAreComplete(database: Database): Promise<number[]> {
  const counts: number[] = [];
  for (const table of tables) counts.push(await countOf(database, table));
  const records = await countOf(database, "usage_records WHERE idempotency_key IS NOT NULL");
  const all = tables.map((table) => `SELECT seq FROM ${table}`).join(" UNION ALL ");
  const found = `(SELECT DISTINCT seq FROM (${all})) k JOIN usage_records r ON r.seq = k.seq`;
  assert.equal(counts.reduce((sum, count) => sum + count, 0), records);
  assert.equal(await countOf(database, `${found} WHERE r.idempotency_key IS NOT NULL`), records);
  return counts;
}

/** The contents of all tables that recording writes to, as one text. */
async function everything(database: Database): Promise<string> {
  const written = ["api_keys", "series", "records", "rollups", "rollups_hourly", "rollups_monthly", "cursor"];
  const texts: string[] = [];
  for (const table of [...written.map((name) => name.replace(/^(?!api_)/, "usage_")), ...tables]) {
    texts.push(table, JSON.stringify(await database.read({ sql: `SELECT * FROM ${table}`, args: [] })));
  }
  return texts.join("\n");
}

/** Sets the positions from which both sweeps continue. */
function sweepFrom(database: Database, { recent, middle }: { recent: number; middle: number }) {
  return database.write([
    sql`UPDATE usage_cursor SET recent_moved = ${Math.floor(recent * idempotencyHashSpace)}, middle_moved = ${
      Math.floor(middle * idempotencyHashSpace)
    }`,
  ]);
}

Deno.test("cleaning keys uses the same statements for any number of deleted records", () => {
  const texts = (deleted: number) => cleanIdempotencyKeys(deleted).map((statement) => statement.sql);
  assert.deepEqual(texts(500), texts(3));
});

/** Defines a test with two organizations with a key each, and a third key of the first that is revoked. */
const on = (promise: string, run: (database: Database) => Promise<void>, kinds = databaseKinds) =>
  onDatabases(promise, async ({ database }) => {
    await database.write([
      ...insertKeys({ org_one: [activeKey, revoked], org_two: [otherActiveKey] }),
      sql`UPDATE api_keys SET revoked_at = 1 WHERE key_hash = ${revoked}`,
    ]);
    await run(database);
  }, kinds);

on(
  "finds a repeated key in every table, and neither loses nor duplicates keys",
  async (database) => {
    const groups = 8;
    const size = 2_000;
    for (let n = 0; n < groups; n++) {
      // The second sweep is slow, so it starts where the first has been: keys then move through both.
      await sweepFrom(database, { recent: n / groups, middle: (n + 4) % groups / groups });
      const group = [
        ...named("key", n * size, size),
        ...plain(100),
        // Repeats of the previous group.
        ...(n === 0 ? [] : named("key", (n - 1) * size, 50)),
      ];
      const outcome = await record(database, group);
      assert.equal(outcome.inserted, size + 100);
      assert.equal(outcome.existing.length, n === 0 ? 0 : 50);
      await record(database, plain(10));
      await record(database, named("key", n * size, 10), revoked);
      await assertKeysAreComplete(database);
    }
    const counts = await assertKeysAreComplete(database);
    for (const [index, count] of counts.entries()) assert.ok(count > 0, `${tables[index]} has no key`);
    // Repeats all of them, then with different content, then some with the other organization's key.
    for (let n = 0; n < groups; n++) {
      const repeats = named("key", n * size, size);
      const again = await record(database, repeats);
      assert.equal(again.inserted, 0);
      assert.deepEqual(again.existing.map(({ position }) => position).sort((a, b) => a - b), [
        ...repeats.keys(),
      ]);
      assert.ok(
        again.existing.every(({ differs, position, idempotencyKey }) =>
          differs === 0 && idempotencyKey === repeats[position]?.idempotencyKey
        ),
      );
      const other = await record(database, repeats.map((given) => ({ ...given, whole: 2 })));
      assert.equal(other.inserted, 0);
      assert.ok(
        other.existing.length === size && other.existing.every(({ differs }) => differs === 1),
      );
    }
    const strangers = await record(database, named("key", 0, 100), otherActiveKey);
    assert.equal(strangers.inserted, 100);
    await assertKeysAreComplete(database);
  },
);

on("writes nothing for a group of a revoked key or of repeats", async (database) => {
  await record(database, [...named("key", 0, 3_000), ...plain(5)]);
  const before = await everything(database);
  const rejected = await record(
    database,
    [...named("key", 0, 20), ...named("new", 0, 2_000), ...plain(7)],
    revoked,
  );
  assert.deepEqual([rejected.targets.length, rejected.inserted, rejected.existing.length], [0, 0, 0]);
  assert.equal(await everything(database), before);
  const repeated = await record(database, named("key", 0, 3_000));
  assert.deepEqual([repeated.inserted, repeated.existing.length], [0, 3_000]);
  const other = await record(database, [{ idempotencyKey: "key 1", whole: 5 }]);
  assert.deepEqual(other.existing.map(({ differs }) => differs), [1]);
  assert.equal(await everything(database), before);
});

on(
  "moves keys at both ends of the hash space, and wraps around",
  async (database) => {
    const ends = [0, 1, idempotencyHashSpace - 1, idempotencyHashSpace - 2];
    // The organization's number shifts every hash.
    const given = ends.map((hash, n): Given => ({
      idempotencyKey: `end ${n}`,
      keyHash: (hash + idempotencyHashSpace - 2654435761) % idempotencyHashSpace,
    }));
    assert.equal((await record(database, given)).inserted, 4);
    // The sweeps start at 0.
    assert.equal(await countOf(database, "usage_keys_settled"), 2);
    // From half a step before the end they pass it and start over.
    await sweepFrom(database, { recent: 1 - 0.5 / keysRecentMax, middle: 1 - 0.5 / keysMiddleMax });
    assert.equal((await record(database, [{ idempotencyKey: "one more" }])).inserted, 1);
    const at = await database.readFirst<Record<string, number>>(
      sql`SELECT recent_moved AS recent, middle_moved AS middle FROM usage_cursor`,
    );
    assert.deepEqual({ ...at }, { recent: 0, middle: 0 });
    assert.equal(await countOf(database, "usage_keys_settled"), 4);
    await assertKeysAreComplete(database);
    assert.equal((await record(database, given)).existing.length, 4);
  },
);

on("decides the same as a map of keys, for random groups whose keys have few hashes", async (database) => {
  let runs = 0;
  const property = fc.asyncProperty(fc.array(aRandomGroup, { maxLength: 6 }), async (groups) => {
    const prefix = `${runs++} `;
    const contents = new Map<string, string>();
    for (const { records, moved } of groups) {
      const { inserted, existing } = await recordRandom(database, records, prefix);
      const found = existing.map(({ position, differs }) => ({ position, differs }));
      found.sort((a, b) => a.position - b.position);
      assert.deepEqual({ inserted, existing: found }, decide(contents, records));
      if (moved === null) continue;
      await database.write([
        { sql: `INSERT INTO ${tables[moved + 1]} SELECT * FROM ${tables[moved]}`, args: [] },
        { sql: `DELETE FROM ${tables[moved]}`, args: [] },
      ]);
    }
    await assertKeysAreComplete(database);
  });
  await fc.assert(property, { numRuns: repeats({ quick: 10, full: 30 }) });
}, bothDatabases);
