// Voids: the records that decide the minimum and maximum are found outside of the writer and verified in it.
import assert from "node:assert/strict";
import { insertAuditEvent } from "../../../db/access/mod.ts";
import { type Database, sql, type Statement } from "../../../db/engine/database.ts";
import type { OtherRecords } from "../../../db/meter/other_records.ts";
import { voidRecord } from "../../../db/meter/usage_voids.ts";
import { hashApiKey } from "../../../domain/keys/api_key.ts";
import { retentionStepRecordsMax } from "../../../domain/limits.ts";
import { findOtherRecords } from "../../../services/meter/jobs/other_records.ts";
import { fillDimensions } from "../../../services/meter/dimensions.ts";
import { deleteOldUsageRecords } from "../../../services/meter/usage_records.ts";
import { createTestKey, type TestApp, testApp } from "../../support/app/app.ts";
import { grantVoids } from "../../support/operators/operators.ts";
import { noJobContext } from "../../support/app/reports.ts";
import { checkCounted } from "../../support/meter/counted.ts";
import { runHistories } from "../../support/meter/histories.ts";
import { checkOwnSums } from "../../support/meter/own_sums.ts";
import { checkRollups, rowsOf } from "../../support/meter/rollups.ts";
import { repeats } from "../../support/runner/extent.ts";
import fc from "../../support/runner/fast_check.ts";
import {
  isRemote,
  listAll,
  onEveryDatabase,
  readSums,
  recordAll,
  recordOne,
  unlimited,
  voidOne,
} from "../../support/meter/usage.ts";

const month = "?window=month";
const client = { address: "", userAgent: "", requestId: null };

async function recordsOf(test: TestApp, quantities: readonly number[]) {
  const person = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, person);
  const ids: string[] = [];
  for (const quantity of quantities) ids.push((await recordOne(test, apiKey, { quantity })).id);
  const recordIds = await test.services.recorder.recordIds();
  const referenceTo = (index: number) => {
    const found = recordIds.parse(ids[index] ?? "");
    assert.ok(found);
    return found;
  };
  return {
    ...person,
    apiKey,
    ids,
    referenceTo,
    /** @param options `during` runs between the scan's steps of `recordsMax` records. */
    scan: (
      index: number,
      { during = noJobContext.pause, ...options }: {
        during?: () => Promise<void>;
        recordsMax?: number;
      } = {},
    ) => {
      const context = { ...noJobContext, pause: during, database: test.opened.database };
      const { organizationId } = person;
      const record = { organizationId, now: test.now(), seq: referenceTo(index).seq };
      return findOtherRecords(context, record, options);
    },
    void: async (
      index: number,
      others: OtherRecords | null,
      database: Database = test.opened.database,
    ) => {
      const keyHash = hashApiKey(apiKey);
      await test.opened.database.write([grantVoids]);
      const which = {
        ...referenceTo(index),
        keyHash,
        voidedBy: "key_1",
        reason: "Test.",
        now: test.now(),
        others,
      };
      const entry = { action: "usage.voided", organizationId: person.organizationId } as const;
      const audit = insertAuditEvent({ type: "apiKey", id: "key_1", client }, entry, { now: test.now() });
      return (await voidRecord(database, which, audit))?.voidedAt ?? null;
    },
    minMax: async () => {
      const [sum] = await readSums(test, apiKey, month);
      return sum && [sum.count, sum.min, sum.max];
    },
  };
}

onEveryDatabase(
  "a void considers records that arrived after the scan",
  async (test) => {
    const usage = await recordsOf(test, [5, 1, 9, 2]);
    const largest = await usage.scan(2);
    await recordOne(test, usage.apiKey, { quantity: 7 });
    await recordOne(test, usage.apiKey, { quantity: 0.5 });
    assert.notEqual(await usage.void(2, largest), null);
    assert.deepEqual(await usage.minMax(), [5, 0.5, 7]);
  },
);

