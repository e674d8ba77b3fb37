// Recording and reading usage on both kinds of database: exact, once, durable, and only with an active key.
import assert from "node:assert/strict";
import { rememberedSeriesMs } from "../../../../domain/limits.ts";
import { assertError, createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import { onBothDatabases, onEveryDatabase } from "../../../support/meter/usage.ts";

const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };
const record = (
  test: TestApp,
  apiKey: string,
  more: Record<string, unknown> = {},
  headers: Record<string, string> = {},
) => test.send("/api/v1/usage", { apiKey, json: { ...usage, ...more }, headers });
const batch = (test: TestApp, apiKey: string, records: unknown[]) =>
  test.send("/api/v1/usage/batch", { apiKey, json: { records } });
const read = async (test: TestApp, apiKey: string, query = "") => {
  const response = await test.send(`/api/v1/usage${query}`, { apiKey });
  assert.equal(response.status, 200, await response.clone().text());
  return await response.json();
};
const total = async (test: TestApp, apiKey: string, query = "?window=month") =>
  (await read(test, apiKey, query)).data[0];

onEveryDatabase("returns new records in full and includes them in the next query", async (test) => {
  const { fullKey, id } = await createTestKey(test, await test.signUp());
  const given = {
    quantity: 2.5,
    timestamp: "2026-11-20T23:59:59.999+01:00",
    idempotencyKey: "a b~",
    properties: { b: "2", a: "1" },
  };
  const response = await record(test, fullKey, given);
  assert.equal(response.status, 201);
  const { usageRecord, ...rest } = await response.json();
  assert.deepEqual(rest, {});
  assert.match(usageRecord.id, /^use_[0-9a-f]{24}$/);
  assert.deepEqual(usageRecord, {
    id: usageRecord.id,
    productSlug: "tiles",
    metric: "requests",
    quantity: 2.5,
    timestamp: "2026-11-20T22:59:59.999Z",
    recordedAt: "2026-11-21T14:03:11.250Z",
    idempotencyKey: "a b~",
    properties: { b: "2", a: "1" },
    apiKeyId: id,
    environment: "live",
    voidedAt: null,
    voidedBy: null,
    voidReason: null,
  });
  assert.deepEqual(await read(test, fullKey), {
    from: "2026-11-01T00:00:00.000Z",
    to: "2026-12-01T00:00:00.000Z",
    window: "day",
    data: [{
      start: "2026-11-20T00:00:00.000Z",
      end: "2026-11-21T00:00:00.000Z",
      metric: "requests",
      sum: 2.5,
      count: 1,
      min: 2.5,
      max: 2.5,
    }],
  });
});

onEveryDatabase("a record without properties is the same record in its repeat", async (test) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  const given = { quantity: 1, idempotencyKey: "none", properties: {} };
  const { usageRecord } = await (await record(test, fullKey, given)).json();
  assert.equal(usageRecord.properties, null);
  assert.deepEqual((await (await record(test, fullKey, given)).json()).usageRecord, usageRecord);
});

onBothDatabases("sums are exact: tenths, 2^53−1, and beyond what 64 bits hold", async (test) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  for (let n = 0; n < 10; n++) await record(test, fullKey, { quantity: 0.1 });
  assert.deepEqual({ ...await total(test, fullKey), start: "", end: "" }, {
    start: "",
    end: "",
    metric: "requests",
    sum: 1,
    count: 10,
    min: 0.1,
    max: 0.1,
  });
  // Minimum and maximum are right in any order.
  for (const quantity of [5, 2.000001, 9, 3]) await record(test, fullKey, { metric: "mixed", quantity });
  const mixed = await total(test, fullKey, "?window=month&metric=mixed");
  assert.deepEqual([mixed.sum, mixed.min, mixed.max], [19.000001, 2.000001, 9]);
  const most = Number.MAX_SAFE_INTEGER;
  await record(test, fullKey, { metric: "bytes", quantity: most - 1 });
  await record(test, fullKey, { metric: "bytes", quantity: 1 });
  assert.equal((await total(test, fullKey, "?window=month&metric=bytes")).sum, most);
  // 2,000 times 2^53−1 is more than 2^63.
  for (let n = 0; n < 2; n++) {
    const records = Array.from({ length: 1000 }, () => ({ ...usage, metric: "huge", quantity: most }));
    assert.equal((await batch(test, fullKey, records)).status, 201);
  }
  const huge = await total(test, fullKey, "?window=month&metric=huge");
  assert.deepEqual([huge.sum, huge.count, huge.min, huge.max], [
    Number(2000n * BigInt(most)),
    2000,
    most,
    most,
  ]);
});

