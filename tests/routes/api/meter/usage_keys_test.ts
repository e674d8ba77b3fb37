// Usage and API keys: callers without a key learn nothing and cost little, and two servers agree.
import assert from "node:assert/strict";
import type { Database, Statement } from "../../../../db/engine/database.ts";
import { openRemote } from "../../../../db/engine/remote.ts";
import { generateApiKey } from "../../../../domain/api_key.ts";
import { readUsageSums } from "../../../../services/reports/jobs/usage_sums.ts";
import { assertError, createTestKey, startTestApp, testApp } from "../../../support/app/app.ts";
import { remoteTestDatabase } from "../../../support/database/database.ts";
import { noJobContext } from "../../../support/app/reports.ts";
import { sqldMissing } from "../../../support/database/sqld.ts";
import { reservedName } from "../../../../routes/schemas/messages.ts";
import { voidOne } from "../../../support/meter/usage.ts";

const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };
const cursor = { sql: "SELECT seq FROM usage_cursor", args: [] };

testApp("without an active key, a request gets no validation errors", async (test) => {
  const { fullKey } = generateApiKey();
  const type = { "content-type": "application/json" };
  for (const apiKey of [fullKey, "garbage"]) {
    for (const body of ["{", "[]", `{"productSlug":"${"a".repeat(1_100_000)}"}`]) {
      const response = await test.send("/api/v1/usage", { method: "POST", apiKey, body, headers: type });
      await assertError(response, 401, "invalid_api_key");
    }
    await assertError(await test.send("/api/v1/usage?window=x", { apiKey }), 401, "invalid_api_key");
  }
});

testApp(
  "an invalid key writes nothing, and after too many attempts is rejected before the body is read",
  async (test) => {
    const { fullKey: apiKey } = generateApiKey();
    for (let n = 0; n < 60; n++) {
      await assertError(await test.send("/api/v1/usage", { apiKey, json: usage }), 401, "invalid_api_key");
    }
    await assertError(await test.send("/api/v1/usage", { apiKey, json: usage }), 429, "rate_limited");
    assert.deepEqual((await test.opened.database.read<{ seq: number }>(cursor)).map(({ seq }) => seq), [0]);
    const known = await createTestKey(test, await test.signUp());
    assert.equal((await test.send("/api/v1/usage", { apiKey: known.fullKey, json: usage })).status, 201);
  },
);

testApp("rejects a property with an unusable name", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const body = `{"productSlug":"a","metric":"b","quantity":1,"properties":{"__proto__":"x","c":"1"}}`;
  const headers = { "content-type": "application/json" };
  const response = await test.send("/api/v1/usage", { method: "POST", apiKey, body, headers });
  const { error } = await assertError(response, 422, "validation_failed");
  assert.equal(error.details?.[0]?.message, reservedName);
});

testApp("sums very many series and windows in steps", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const records = (from: number, count: number) =>
    Array.from({ length: count }, (_, n) => ({ ...usage, metric: `m${from + n}` }));
  for (const [from, count] of [[0, 1000], [1000, 1]] as const) {
    const response = await test.send("/api/v1/usage/batch", {
      apiKey,
      json: { records: records(from, count) },
    });
    assert.equal(response.status, 201);
  }
  const hours = "window=hour&from=2026-10-11T00:00:00Z&to=2026-11-21T16:00:00Z";
  const wide = await (await test.send(`/api/v1/usage?${hours}`, { apiKey })).json();
  assert.deepEqual(wide.data.map(({ count }: { count: number }) => count), Array(1001).fill(1));
  const narrow = await (await test.send(`/api/v1/usage?${hours}&metric=m7`, { apiKey })).json();
  assert.deepEqual(narrow.data.map(({ count }: { count: number }) => count), [1]);
});