onEveryDatabase("a void does nothing when a record that decides was voided", async (test) => {
  const usage = await recordsOf(test, [5, 1, 9, 8]);
  assert.equal(await usage.void(2, null), null, "not scanned yet");
  const others = await usage.scan(2);
  assert.ok(others?.seqs.includes(usage.referenceTo(3).seq));
  await voidOne(test, { apiKey: usage.apiKey, id: usage.ids[3] ?? "" });
  assert.equal(await usage.void(2, others), null, "the next largest was voided meanwhile");
  assert.deepEqual(await usage.minMax(), [3, 1, 9]);
  assert.notEqual(await usage.void(2, await usage.scan(2)), null);
  assert.deepEqual(await usage.minMax(), [2, 1, 5]);
  // Neither minimum nor maximum: no scan is needed.
  await recordOne(test, usage.apiKey, { quantity: 3 });
  const middle = await recordsOf(test, [1, 2, 3]);
  assert.notEqual(await middle.void(1, null), null);
});

const actArbitrary = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("record" as const),
      quantity: fc.constantFrom<number[]>(0, 1, 2, 3, 9_000_000_000_000),
      region: fc.constantFrom("x", "x", "x", undefined),
      user: fc.constantFrom("a", "a", "a", "b"),
      ago: fc.constantFrom<number[]>(0, 1_000, 1_000, 2_000, 900_000),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("void" as const), at: fc.nat(12) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("declare" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("fill" as const) }) },
);
const historyArbitrary = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: actArbitrary },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant("scan" as const),
        at: fc.nat(12),
        recordsMax: fc.integer({ min: 1, max: 3 }),
        during: fc.array(actArbitrary, { maxLength: 4, size: "max" }),
      }),
    },
  ),
  { minLength: 20, maxLength: 60, size: "max" },
);
type Act = typeof actArbitrary extends fc.Arbitrary<infer T> ? T : never;
type Step = typeof historyArbitrary extends fc.Arbitrary<(infer T)[]> ? T : never;

const record = (
  quantity: number,
  more: { ago?: number; region?: "x" | undefined; user?: "a" | "b" } = {},
): Step => ({
  do: "record",
  quantity,
  ago: 0,
  region: "x",
  user: "a",
  ...more,
});
const voidAt = (at: number): Act => ({ do: "void", at });
const scan = (at: number, during: Act[] = []): Step => ({ do: "scan", at, recordsMax: 1, during });
const wait: Act = { do: "fill" };
const examples: Step[][] = [
  // The latest record, without a scan.
  [record(1), record(3), record(2), voidAt(2)],
  // The next latest one is neither minimum nor maximum.
  [record(0), record(3), record(1), record(2), scan(3), voidAt(3)],
  // A record that decided is voided during the scan.
  [record(3), record(2), record(1), record(0), scan(0, [wait, wait, voidAt(1)]), voidAt(0)],
  // One that decides for a new dimension is counted after the scan.
  [
    record(9_000_000_000_000, { user: "b" }),
    record(2, { region: undefined }),
    { do: "declare" },
    record(3),
    record(1),
    scan(2),
    wait,
    wait,
    voidAt(2),
  ],
  // A later record is recorded and voided after the scan.
  [record(0), record(3), record(2), scan(2), record(1), scan(3), voidAt(3), voidAt(2)],
];

/** Declares some dimensions for all records, or another one for those from now on. */
const declare = (product: string, names: readonly string[][], isLater: boolean) =>
  names.map((list) =>
    sql`INSERT INTO usage_dimensions (product, metric, names, name_1, name_2, unfilled_seq)
      SELECT ${product}, 'm', ${JSON.stringify(list)}, ${list[0] ?? ""}, ${list[1] ?? null},
        ${isLater ? sql`seq` : sql`0`} FROM usage_cursor WHERE true ON CONFLICT DO NOTHING`
  );