onEveryDatabase("a repeat returns the first record; different content is a conflict", async (test) => {
  const person = await test.signUp();
  const { fullKey } = await createTestKey(test, person);
  const other = await createTestKey(test, person, { name: "Other" });
  const first = await (await record(test, fullKey, { idempotencyKey: "one" })).json();
  test.advance(3_600_000);
  for (
    const again of [
      await record(test, fullKey, { idempotencyKey: "one" }),
      await record(test, fullKey, {}, { "idempotency-key": "one" }),
    ]
  ) {
    assert.equal(again.status, 200);
    assert.deepEqual(await again.json(), { usageRecord: first.usageRecord, duplicate: true });
  }
  // The same with another key of the organization.
  assert.equal((await record(test, other.fullKey, { idempotencyKey: "one" })).status, 200);
  const different = [
    { quantity: 2 },
    { quantity: 1.000001 },
    { metric: "other" },
    { productSlug: "other" },
    { properties: { a: "b" } },
    { timestamp: "2026-11-21T14:00:00Z" },
  ];
  for (const more of different) {
    const { error } = await assertError(
      await record(test, fullKey, { idempotencyKey: "one", ...more }),
      409,
      "idempotency_conflict",
    );
    assert.equal(error.details?.[0]?.path, "idempotencyKey");
  }
  assert.equal((await total(test, fullKey)).count, 1);
  const stranger = await createTestKey(test, await test.signUp());
  assert.equal((await record(test, stranger.fullKey, { idempotencyKey: "one" })).status, 201);
});

onEveryDatabase("a record with a timestamp, repeated without one, is a conflict", async (test) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  const idempotencyKey = "one";
  const dated = { idempotencyKey, timestamp: "2026-11-21T14:00:00Z" };
  assert.equal((await record(test, fullKey, dated)).status, 201);
  await assertError(await record(test, fullKey, { idempotencyKey }), 409, "idempotency_conflict");
  assert.equal((await record(test, fullKey, dated)).status, 200);
  const within = [{ ...usage, ...dated, idempotencyKey: "two" }, { ...usage, idempotencyKey: "two" }];
  await assertError(await batch(test, fullKey, within), 409, "idempotency_conflict");
  assert.equal((await total(test, fullKey)).count, 1);
});

onEveryDatabase("sixty identical concurrent requests create one record", async (test) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  const responses = await Promise.all(
    Array.from({ length: 60 }, () => record(test, fullKey, { idempotencyKey: "once" })),
  );
  assert.deepEqual(responses.map(({ status }) => status).sort(), [...Array(59).fill(200), 201]);
  const ids = await Promise.all(responses.map(async (response) => (await response.json()).usageRecord.id));
  assert.equal(new Set(ids).size, 1);
  assert.equal((await total(test, fullKey)).count, 1);
});

onBothDatabases(
  "a batch is all or nothing, counts repeats once, and keeps out nobody else's records",
  async (test) => {
    const { fullKey } = await createTestKey(test, await test.signUp());
    const keyed = (key: string, quantity = 1) => ({ ...usage, quantity, idempotencyKey: key });
    const response = await batch(test, fullKey, [keyed("a"), keyed("b"), keyed("a"), usage, usage]);
    assert.equal(response.status, 201);
    assert.deepEqual(await response.json(), { accepted: 4, duplicates: 1 });
    // A retry after a lost response, with further records.
    assert.deepEqual(await (await batch(test, fullKey, [keyed("a"), keyed("b"), keyed("c")])).json(), {
      accepted: 1,
      duplicates: 2,
    });
    assert.equal((await total(test, fullKey)).count, 5);
    const [conflict, within, single] = await Promise.all([
      batch(test, fullKey, [keyed("d"), keyed("b", 9), keyed("e")]),
      batch(test, fullKey, [keyed("f"), keyed("f", 2)]),
      record(test, fullKey, { idempotencyKey: "g" }),
    ]);
    const { error } = await assertError(conflict, 409, "idempotency_conflict");
    assert.deepEqual(error.details?.map(({ path }) => path), ["records[1].idempotencyKey"]);
    await assertError(within, 409, "idempotency_conflict");
    assert.equal(single.status, 201);
    assert.equal((await total(test, fullKey)).count, 6);
    // The idempotency keys of rejected records can be used.
    assert.deepEqual(await (await batch(test, fullKey, [keyed("d"), keyed("e"), keyed("f")])).json(), {
      accepted: 3,
      duplicates: 0,
    });
  },
);

