// Several organizations in one commit, and commits beside other queued writes.
import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { DatabaseError, sql } from "../../../db/engine/database.ts";
import { insertUsageRecords } from "../../../db/meter/recorder.ts";
import {
  databaseWritesWaitingMax,
  recorderQueueBytesMax,
  recorderQueueRecordsMax,
  usageBatchRecordsMax,
  usageBodyBytesMax,
} from "../../../domain/limits.ts";
import { hashApiKey } from "../../../domain/keys/api_key.ts";
import { unavailableError } from "../../../domain/errors.ts";
import { queueLimits } from "../../../services/meter/commit_queue.ts";
import type { Reports } from "../../../services/reports/reports.ts";
import { createTestKey, type TestApp } from "../../support/app/app.ts";
import { addLimit } from "../../support/meter/limits.ts";
import { plainGroup } from "../../support/meter/record_groups.ts";
import { poll } from "../../support/runner/poll.ts";
import { onBothDatabases, onEveryDatabase } from "../../support/meter/usage.ts";
import { testReader } from "../../support/app/reports.ts";

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
    const others = Promise.all(Array.from(
      { length: databaseWritesWaitingMax },
      () => database.write([sql`SELECT 1`]),
    ));
    const commit = insertUsageRecords(database, plainGroup);
    await assert.rejects(
      database.write([sql`SELECT 1`]),
      (error) => error instanceof DatabaseError && error.kind === "unavailable",
    );
    assert.deepEqual((await commit).targets, []);
    await others;
  },
);

const input = { productSlug: "tiles", metric: "requests", quantity: { whole: 1, micro: 0 } };
const inputs = [{ ...input, timestamp: null, idempotencyKey: null, properties: null }];

/** Records once in each turn of the event loop, while `more` says so. @returns All requests. */
async function recordEachTurn(
  { services: { recorder } }: TestApp,
  { apiKey, more }: { apiKey: string; more: (requests: number) => boolean },
) {
  const requests: Promise<unknown>[] = [];
  await new Promise<void>((resolve) => {
    const next = () => {
      if (!more(requests.length)) return resolve();
      // Before the recorder looks at what the turn has brought.
      setImmediate(next);
      requests.push(recorder.record({ keyHash: hashApiKey(apiKey), inputs, bytes: 1 }));
    };
    next();
  });
  return requests;
}

onBothDatabases(
  "a group of known series is recorded without the requests that may not be recorded since",
  async (test) => {
    const keys = [];
    for (let n = 0; n < 5; n++) {
      const owner = await test.signUp();
      keys.push({ owner, ...await createTestKey(test, owner) });
    }
    for (const { fullKey } of keys) assert.equal((await record(test, fullKey, "first")).status, 201);
    type Scene = typeof keys[number];
    const [working, revoked, suspended, deleted, other] = keys as [Scene, Scene, Scene, Scene, Scene];
    const { database } = test.opened;
    const revoke = ({ fullKey }: Scene) =>
      sql`UPDATE api_keys SET revoked_at = 1 WHERE key_hash = ${hashApiKey(fullKey)}`;
    await database.write([
      revoke(revoked),
      sql`UPDATE organizations SET suspended_at = 1 WHERE id = ${suspended.owner.organizationId}`,
      sql`DELETE FROM usage_rollups WHERE series IN (SELECT us.id FROM usage_series us
        JOIN api_keys k ON k.number = us.api_key AND k.key_hash = ${hashApiKey(deleted.fullKey)})`,
      sql`DELETE FROM usage_series WHERE api_key = (
        SELECT number FROM api_keys WHERE key_hash = ${hashApiKey(deleted.fullKey)})`,
    ]);
    const statuses = (some: readonly Scene[], idempotencyKey: (n: number) => string) =>
      Promise.all(
        some.map(async ({ fullKey }, n) => (await record(test, fullKey, idempotencyKey(n))).status),
      );
    assert.deepEqual(await statuses(keys, () => "second"), [201, 401, 403, 201, 201]);
    // With a record that exists and one that doesn't, and known series again.
    const some = [working, deleted, other];
    assert.deepEqual(await statuses(some, () => "third"), [201, 201, 201]);
    await database.write([revoke(other)]);
    assert.deepEqual(await statuses(some, (n) => n === 0 ? "third" : "fourth"), [200, 201, 401]);
    const { data } = await (await test.send("/api/v1/usage?window=month", { apiKey: working.fullKey }))
      .json();
    assert.equal(data[0].count, 3);
  },
);

onEveryDatabase("a series that was only looked for isn't taken for known", async (test) => {
  const person = await test.signUp();
  const [first, second] = [await createTestKey(test, person), await createTestKey(test, person)];
  assert.equal((await record(test, first.fullKey, "same")).status, 201);
  const { database } = test.opened;
  let batches = 0;
  const write = database.write.bind(database);
  database.write = (batch, ...rest) => {
    if (batch.length > 5) batches++;
    return write(batch, ...rest);
  };
  // The record exists with the other key, so none is inserted, and this key gets no series.
  for (let n = 1; n <= 3; n++) {
    assert.equal((await record(test, second.fullKey, "same")).status, 200);
    assert.equal(batches, n);
  }
});

onEveryDatabase("requests of a few successive turns share a commit", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  assert.equal((await record(test, apiKey, "first")).status, 201);
  const { commitRecords } = test.services.recorder.metrics;
  const commits = commitRecords.cumulativeCounts().at(-1) ?? 0;
  await Promise.all(await recordEachTurn(test, { apiKey, more: (requests) => requests < 4 }));
  assert.equal(commitRecords.cumulativeCounts().at(-1), commits + 1);
});

