// Voids: the records that decide the minimum and maximum are found outside of the writer and verified in it.
import assert from "node:assert/strict";
import { type Database, sql, type Statement } from "../../../db/engine/database.ts";
import type { OtherRecords } from "../../../db/meter/other_records.ts";
import { voidRecord } from "../../../db/meter/usage_voids.ts";
import { hashApiKey } from "../../../domain/keys/api_key.ts";
import { retentionStepRecordsMax } from "../../../domain/limits.ts";
import { findOtherRecords } from "../../../services/meter/jobs/other_records.ts";
import { deleteOldUsageRecords } from "../../../services/meter/usage_records.ts";
import { createTestKey, type TestApp, testApp } from "../../support/app/app.ts";
import { grantVoids } from "../../support/operators/operators.ts";
import { noJobContext } from "../../support/app/reports.ts";
import {
  listAll,
  onEveryDatabase,
  readSums,
  recordAll,
  recordOne,
  unlimited,
  voidOne,
} from "../../support/meter/usage.ts";

const month = "?window=month";
const noAudit = { id: "aud_0", statement: sql`SELECT 1` };

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
    scan: (index: number) =>
      findOtherRecords({ ...noJobContext, database: test.opened.database }, {
        organizationId: person.organizationId,
        now: test.now(),
        seq: referenceTo(index).seq,
      }),
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
      return (await voidRecord(database, which, noAudit))?.voidedAt ?? null;
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
  for (const statement of batches.flat().filter((statement) => statement !== noAudit.statement)) {
    const { sql: text } = statement;
    const plan = await database.read<{ detail: string }>(sql`EXPLAIN QUERY PLAN ${statement}`);
    const details = plan.map(({ detail }) => detail);
    assert.ok(details.some((detail) => detail.startsWith("SEARCH")), text);
    for (const detail of details) {
      assert.doesNotMatch(
        detail,
        /^SCAN (?!CONSTANT ROW|\(subquery|[defkpstvw]$|record$|ranked$|j VIRTUAL TABLE)|usage_records_timestamp|AUTOMATIC/,
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