testApp(
  "without an active key the response is 401 with identical bytes, and nothing is recorded",
  async (test) => {
    const person = await test.signUp();
    const { fullKey, id } = await createTestKey(test, person);
    const typo = fullKey.slice(0, -1) + (fullKey.endsWith("a") ? "b" : "a");
    const revoked = await createTestKey(test, person);
    await test.send(`/api/portal/api-keys/${revoked.id}`, { method: "DELETE", cookie: person.cookie });
    const expired = await createTestKey(test, person, { expiresAt: new Date(test.now() + 1).toISOString() });
    test.advance(1);
    const bad: Record<string, string>[] = [
      {},
      ...[typo, revoked.fullKey, expired.fullKey, "", "x", "service_live_", id, `${fullKey} x`].map((
        key,
      ) => ({ authorization: `Bearer ${key}` })),
      { authorization: fullKey },
      { authorization: `Basic ${btoa(`${fullKey}:`)}` },
      { cookie: person.cookie },
    ];
    for (const [method, end] of [["POST", ""], ["POST", "/batch"], ["GET", ""]] as const) {
      const bodies = new Set<string>();
      for (const headers of bad) {
        const response = await test.send(`/api/v1/usage${end}`, {
          method,
          headers,
          ...(method === "POST" ? { json: end === "" ? usage : { records: [usage] } } : {}),
        });
        const { error } = await assertError(response, 401, "invalid_api_key");
        assert.equal(error.message, "Invalid or missing API key.");
        assert.equal(response.headers.get("www-authenticate"), "Bearer");
        response.headers.delete("x-request-id");
        bodies.add(JSON.stringify([error, [...response.headers]]));
      }
      assert.equal(bodies.size, 1, [...bodies].join("\n"));
    }
    const rows = await test.opened.database.read({ sql: "SELECT * FROM usage_records", args: [] });
    assert.deepEqual(rows, []);
    // The name of the scheme is case-insensitive.
    assert.equal(
      (await test.send("/api/v1/usage", { headers: { authorization: `bearer ${fullKey}` }, json: usage }))
        .status,
      201,
    );
  },
);

testApp("says where the API key belongs if it comes in X-API-Key alone", async (test) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  const send = async (headers: Record<string, string>) =>
    (await assertError(await test.send("/api/v1/usage", { headers, json: usage }), 401, "invalid_api_key"))
      .error.message;
  const hint = "Send your API key as `Authorization: Bearer KEY` instead of `X-API-Key`.";
  for (const key of [fullKey, "wrong"]) assert.equal(await send({ "x-api-key": key }), hint);
  const both = await send({ "x-api-key": fullKey, authorization: "Bearer wrong" });
  assert.equal(both, "Invalid or missing API key.");
});

testApp("limits an address with invalid keys, but not its active keys", async (test) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  for (let n = 0; n < 60; n++) await assertError(await record(test, "wrong"), 401, "invalid_api_key");
  const response = await record(test, "wrong");
  await assertError(response, 429, "rate_limited");
  assert.equal(response.headers.get("retry-after"), "60");
  assert.equal((await record(test, fullKey)).status, 201);
  test.advance(60_000);
  await assertError(await record(test, "wrong"), 401, "invalid_api_key");
});

