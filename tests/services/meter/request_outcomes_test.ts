// Counting outcomes in memory: when they are written, what is lost, and that no flood costs others more than its share.
import assert from "node:assert/strict";
import { type Database, DatabaseError, sql } from "../../../db/engine/database.ts";
import { generateApiKey, hashApiKey } from "../../../domain/keys/api_key.ts";
import { outcomesKeptMs, rejectionsKeptMs } from "../../../domain/meter/outcome.ts";
import { RequestOutcomes } from "../../../services/meter/request_outcomes.ts";
import { createTestKey, rotateTestKey, type TestApp } from "../../support/app/app.ts";
import { doWork } from "../../support/meter/background_work.ts";
import { outcomesOf, rejectionsOf } from "../../support/meter/outcomes.ts";
import { onBothDatabases, onEveryDatabase } from "../../support/meter/usage.ts";
import { newKeys } from "../../support/people/scene.ts";

const requestId = (n: number) => `req_${String(n).padStart(6, "0")}`;
const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };

/** The outcomes of another thread or server. `write`: in place of the database's. */
function otherThread(test: TestApp, write?: Database["write"]): RequestOutcomes {
  const { config, clock } = test.services;
  const { database } = test.opened;
  const replaced: Database = {
    source: database.source,
    read: (statement) => database.read(statement),
    readFirst: (statement) => database.readFirst(statement),
    write: write ?? ((...batch) => database.write(...batch)),
    close: () => Promise.resolve(),
  };
  const onBackgroundError = (error: unknown) => assert.fail(String(error));
  return new RequestOutcomes({ config, clock, database: replaced }, { onBackgroundError });
}

/** A database's `write` that counts its calls. */
function countingWrite(test: TestApp) {
  const calls = { count: 0 };
  const write: Database["write"] = (...batch) => {
    calls.count++;
    return test.opened.database.write(...batch);
  };
  return { calls, write };
}

async function newKey(test: TestApp) {
  const person = await test.signUp();
  const { id, fullKey } = await createTestKey(test, person);
  return { person, id, fullKey, keyHash: hashApiKey(fullKey), organizationId: person.organizationId };
}

const rejection = (
  n: number,
) => ({ outcome: "rate_limited", requestId: requestId(n), message: null, limit: null } as const);

onBothDatabases(
  "counts of several threads and servers add up, and are written when each stops",
  async (test) => {
    const { person, keyHash, organizationId } = await newKey(test);
    const threads = [1, 2, 3].map(() => otherThread(test));
    for (const [n, thread] of threads.entries()) {
      for (let count = 0; count <= n; count++) thread.accept(keyHash, organizationId, { isRepeat: false });
      thread.accept(keyHash, organizationId, { isRepeat: true });
      thread.reject(keyHash, organizationId, rejection(n));
    }
    await Promise.all(threads.map((thread) => thread.close()));
    assert.deepEqual(await outcomesOf(test, person), { accepted: 6, duplicate: 3, rate_limited: 3 });
    assert.equal((await rejectionsOf(test, person)).length, 3);
  },
);

onEveryDatabase("a write that fails loses its counts, and later ones are written once", async (test) => {
  const { person, keyHash, organizationId } = await newKey(test);
  let isFailing = true;
  const thread = otherThread(test, async (...batch) => {
    // As a libSQL server whose response is lost.
    const results = await test.opened.database.write(...batch);
    if (isFailing) throw new DatabaseError("unavailable", "lost");
    return results;
  });
  thread.accept(keyHash, organizationId, { isRepeat: false });
  await assert.rejects(thread.flush(), DatabaseError);
  isFailing = false;
  thread.accept(keyHash, organizationId, { isRepeat: false });
  await thread.close();
  assert.deepEqual(await outcomesOf(test, person), { accepted: 2 });
});

onEveryDatabase("a request of the last hour is counted in that hour", async (test) => {
  const { keyHash, organizationId } = await newKey(test);
  const thread = otherThread(test);
  thread.accept(keyHash, organizationId, { isRepeat: false });
  test.advance(3_600_000);
  thread.accept(keyHash, organizationId, { isRepeat: false });
  await thread.close();
  const rows = await test.opened.database.read(sql`SELECT hour, count FROM api_key_outcomes ORDER BY hour`);
  const hour = Math.floor(test.now() / 3_600_000);
  assert.deepEqual(rows.map((row) => ({ ...row })), [{ hour: hour - 1, count: 1 }, { hour, count: 1 }]);
});

onBothDatabases("only the last 20 rejections of a key are kept", async (test) => {
  const { person, keyHash, organizationId } = await newKey(test);
  const other = await createTestKey(test, person, { name: "Other" });
  test.services.requestOutcomes.reject(hashApiKey(other.fullKey), organizationId, rejection(99));
  for (let n = 0; n < 30; n++) {
    test.advance(1);
    test.services.requestOutcomes.reject(keyHash, organizationId, rejection(n));
    if (n === 11) await test.services.requestOutcomes.flush();
  }
  const rejections = await rejectionsOf(test, person);
  const last = Array.from({ length: 20 }, (_, n) => requestId(29 - n));
  assert.deepEqual(rejections.map((one) => one.requestId), [...last, requestId(99)]);
  // Also if all are of one moment.
  for (let n = 30; n < 60; n++) {
    test.services.requestOutcomes.reject(keyHash, organizationId, rejection(n));
    if (n === 45) await test.services.requestOutcomes.flush();
  }
  await test.services.requestOutcomes.flush();
  const [row] = await test.opened.database.read(sql`SELECT count(*) AS count FROM api_key_rejections`);
  assert.equal(row?.["count"], 21);
  assert.deepEqual(await outcomesOf(test, person), { rate_limited: 61 });
});