Deno.test({
  name: "two servers on one database reject each other's revoked keys immediately and count a record once",
  ignore: sqldMissing() !== null,
  fn: async () => {
    const opened = await remoteTestDatabase();
    const shared = () => {
      const database = openRemote({ url: opened.place, authToken: undefined });
      return Promise.resolve({ database, place: opened.place, dispose: () => database.close() });
    };
    const [a, b] = [await startTestApp({}, { open: shared }), await startTestApp({}, { open: shared })];
    const person = await a.signUp();
    const key = await createTestKey(a, person);
    const record = (test: typeof a) =>
      test.send("/api/v1/usage", { apiKey: key.fullKey, json: { ...usage, idempotencyKey: "once" } });
    const responses = await Promise.all(Array.from({ length: 30 }, (_, n) => record(n % 2 === 0 ? a : b)));
    assert.deepEqual(responses.map(({ status }) => status).sort(), [...Array(29).fill(200), 201]);
    const revoked = await b.send(`/api/portal/api-keys/${key.id}`, {
      method: "DELETE",
      cookie: person.cookie,
    });
    assert.equal(revoked.status, 200);
    for (const test of [a, b]) await assertError(await record(test), 401, "invalid_api_key");
    await a.send("/api/auth/sign-out", { method: "POST", cookie: person.cookie });
    const me = await (await b.send("/api/auth/me", { cookie: person.cookie })).json();
    assert.equal(me.authenticated, false);
    await a.dispose();
    await b.dispose();
    await opened.dispose();
  },
});

testApp(
  "the details of a conflicting batch name its records that conflict with earlier ones",
  async (test) => {
    const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
    const send = (...records: object[]) =>
      test.send("/api/v1/usage/batch", {
        apiKey,
        json: { records: records.map((record) => ({ ...usage, ...record })) },
      });
    const [a, b, c] = ["a", "b", "c"].map((idempotencyKey) => ({ idempotencyKey }));
    assert.equal((await send({ ...a }, { ...b }, { ...c })).status, 201);
    const conflicting = [{}, { ...a, quantity: 7 }, { ...b }, {}, { ...c, metric: "other" }, {
      ...a,
      quantity: 7,
    }];
    const { error } = await assertError(await send(...conflicting), 409, "idempotency_conflict");
    const message = "was used before for a record with different content.";
    assert.deepEqual(error.details, [
      { path: "records[1].idempotencyKey", message },
      { path: "records[4].idempotencyKey", message },
    ]);
    const single = await assertError(await send({ ...a, quantity: 7 }), 409, "idempotency_conflict");
    assert.deepEqual(single.error.details, [{ path: "idempotencyKey", message }]);
  },
);

testApp("a record with a conflicting idempotency key adds no metric", async (test) => {
  const person = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, person);
  const record = (json: object) => test.send("/api/v1/usage", { apiKey, json: { ...usage, ...json } });
  assert.equal((await record({ idempotencyKey: "a" })).status, 201);
  await assertError(await record({ idempotencyKey: "a", metric: "never" }), 409, "idempotency_conflict");
  const page = await (await test.send("/portal/usage/records", { cookie: person.cookie })).text();
  assert.match(page, /<option value="requests"/);
  assert.doesNotMatch(page, /never"/);
  // The metric of a voided record stays.
  const { usageRecord } = await (await record({ metric: "voided" })).json();
  await voidOne(test, { apiKey, id: usageRecord.id });
  await assertError(
    await record({ idempotencyKey: "a", metric: "voided" }),
    409,
    "idempotency_conflict",
  );
  const records = await test.send("/portal/usage/records", { cookie: person.cookie });
  assert.match(await records.text(), /<option value="voided"/);
});

testApp("reads only the part of a long range that has records", async (test) => {
  const { organizationId, ...person } = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, { organizationId, ...person });
  await test.send("/api/v1/usage", { apiKey, json: { ...usage, timestamp: "2026-10-31T23:30:00Z" } });
  await test.send("/api/v1/usage", { apiKey, json: usage });
  let rows = 0;
  const { database } = test.opened;
  const watched: Database = Object.assign(Object.create(database), {
    read: <T>(statement: Statement) => database.read<T>(statement),
    readFirst<T>(statement: Statement) {
      if (/FROM json_each/.test(statement.sql)) rows += JSON.parse(String(statement.args[0])).length;
      return database.readFirst<T>(statement);
    },
  });
  const { data } = await readUsageSums({ ...noJobContext, database: watched }, {
    organizationId,
    now: test.now(),
    window: "month",
    from: "1960-01-01",
    to: "2040-01-01",
    timezone: "Asia/Kathmandu",
  });
  assert.deepEqual(data.map(({ start, micros }) => [start, micros]), [[
    "2026-11-01T00:00:00.000+05:45",
    2_000_000n,
  ]]);
  assert.ok(rows >= 1 && rows <= 8, `${rows} parts of windows were read`);
});
