// Usage and API keys: callers without a key learn nothing and cost little, and two servers agree.
import assert from "node:assert/strict";
import type { Database, Statement } from "../../../../db/engine/database.ts";
import { generateApiKey } from "../../../../domain/keys/api_key.ts";
import { readUsageSums } from "../../../../services/meter/jobs/usage_sums.ts";
import { assertError, createTestKey, startTestApp, testApp } from "../../../support/app/app.ts";
import { remoteTestDatabase } from "../../../support/database/database.ts";
import { noJobContext } from "../../../support/app/reports.ts";
import { openServer, sqldMissing } from "../../../support/database/sqld.ts";
import { reservedName } from "../../../../routes/schemas/messages.ts";

const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };

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

testApp("rejects a property with an unusable name", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const body = `{"productSlug":"a","metric":"b","quantity":1,"properties":{"__proto__":"x","c":"1"}}`;
  const headers = { "content-type": "application/json" };
  const response = await test.send("/api/v1/usage", { method: "POST", apiKey, body, headers });
  const { error } = await assertError(response, 422, "validation_failed");
  assert.equal(error.details?.[0]?.message, reservedName);
});

Deno.test({
  name: "two servers on one database reject each other's revoked keys immediately and count a record once",
  ignore: sqldMissing() !== null,
  fn: async () => {
    const opened = await remoteTestDatabase();
    const shared = () => {
      const database = openServer(opened.place);
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