onEveryDatabase("a commit starts although each turn brings more requests", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  assert.equal((await record(test, apiKey, "first")).status, 201);
  const { commitRecords } = test.services.recorder.metrics;
  const commits = commitRecords.cumulativeCounts().at(-1) ?? 0;
  const isCommitted = () => commitRecords.cumulativeCounts().at(-1) !== commits;
  const requests = await recordEachTurn(test, {
    apiKey,
    more: (requests) => requests < 20_000 && !isCommitted(),
  });
  assert(isCommitted());
  await Promise.all(requests);
});

/** Adds a limit after a key has recorded once. @param held The first sum of its earlier usage waits for this. */
async function startSumming(test: TestApp, held: Promise<unknown>) {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  assert.equal((await record(test, apiKey, "before")).status, 201);
  test.advance(3_600_000);
  await addLimit(test, {}, { per: "day", quantity: 43, mode: "hard" });
  const { reports } = test.services;
  const read: Reports["read"] = reports.read.bind(reports);
  const state = { sums: 0, read, record: (idempotencyKey: string) => record(test, apiKey, idempotencyKey) };
  reports.read = (name, ...input) => {
    const isHeld = name === "sumLimitCells" && ++state.sums === 1;
    return isHeld ? held.then(() => read(name, ...input)) : read(name, ...input);
  };
  return state;
}

onEveryDatabase("windows are summed once for all requests that arrive meanwhile", async (test) => {
  const { promise: mayRead, resolve: allowReading } = Promise.withResolvers<void>();
  const summing = await startSumming(test, mayRead);
  const { recorder } = test.services;
  const responses = [];
  for (let n = 0; n < 45; n++) {
    responses.push(summing.record(`${n}`));
    await poll(() => summing.sums === 1 && recorder.metrics.queuedRecords === n);
  }
  const closed = recorder.close();
  allowReading();
  const statuses = (await Promise.all(responses)).map(({ status }) => status);
  assert.deepEqual(statuses, Array.from({ length: 45 }, (_, n) => n < 42 ? 201 : 429));
  assert.equal(summing.sums, 1);
  await closed;
});

onEveryDatabase("only the requests whose sums have failed are rejected", async (test) => {
  const { promise: firstSum, reject: failFirstSum } = Promise.withResolvers<never>();
  const summing = await startSumming(test, firstSum);
  const statuses: number[] = [];
  for (let n = 0; n < 3; n++) {
    summing.record(`${n}`).then(({ status }) => statuses.push(status));
    await poll(() => summing.sums === 1 && test.services.recorder.metrics.queuedRecords === n);
  }
  failFirstSum(unavailableError("Full."));
  await poll(() => statuses.length === 3, 10_000);
  assert.deepEqual(statuses.sort(), [201, 201, 503]);
  assert.equal(summing.sums, 2);
});

onEveryDatabase("the recorder closes after sums have failed", async (test) => {
  const { promise: sum, reject: failSum } = Promise.withResolvers<never>();
  const summing = await startSumming(test, sum);
  const response = summing.record("first");
  await poll(() => summing.sums === 1);
  let isClosed = false;
  test.services.recorder.close().then(() => isClosed = true);
  failSum(unavailableError("Full."));
  assert.equal((await response).status, 503);
  await poll(() => isClosed, 10_000);
});

onEveryDatabase("requests that need sums are recorded while the thread drains and closes", async (test) => {
  const { promise: mayRead, resolve: allowReading } = Promise.withResolvers<void>();
  const summing = await startSumming(test, mayRead);
  const { services } = test;
  const response = summing.record("first");
  await poll(() => summing.sums === 1);
  services.drain();
  const closed = services.close();
  allowReading();
  assert.equal((await response).status, 201);
  await closed;
  await assert.rejects(
    summing.read("readOverview", { now: test.now(), metric: null }, { reader: testReader }),
    DatabaseError,
  );
});

onEveryDatabase("requests of one commit show the budgets of their own keys only", async (test) => {
  const person = await test.signUp();
  const keys = [await createTestKey(test, person), await createTestKey(test, person)];
  const shared = await addLimit(test, {}, { per: "day", quantity: 50, mode: "hard" });
  const budgets: string[] = [];
  for (const { id: apiKeyId } of keys) {
    budgets.push((await addLimit(test, { apiKeyId }, { per: "day", quantity: 9, mode: "hard" })).id);
  }
  for (const { fullKey } of keys) assert.equal((await record(test, fullKey, fullKey)).status, 201);
  const { recorder } = test.services;
  const { commitRecords } = recorder.metrics;
  const commits = commitRecords.cumulativeCounts().at(-1) ?? 0;
  const recorded = await Promise.all(
    keys.map(({ fullKey }) => recorder.record({ keyHash: hashApiKey(fullKey), inputs, bytes: 1 })),
  );
  assert.deepEqual(
    recorded.map(({ limits }) => limits.map(({ limitId }) => limitId).sort()),
    budgets.map((budget) => [shared.id, budget].sort()),
  );
  assert.equal(commitRecords.cumulativeCounts().at(-1), commits + 1);
});

Deno.test("the queues of all threads together have a fixed size, and each fits the largest request", () => {
  for (const threads of [1, 2, 3, 4, 8, 64]) {
    const { total, organization } = queueLimits(threads);
    assert(threads * total.records <= recorderQueueRecordsMax);
    assert(threads * total.bytes <= Math.max(recorderQueueBytesMax, threads * usageBodyBytesMax));
    assert(organization.records <= total.records && organization.bytes <= total.bytes);
    assert(
      organization.records >= usageBatchRecordsMax && organization.bytes >= usageBodyBytesMax,
      `${threads} threads`,
    );
  }
});
