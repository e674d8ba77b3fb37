// Scans of records between any two positions, including records with the same timestamp and series.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { insertUsageRecords } from "../../../db/meter/recorder.ts";
import {
  endOfScan,
  findTimesByKey,
  findUsageRecord,
  findUsageRecordsByKey,
  scanUsageRecords,
  type UsageRecordPosition,
} from "../../../db/meter/usage_records.ts";
import { onDatabases } from "../../support/database/database.ts";
import { plansOf } from "../../support/database/query_plans.ts";
import { encodedRecord, insertKeys, plainGroup } from "../../support/meter/record_groups.ts";

const organizationId = "org_test";
const [first, second, third] = ["a".repeat(64), "b".repeat(64), "c".repeat(64)];

/** The order of lists: descending. */
function compare(a: UsageRecordPosition, b: UsageRecordPosition): number {
  return b.timestamp - a.timestamp || b.series - a.series || b.seq - a.seq;
}

onDatabases(
  "scans records between any two positions in both directions, and finds the end of a scan",
  async ({ database }) => {
    await database.write(insertKeys({ [organizationId]: [first, second], org_other: [third] }));
    const times = [1_000, 2_000, 900_000];
    await insertUsageRecords(database, {
      ...plainGroup,
      now: 1_000_000,
      targets: [first, second, third],
      series: [
        [first, "p", "m"],
        [second, "p", "m"],
        [first, "q", "m"],
        [first, "q", "n"],
        [third, "p", "m"],
      ],
      records: Array.from({ length: 45 }, (_, n) =>
        encodedRecord(1_000_000, {
          series: n % 5,
          request: n,
          timestamp: times[n % 7 % 3] ?? 0,
          quantity: { whole: n, micro: 0 },
        })),
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
    for (const [n, before] of positions.entries()) {
      for (const from of positions) {
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
  },
);

Deno.test("embedded database: finds a record by its id and by its idempotency key without a scan", async () => {
  const filter = { productSlug: ["p"], metric: ["m", "n"], apiKey: ["key_1"] };
  const byKey = { organizationId, idempotencyKey: "a", hash: 1, from: 0, to: 1 };
  const plans = await plansOf(async (database) => {
    await findUsageRecord(database, { organizationId, seq: 1, recordedAt: 0 });
    for (const some of [{}, filter]) await findUsageRecordsByKey(database, { ...byKey, filter: some });
    await findTimesByKey(database, [{ position: 0, organizationId, idempotencyKey: "a" }]);
  });
  const used = plans.flatMap(({ text, steps }) =>
    steps.flatMap((step) => {
      assert.doesNotMatch(step, /SCAN (?!json_each|e VIRTUAL)/, `${step} in ${text}`);
      return /SEARCH k USING PRIMARY KEY \(hash=\?/.exec(step) ?? [];
    })
  );
  // Three tables of keys: for live usage, and twice for usage of both environments.
  assert.equal(used.length, 15);
});
