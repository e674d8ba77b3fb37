// Retention: raw records are deleted in small steps, sums stay, and idempotency keys can be reused.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { retentionStepRecordsMax } from "../../../../domain/limits.ts";
import { deleteOldUsageRecords } from "../../../../services/meter/usage_records.ts";
import { createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import {
  listAll,
  listPage,
  onBothDatabases,
  onEveryDatabase,
  readSums,
  recordAll,
  recordOne,
  type SentRecord,
  unlimited,
  voidOne,
} from "../../../support/meter/usage.ts";

const dayMs = 24 * 3_600_000;
const retentionMs = 400 * dayMs;
const usage = { productSlug: "tiles", metric: "requests" };

const keyed = (count: number, name: string): SentRecord[] =>
  Array.from({ length: count }, (_, n) => ({ ...usage, quantity: n % 7, idempotencyKey: `${name} ${n}` }));

/** Returns the number of rows of a table. */
async function countOf(test: TestApp, table: string): Promise<number> {
  const row = await test.opened.database.readFirst<{ count: number }>(
    { sql: `SELECT count(*) AS count FROM ${table}`, args: [] },
  );
  return row?.count ?? -1;
}

/** Runs retention until done. @returns The number of records after each step. */
async function retain(test: TestApp): Promise<number[]> {
  const left: number[] = [];
  while (await deleteOldUsageRecords(test.services)) {
    left.push(await countOf(test, "usage_records"));
    assert.ok(left.length < 100, "retention does not end");
  }
  return left;
}

onBothDatabases("old records and their voids are deleted in steps, and the sums stay", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const range = "?from=2026-11-01&to=2026-12-01";
  // Not a multiple of a step, and more than the keys cleaned at once.
  const count = 7 * retentionStepRecordsMax + 123;
  assert.equal(await recordAll(test, { apiKey, records: keyed(count, "old") }), count);
  const { usageRecords: [first, second] } = await listPage(test, apiKey, "limit=2");
  assert.ok(first && second);
  for (const { id } of [first, second]) await voidOne(test, { apiKey, id });
  const before = await readSums(test, apiKey, range);
  assert.equal(before[0]?.count, count - 2);
  assert.deepEqual(await retain(test), [], "nothing is old yet");

  test.advance(retentionMs + 1);
  const left = await retain(test);
  const wanted = Array.from({ length: 8 }, (_, n) => Math.max(0, count - (n + 1) * retentionStepRecordsMax));
  assert.deepEqual(left, wanted);
  assert.deepEqual(await listAll(test, apiKey), []);
  assert.equal(await countOf(test, "usage_voids"), 0);
  assert.deepEqual(await readSums(test, apiKey, range), before);
});

onEveryDatabase(
  "the idempotency key of a deleted record can be reused, that of a newer one can't",
  async (test) => {
    const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
    await recordOne(test, apiKey, { idempotencyKey: "old" });
    const voided = await recordOne(test, apiKey, { idempotencyKey: "old and voided" });
    await voidOne(test, { apiKey, id: voided.id });
    test.advance(1);
    const border = await recordOne(test, apiKey, { idempotencyKey: "on the border" });
    test.advance(1);
    const younger = await recordOne(test, apiKey, { idempotencyKey: "younger" });
    test.advance(retentionMs - 1);
    await retain(test);
    assert.deepEqual((await listAll(test, apiKey)).map(({ id }) => id), [younger.id, border.id]);
    const repeat = async (idempotencyKey: string) => {
      const response = await test.send("/api/v1/usage", {
        apiKey,
        json: { ...usage, quantity: 1, idempotencyKey },
      });
      return [response.status, (await response.json()).usageRecord.id];
    };
    assert.deepEqual(await repeat("on the border"), [200, border.id]);
    assert.deepEqual(await repeat("younger"), [200, younger.id]);
    for (const idempotencyKey of ["old", "old and voided"]) {
      const [status, id] = await repeat(idempotencyKey);
      assert.equal(status, 201);
      assert.deepEqual(await repeat(idempotencyKey), [200, id]);
    }
    const gone = await test.send(`/api/v1/usage/records/${voided.id}/void`, {
      apiKey,
      json: { reason: "Again." },
    });
    assert.equal(gone.status, 404);
    await gone.body?.cancel();
  },
);

onEveryDatabase("recording, voiding and reading go on between the steps", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const old = keyed(3 * retentionStepRecordsMax, "old");
  await recordAll(test, { apiKey, records: old });
  test.advance(retentionMs + dayMs);
  const fresh = keyed(20, "fresh");
  let steps = 0;
  for (let isMore = true; isMore; steps++) {
    assert.equal(await recordAll(test, { apiKey, records: fresh.slice(0, 5 * (steps + 1)) }), 5);
    isMore = await deleteOldUsageRecords(test.services);
    const { usageRecords: [newest] } = await listPage(test, apiKey, "limit=1&from=2027-01-01T00:00:00Z");
    assert.ok(newest);
    await voidOne(test, { apiKey, id: newest.id });
  }
  assert.equal(steps, 4);
  const kept = await listAll(test, apiKey);
  assert.equal(kept.length, 20);
  const [sum] = await readSums(test, apiKey, "?from=2027-01-01&to=2028-12-01&window=month");
  assert.equal(sum?.count, 20 - kept.filter(({ voidedAt }) => voidedAt !== null).length);
});

testApp("keys of deleted records are cleaned up in proportion and don't accumulate", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const { database } = test.opened;
  const daily = 1_000;
  const keptDays = 3;
  let mostStale = 0;
  for (let day = 0; day < 12; day++) {
    await recordAll(test, { apiKey, records: keyed(daily, `day ${day}`) });
    // As if enough keys had been added to move these all the way.
    await database.write([
      sql`INSERT INTO usage_keys_settled SELECT hash, seq FROM usage_keys_recent UNION ALL SELECT hash, seq FROM usage_keys_middle`,
      sql`DELETE FROM usage_keys_recent`,
      sql`DELETE FROM usage_keys_middle`,
    ]);
    await retain(test);
    // Keys of existing records are never cleaned.
    const known = "usage_keys_settled k JOIN usage_records r ON r.seq = k.seq";
    assert.equal(await countOf(test, known), await countOf(test, "usage_records"));
    mostStale = Math.max(
      mostStale,
      await countOf(test, "usage_keys_settled") - await countOf(test, "usage_records"),
    );
    test.advance(retentionMs / keptDays);
  }
  const kept = await countOf(test, "usage_records");
  assert.ok(kept >= keptDays * daily && kept <= (keptDays + 1) * daily, `${kept} records are kept`);
  // A fifth of the keys may be stale, plus the records deleted in a day.
  assert.ok(mostStale <= daily + kept / 5, `${mostStale} keys are stale`);
}, unlimited);