onBothDatabases("keys that don't exist write nothing", async (test) => {
  const { calls, write } = countingWrite(test);
  const thread = otherThread(test, write);
  for (let n = 0; n < 500; n++) {
    const { fullKey } = generateApiKey();
    thread.rejectInvalid(hashApiKey(fullKey), { isFlood: false, requestId: requestId(n) });
  }
  await thread.close();
  assert.equal(calls.count, 0);
  const [row] = await test.opened.database.read(sql`SELECT count(*) AS count FROM api_key_outcomes`);
  assert.equal(row?.["count"], 0);
});

onEveryDatabase(
  "a client that sent too many invalid keys adds no more of them, but its requests are counted",
  async (test) => {
    const { person, fullKey } = await newKey(test);
    const other = await createTestKey(test, person, { name: "Other" });
    await test.opened.database.write([sql`UPDATE api_keys SET revoked_at = ${test.now()}`]);
    const send = async (apiKey: string) => {
      const response = await test.send("/api/v1/usage", { apiKey, json: usage });
      await response.body?.cancel();
      return response.status;
    };
    for (let n = 0; n < 100; n++) assert.equal(await send(fullKey), n < 60 ? 401 : 429);
    assert.equal(await send(other.fullKey), 429);
    assert.deepEqual(await outcomesOf(test, person), { revoked: 100 });
  },
);

onEveryDatabase(
  "a flood of one organization leaves room for a neighbor, in memory and in the database",
  async (test) => {
    const [flooding, neighbor] = [await newKey(test), await newKey(test)];
    const { calls, write } = countingWrite(test);
    const thread = otherThread(test, write);
    const keys = await newKeys(test, flooding.organizationId, 90);
    for (let n = 0; n < 90 * 100; n++) {
      const { fullKey } = keys[n % keys.length] ?? {};
      thread.reject(hashApiKey(fullKey ?? ""), flooding.organizationId, rejection(n));
    }
    // Hashes of keys that this organization doesn't have: more than it may have at the same time.
    for (let n = 0; n < 5_000; n++) thread.accept(`hash ${n}`, flooding.organizationId, { isRepeat: false });
    for (let n = 0; n < 5_000; n++) {
      thread.rejectInvalid(`unknown ${n}`, { isFlood: false, requestId: requestId(n) });
    }
    thread.reject(neighbor.keyHash, neighbor.organizationId, rejection(99_999));
    await thread.close();
    assert(calls.count <= 11, `${calls.count} writes`);
    assert.deepEqual(await outcomesOf(test, flooding.person), { rate_limited: 9_000 });
    assert.equal((await rejectionsOf(test, flooding.person)).length, 100);
    const [row] = await test.opened.database.read(sql`SELECT count(*) AS count FROM api_key_rejections`);
    assert.equal(row?.["count"], 201);
    assert.deepEqual(await outcomesOf(test, neighbor.person), { rate_limited: 1 });
    assert.equal((await rejectionsOf(test, neighbor.person)).length, 1);
  },
);

onEveryDatabase("counts are kept for 90 days, and rejections for 30", async (test) => {
  const { keyHash, organizationId } = await newKey(test);
  const rows = async () => {
    const [row] = await test.opened.database.read(
      sql`SELECT (SELECT count(*) FROM api_key_outcomes) AS counts,
      (SELECT count(*) FROM api_key_rejections) AS rejections`,
    );
    return [row?.["counts"], row?.["rejections"]];
  };
  for (let hour = 0; hour < 3; hour++) {
    test.services.requestOutcomes.reject(keyHash, organizationId, rejection(hour));
    await test.services.requestOutcomes.flush();
    test.advance(3_600_000);
  }
  const upkeep = () => doWork(test, "old outcomes of requests");
  await upkeep();
  assert.deepEqual(await rows(), [3, 3]);
  test.advance(rejectionsKeptMs - 2 * 3_600_000);
  await upkeep();
  assert.deepEqual(await rows(), [3, 2]);
  test.advance(outcomesKeptMs - rejectionsKeptMs);
  await upkeep();
  assert.deepEqual(await rows(), [2, 0]);
  test.advance(3 * 3_600_000);
  await upkeep();
  assert.deepEqual(await rows(), [0, 0]);
});

onEveryDatabase("a rotated key keeps its rejections apart from those of the new one", async (test) => {
  const { person, id, keyHash, organizationId } = await newKey(test);
  const rotated = await rotateTestKey(test, person, { id });
  test.services.requestOutcomes.reject(keyHash, organizationId, rejection(1));
  test.services.requestOutcomes.reject(hashApiKey(rotated.fullKey), organizationId, rejection(2));
  const ofKey = async (id: string) =>
    (await rejectionsOf(test, person, `&apiKey=${id}`)).map((one) => [one.apiKey.id, one.requestId]);
  assert.deepEqual(await ofKey(id), [[id, requestId(1)]]);
  assert.deepEqual(await ofKey(rotated.id), [[rotated.id, requestId(2)]]);
});