onEveryDatabase(
  "voids keep every rollup and the latest records exact, however old a scan is",
  async (test) => {
    const { database } = test.opened;
    let histories = 0;
    await runHistories(historyArbitrary, async (steps) => {
      const productSlug = `p${histories++}`;
      const usage = await recordsOf(test, []);
      await database.write([
        ...declare(productSlug, [["region"], ["region", "user"]], false),
        sql`INSERT INTO usage_aggregations (product, metric, aggregation, unfilled_seq) VALUES (${productSlug}, 'm', 'last', 0)`,
      ]);
      const scans = new Map<number, OtherRecords | null>();
      const indexOf = (at: number) => at % Math.max(1, usage.ids.length);
      const act = async (now: Act) => {
        if (now.do === "record") {
          const { quantity, region, user, ago } = now;
          const properties = { user, ...region !== undefined && { region } };
          const timestamp = new Date(test.now() - ago).toISOString();
          const sent = { productSlug, metric: "m", quantity, properties, timestamp };
          usage.ids.push((await recordOne(test, usage.apiKey, sent)).id);
        } else if (now.do === "declare") await database.write(declare(productSlug, [["user"]], true));
        else if (now.do === "fill") await fillDimensions(test.services, { recordsMax: 2, restMs: 0 });
        else if (usage.ids.length > 0) {
          await usage.void(indexOf(now.at), scans.get(indexOf(now.at)) ?? null);
        }
      };
      for (const step of steps) {
        if (step.do !== "scan") await act(step);
        else if (usage.ids.length > 0) {
          const [index, acts] = [indexOf(step.at), [...step.during]];
          const during = async () => {
            const next = acts.shift();
            if (next !== undefined) await act(next);
          };
          scans.set(index, await usage.scan(index, { recordsMax: step.recordsMax, during }));
        }
      }
      await checkRollups(rowsOf(database));
      await checkCounted(rowsOf(database));
      await checkOwnSums(database);
      for (const index of usage.ids.keys()) {
        assert.notEqual(
          await usage.void(index, await usage.scan(index)),
          null,
          "a void with a new scan succeeds",
        );
      }
      await checkRollups(rowsOf(database));
    }, { rounds: repeats({ quick: 15, full: isRemote(test) ? 5 : 60 }), test, examples });
  },
  unlimited,
);

testApp("a void finds every row by an index", async (test) => {
  const usage = await recordsOf(test, [5, 1, 9]);
  const batches: (readonly Statement[])[] = [];
  const { database } = test.opened;
  const watched: Database = {
    source: database.source,
    read: (statement) => database.read(statement),
    readFirst: (statement) => database.readFirst(statement),
    write: (batch) => {
      batches.push(batch);
      return database.write(batch);
    },
    close: () => database.close(),
  };
  assert.notEqual(await usage.void(2, await usage.scan(2), watched), null);
  assert.equal(batches.length, 1);
  for (const statement of batches.flat().filter(({ sql }) => !sql.startsWith("INSERT INTO audit_events"))) {
    const { sql: text } = statement;
    const plan = await database.read<{ detail: string }>(sql`EXPLAIN QUERY PLAN ${statement}`);
    const details = plan.map(({ detail }) => detail);
    assert.ok(details.some((detail) => detail.startsWith("SEARCH")), text);
    for (const detail of details) {
      assert.doesNotMatch(
        detail,
        /^SCAN (?!CONSTANT ROW|\(subquery|[defkpstvw]$|record$|ranked$|[jp] VIRTUAL TABLE)|usage_records_timestamp|AUTOMATIC/,
        `${text}: ${detail}`,
      );
    }
  }
}, unlimited);

onEveryDatabase("minimum and maximum are null when they depend on deleted records", async (test) => {
  const person = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, person);
  const day = 24 * 3_600_000;
  const timestamp = new Date(test.now()).toISOString();
  const sent = (quantity: number) => ({ productSlug: "tiles", metric: "requests", quantity, timestamp });
  // Retention deletes the first ones. The others have the same timestamp and were recorded 30 days later.
  await recordAll(test, { apiKey, records: [sent(2), sent(3)] });
  test.advance(30 * day);
  await recordAll(test, { apiKey, records: [sent(9), sent(8), sent(1), sent(4)] });
  test.advance(380 * day);
  while (await deleteOldUsageRecords(test.services));
  const left = await listAll(test, apiKey);
  assert.deepEqual(left.map(({ quantity }) => quantity), [4, 1, 8, 9]);
  assert.ok(left.length < retentionStepRecordsMax);
  const range = "?from=2026-11-01&to=2026-12-01&window=month&groupBy=metric";
  const minMax = async () =>
    (await readSums(test, apiKey, range)).map(({ sum, count, min, max }) => [sum, count, min, max]);
  const voidQuantity = async (quantity: number) =>
    await voidOne(test, { apiKey, id: left.find((record) => record.quantity === quantity)?.id ?? "" });
  await voidQuantity(4);
  assert.deepEqual(await minMax(), [[23, 5, 1, 9]], "neither minimum nor maximum");
  await voidQuantity(9);
  assert.deepEqual(await minMax(), [[14, 4, 1, null]]);
  await voidQuantity(1);
  assert.deepEqual(await minMax(), [[13, 3, null, null]]);
  await voidQuantity(8);
  assert.deepEqual(await minMax(), [[5, 2, null, null]]);
});
