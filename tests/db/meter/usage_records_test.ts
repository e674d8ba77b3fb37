// Scans of records between any two positions, including records with the same timestamp and series.
import assert from "node:assert/strict";
import { type Database, sql, type Statement } from "../../../db/engine/database.ts";
import { RecordEncoder } from "../../../db/meter/record_group.ts";
import { insertUsageRecords } from "../../../db/meter/recorder.ts";
import {
  endOfScan,
  findUsageRecord,
  findUsageRecordsByKey,
  scanUsageRecords,
  type UsageRecordPosition,
} from "../../../db/meter/usage_records.ts";
import { databaseKinds } from "../../support/database/database.ts";

const organizationId = "org_test";
const [first, second] = ["a".repeat(64), "b".repeat(64)];

/** An organization with two keys, and another one with one key. */
async function insertKeys(database: Database): Promise<void> {
  await database.write([
    ...[organizationId, "org_other"].map((id) =>
      sql`INSERT INTO organizations (id, name, created_at) VALUES (${id}, 'Test', 0)`
    ),
    ...[[first, organizationId], [second, organizationId], ["c".repeat(64), "org_other"]].map((
      [hash, owner],
    ) =>
      sql`INSERT INTO api_keys (id, organization_id, key_hash, key_prefix, name, created_at)
        VALUES ('key_' || ${hash ?? ""}, ${owner ?? ""}, ${hash ?? ""}, 'service_live_', 'Test', 0)`
    ),
  ]);
}

/** The order of lists: descending. */
function compare(a: UsageRecordPosition, b: UsageRecordPosition): number {
  return b.timestamp - a.timestamp || b.series - a.series || b.seq - a.seq;
}

for (const kind of databaseKinds) {
  Deno.test({
    name:
      `${kind.name} database: scans records between any two positions in both directions, and finds the end of a scan`,
    ignore: kind.ignore,
    fn: async () => {
      const { database, dispose } = await kind.open();
      try {
        await insertKeys(database);
        const times = [1_000, 2_000, 900_000];
        const hashes = [first, second, "c".repeat(64)];
        const record = (n: number) =>
          new RecordEncoder(1_000_000).encode({
            series: n % 5,
            request: n,
            timestamp: times[n % 7 % 3] ?? 0,
            quantity: { whole: n, micro: 0 },
            idempotencyKey: null,
            properties: null,
          });
        await insertUsageRecords(database, {
          now: 1_000_000,
          by: "keys",
          isCatalogueRequired: false,
          hasLimits: false,
          hasDimensions: false,
          isSeriesKnown: false,
          targets: hashes,
          series: [[first, "p", "m"], [second, "p", "m"], [first, "q", "m"], [first, "q", "n"], [
            hashes[2] ?? "",
            "p",
            "m",
          ]],
          records: Array.from({ length: 45 }, (_, n) => record(n)),
          idempotencyKeys: 0,
        });
        const { length } = await database.read(sql`SELECT 1 FROM usage_records`);
        assert.equal(length, 45);
        const all = (await database.read<UsageRecordPosition>(
          sql`SELECT timestamp, series, seq FROM usage_records WHERE organization = 1`,
        )).sort(compare);
        assert.equal(all.length, 36);
        const ofProduct = (await database.read<{ id: number }>(
          sql`SELECT id FROM usage_series WHERE organization = 1 AND product_slug = 'p'`,
        )).map(({ id }) => id);
        const positions = [
          { timestamp: Number.MAX_SAFE_INTEGER, series: 0, seq: 0 },
          ...all.filter((_position, n) => n % 3 !== 1),
          ...times.map((timestamp) => ({ timestamp, series: 0, seq: 0 })),
          { timestamp: 0, series: 0, seq: 0 },
        ];
        const voided = all.filter((_position, n) => n % 4 === 0).map(({ seq }) => seq);
        await database.write([sql`INSERT INTO usage_voids
          SELECT seq, 1, 'operator', 'Test', organization, timestamp, series FROM usage_records
          WHERE seq IN (SELECT value FROM json_each(${JSON.stringify(voided)}))`]);
        // On a remote database, each of these is a round trip, so only some are tried.
        const step = kind.name === "remote" ? 5 : 1;
        for (const [n, before] of positions.entries()) {
          for (const from of positions.filter((_position, m) => (n + m) % step === 0)) {
            const between = all.filter((position) =>
              compare(before, position) < 0 && compare(position, from) <= 0
            );
            const scan = { organizationId, from, before };
            const rows = await scanUsageRecords(database, { ...scan, filter: {}, limit: 1000 });
            assert.deepEqual(rows.map(({ seq }) => seq), between.map(({ seq }) => seq), JSON.stringify(scan));
            const some = await scanUsageRecords(database, {
              ...scan,
              filter: { productSlug: ["p"] },
              limit: 2,
            });
            const fits = between.filter(({ series }) => ofProduct.includes(series)).slice(0, 2);
            assert.deepEqual(some.map(({ seq }) => seq), fits.map(({ seq }) => seq), JSON.stringify(scan));
            const status = n % 2 === 0 ? "voided" as const : "counted" as const;
            const ofStatus = between.filter(({ seq }) => voided.includes(seq) === (status === "voided"));
            for (const isUpward of [false, true]) {
              const inOrder = isUpward ? between.toReversed() : between;
              const end = await endOfScan(database, { ...scan, filter: {}, isUpward, recordsMax: 4 });
              assert.deepEqual(end && { ...end }, inOrder[3] && { ...inOrder[3] }, JSON.stringify(scan));
              const withStatus = await scanUsageRecords(database, {
                ...scan,
                status,
                isUpward,
                filter: {},
                limit: 3,
              });
              const wanted = (isUpward ? ofStatus.toReversed() : ofStatus).slice(0, 3);
              assert.deepEqual(withStatus.map(({ seq }) => seq), wanted.map(({ seq }) => seq));
            }
          }
        }
      } finally {
        await dispose();
      }
    },
  });
}

Deno.test("embedded database: finds a record by its id and by its idempotency key without a scan", async () => {
  const kind = databaseKinds.find(({ name }) => name === "embedded");
  assert.ok(kind);
  const { database, dispose } = await kind.open();
  try {
    const asked: Statement[] = [];
    const spy: Database = {
      ...database,
      read: (statement) => (asked.push(statement), Promise.resolve([])),
      readFirst: (statement) => (asked.push(statement), Promise.resolve(undefined)),
    };
    await findUsageRecord(spy, { organizationId, seq: 1, recordedAt: 0 });
    const filter = { productSlug: ["p"], metric: ["m", "n"], apiKey: ["key_1"] };
    const byKey = { organizationId, idempotencyKey: "a", hash: 1, from: 0, to: 1 };
    for (const some of [{}, filter]) await findUsageRecordsByKey(spy, { ...byKey, filter: some });
    const used: string[] = [];
    for (const statement of asked) {
      const { sql: text } = statement;
      const plan = await database.read<{ detail: string }>(sql`EXPLAIN QUERY PLAN ${statement}`);
      for (const { detail } of plan) {
        assert.doesNotMatch(detail, /SCAN (?!json_each)/, `${detail} in ${text}`);
        used.push(...(/SEARCH k USING PRIMARY KEY \(hash=\?/.exec(detail) ?? []));
      }
    }
    // Three tables of keys: for live usage, and for usage of both environments.
    assert.equal(used.length, 9);
  } finally {
    await dispose();
  }
});