testApp("limits the requests of a key per second, and says how many are left", async (test) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  const responses = await Promise.all(Array.from({ length: 5 }, () => record(test, fullKey)));
  assert.deepEqual(responses.map(({ status }) => status).sort(), [201, 201, 201, 429, 429]);
  assert.equal(responses[0]?.headers.get("ratelimit"), '"key";r=2;t=1');
  assert.equal(responses[0]?.headers.get("ratelimit-policy"), '"key";q=3;w=1');
  assert.equal(responses[4]?.headers.get("retry-after"), "1");
  test.advance(1_000);
  assert.equal((await record(test, fullKey)).status, 201);
}, { API_KEY_REQUESTS_PER_SECOND: "3" });

testApp("reports each invalid field, and records nothing", async (test) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  const old = new Date(test.now() - 35 * 24 * 3_600_000 - 1).toISOString();
  const ahead = new Date(test.now() + 5 * 60_000 + 1).toISOString();
  const wrong: [string, unknown[]][] = [
    ["productSlug", ["", "-a", "a b", "é", "a".repeat(65), 1, null, undefined]],
    ["metric", ["", "_x", "a/b", {}, []]],
    ["quantity", [-1, 0.0000001, 1.2345678, 2 ** 53, 1e300, "1", null, true, undefined]],
    ["timestamp", [old, ahead, "now", "2026-11-21", 1, "2026-11-21T14:00:00"]],
    ["idempotencyKey", ["", "é", "a".repeat(256), 1]],
    ["properties", [
      "x",
      [],
      1,
      { a: 1 },
      Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`k${n}`, ""])),
    ]],
    ["extra", [1]],
  ];
  for (const [field, values] of wrong) {
    for (const value of values) {
      const { error } = await assertError(
        await record(test, fullKey, { [field]: value }),
        422,
        "validation_failed",
      );
      const path = error.details?.[0]?.path ?? "";
      assert(path === field || path.startsWith(`${field}.`), `${field}=${JSON.stringify(value)}: ${path}`);
      const many = await batch(test, fullKey, [usage, { ...usage, [field]: value }]);
      const inBatch = (await assertError(many, 422, "validation_failed")).error.details?.[0]?.path ?? "";
      assert(inBatch.startsWith(`records[1].${field}`), inBatch);
    }
  }
  for (
    const raw of [
      '{"productSlug":"a","metric":"b","quantity":1e400}',
      '{"productSlug":"a","metric":"b","quantity":9007199254740993}',
    ]
  ) {
    const response = await test.send("/api/v1/usage", {
      apiKey: fullKey,
      body: raw,
      headers: { "content-type": "application/json" },
    });
    await assertError(response, 422, "validation_failed");
  }
  for (const records of [[], Array(1001).fill(usage), "x", null]) {
    const answer = await test.send("/api/v1/usage/batch", { apiKey: fullKey, json: { records } });
    assert.equal((await assertError(answer, 422, "validation_failed")).error.details?.[0]?.path, "records");
  }
  await assertError(
    await record(test, fullKey, { idempotencyKey: "a" }, { "idempotency-key": "b" }),
    422,
    "validation_failed",
  );
  assert.deepEqual((await read(test, fullKey)).data, []);
  // The allowed extremes.
  const edges = [0, 0.000001, Number.MAX_SAFE_INTEGER, 4503599627370495.5];
  for (const quantity of edges) {
    assert.equal((await record(test, fullKey, { quantity })).status, 201, String(quantity));
  }
  assert.deepEqual((await total(test, fullKey)).min, 0);
});

testApp("lastUsedAt is updated with a record, at most once a minute", async (test) => {
  const person = await test.signUp();
  const { fullKey } = await createTestKey(test, person);
  const lastUsedAt = async () =>
    (await (await test.send("/api/portal/api-keys", { cookie: person.cookie })).json()).apiKeys[0].lastUsedAt;
  await record(test, fullKey);
  assert.equal(await lastUsedAt(), "2026-11-21T14:03:11.250Z");
  test.advance(59_999);
  await record(test, fullKey);
  assert.equal(await lastUsedAt(), "2026-11-21T14:03:11.250Z");
  // A thread that has recorded to a series a moment ago doesn't look at its key's last use.
  test.advance(rememberedSeriesMs);
  await record(test, fullKey);
  assert.equal(await lastUsedAt(), "2026-11-21T14:04:21.249Z");
});
