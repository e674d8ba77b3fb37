// Several organizations in one commit, and commits beside other queued writes.
import assert from "node:assert/strict";
import { DatabaseError, sql } from "../../../db/engine/database.ts";
import { insertUsageRecords } from "../../../db/meter/recorder.ts";
import {
  databaseWritesWaitingMax,
  recorderQueueBytesMax,
  recorderQueueRecordsMax,
  usageBatchRecordsMax,
  usageBodyBytesMax,
} from "../../../domain/limits.ts";
import { queueLimits } from "../../../services/meter/recorder.ts";
import { createTestKey, type TestApp } from "../../support/app.ts";
import { onEveryDatabase } from "../../support/usage.ts";

const record = (test: TestApp, apiKey: string, idempotencyKey: string) =>
  test.send("/api/v1/usage", {
    apiKey,
    json: { productSlug: "tiles", metric: "requests", quantity: 1, idempotencyKey },
  });

onEveryDatabase("records the same idempotency key once for each organization in a commit", async (test) => {
  const keys = [];
  for (let n = 0; n < 3; n++) keys.push((await createTestKey(test, await test.signUp())).fullKey);
  // Requests with cached keys are queued without a lookup in between.
  for (const key of keys) assert.equal((await record(test, key, "first")).status, 201);
  const statuses = await Promise.all(
    keys.map((key) =>
      Promise.all(Array.from({ length: 5 }, async () => (await record(test, key, "same")).status))
    ),
  );
  for (const [organization, key] of keys.entries()) {
    assert.deepEqual(statuses[organization]?.toSorted(), [200, 200, 200, 200, 201]);
    const { data } = await (await test.send("/api/v1/usage?window=month", { apiKey: key })).json();
    assert.equal(data[0].count, 2);
  }
});

onEveryDatabase(
  "commits records while the queue of other writes is full",
  async ({ opened: { database } }) => {
    const others = Array.from(
      { length: databaseWritesWaitingMax },
      () => database.write([sql`SELECT 1`]),
    );
    const commit = insertUsageRecords(database, {
      now: 0,
      keyHashes: [],
      series: [],
      records: [],
      keys: 0,
      seriesMax: 0,
    });
    await assert.rejects(
      database.write([sql`SELECT 1`]),
      (error) => error instanceof DatabaseError && error.kind === "unavailable",
    );
    assert.deepEqual((await commit).activeKeys, []);
    await Promise.all(others);
  },
);

Deno.test("the queues of all threads together have a fixed size, and each fits the largest request", () => {
  for (const threads of [1, 2, 3, 4, 8, 64]) {
    const { total, share } = queueLimits(threads);
    assert(threads * total.records <= recorderQueueRecordsMax);
    assert(threads * total.bytes <= recorderQueueBytesMax);
    assert(share.records <= total.records && share.bytes <= total.bytes);
    assert(share.records >= usageBatchRecordsMax && share.bytes >= usageBodyBytesMax, `${threads} threads`);
  }
});
