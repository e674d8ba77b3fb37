// When a key was last used: every request that it authenticates is a use, also a rejected one, and so is every verification.
import assert from "node:assert/strict";
import { noteKeyUses } from "../../../../db/meter/last_requests.ts";
import { hashApiKey } from "../../../../domain/keys/api_key.ts";
import { rejectedApiKeysPerMinuteMax } from "../../../../domain/limits.ts";
import {
  assertError,
  createTestKey,
  type SendOptions,
  type TestApp,
  testApp,
} from "../../../support/app/app.ts";
import { addLimit } from "../../../support/meter/limits.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { onBothDatabases, onEveryDatabase, recordOne, voidOne } from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";

const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const large = { records: Array(999).fill({ ...usage, properties: { text: "x".repeat(100) } }) };

/** Returns the time of the last use of a key, once its uses are written. */
async function usedAt(test: TestApp, fullKey: string): Promise<number | null> {
  await test.services.lastRequests.flush();
  // Waits for a write that the timer has begun.
  await run(test, "UPDATE plans SET name = name");
  const row = await test.opened.database.readFirst<{ at: number | null }>({
    sql: "SELECT last_used_at AS at FROM api_keys WHERE key_hash = ?",
    args: [hashApiKey(fullKey)],
  });
  return row?.at ?? null;
}

async function statusOf(test: TestApp, path: string, options: SendOptions): Promise<number> {
  const response = await test.send(path, options);
  await response.body?.cancel();
  return response.status;
}

const suspend = (test: TestApp, organizationId: string) =>
  run(test, "UPDATE organizations SET suspended_at = ? WHERE id = ?", test.now(), organizationId);

/** Requests that a new key authenticates, by the status of their response. */
const requests: readonly [status: number, path: string, options?: SendOptions][] = [
  [200, "/api/v1/usage?window=total"],
  [200, "/api/v1/usage.csv?window=total"],
  [200, "/api/v1/usage/records"],
  [200, "/api/v1/limits"],
  [404, `/api/v1/usage/records/use_${"0".repeat(32)}`],
  [403, `/api/v1/usage/records/use_${"0".repeat(32)}/void`, { json: { reason: "Sent twice." } }],
  [400, "/api/v1/usage", { body: "{", headers: { "content-type": "application/json" } }],
  [415, "/api/v1/usage", { body: "{}", headers: { "content-type": "text/plain" } }],
  [422, "/api/v1/usage", { json: { ...usage, quantity: -1 } }],
  [422, "/api/v1/usage?nothing=1"],
  [422, "/api/v1/usage/batch", { json: { records: [usage, { ...usage, metric: "" }] } }],
  [200, "/api/auth/forward?accept=key"],
  [403, "/api/auth/forward?accept=key&permission=maps:render"],
  [403, "/api/auth/forward?accept=key&role=OWNER"],
];

onEveryDatabase("every request that a key authenticates is a use, also a rejected one", async (test) => {
  const person = await test.signUp();
  for (const [status, path, options = {}] of requests) {
    const { fullKey: apiKey } = await createTestKey(test, person);
    assert.equal(await statusOf(test, path, { ...options, apiKey }), status, path);
    assert.equal(await usedAt(test, apiKey), test.now(), `${status} ${path}`);
  }
});

onEveryDatabase("voiding, a conflict and an exceeded limit are uses of a key", async (test) => {
  const person = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, person);
  const { id } = await recordOne(test, apiKey, { idempotencyKey: "a" });
  const isUse = async (use: () => Promise<unknown>) => {
    test.advance(minuteMs);
    await use();
    assert.equal(await usedAt(test, apiKey), test.now());
  };
  await isUse(async () => {
    const json = { ...usage, quantity: 2, idempotencyKey: "a" };
    await assertError(await test.send("/api/v1/usage", { apiKey, json }), 409, "idempotency_conflict");
  });
  await isUse(() => voidOne(test, { apiKey, id }));
  await addLimit(test, person, { per: "total", quantity: 0, mode: "hard" });
  await isUse(async () => {
    await assertError(await test.send("/api/v1/usage", { apiKey, json: usage }), 429, "limit_exceeded");
  });
});

testApp("a request beyond the rate of a key is a use", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  test.services.rateLimits.apiKeyRequests.take(hashApiKey(apiKey), 1);
  await run(test, "UPDATE plans SET requests_per_second = 1");
  await assertError(await test.send("/api/v1/usage", { apiKey }), 429, "rate_limited");
  assert.equal(await usedAt(test, apiKey), test.now());
});

onEveryDatabase("a rejected request of a suspended organization is a use of its key", async (test) => {
  const person = await test.signUp();
  const keys: { fullKey: string }[] = [];
  for (let n = 0; n < 3; n++) keys.push(await createTestKey(test, person));
  await suspend(test, person.organizationId);
  const peerAddress = "203.0.113.9";
  const sent: [string, SendOptions][] = [["/api/v1/usage", {}], ["/api/v1/usage/batch", { json: large }], [
    "/api/v1/usage",
    { peerAddress },
  ]];
  // The last one's address has sent many invalid keys.
  for (let n = 0; n <= rejectedApiKeysPerMinuteMax; n++) {
    await statusOf(test, "/api/v1/usage", { apiKey: "service_live_x", peerAddress });
  }
  for (const [n, [path, options]] of sent.entries()) {
    const apiKey = keys[n]?.fullKey ?? "";
    await assertError(await test.send(path, { ...options, apiKey }), 403, "organization_suspended");
    assert.equal(await usedAt(test, apiKey), test.now(), path);
  }
});

onEveryDatabase("a request with a key that doesn't work is no use of it", async (test) => {
  const person = await test.signUp();
  const expiresAt = new Date(test.now() + dayMs).toISOString();
  const [revoked, expired] = [
    await createTestKey(test, person),
    await createTestKey(test, person, { expiresAt }),
  ];
  const first = test.now();
  // From now on the thread remembers both keys.
  for (const { fullKey: apiKey } of [revoked, expired]) {
    assert.equal(await statusOf(test, "/api/v1/usage", { apiKey }), 200);
    assert.equal(await usedAt(test, apiKey), first);
  }
  await run(test, "UPDATE api_keys SET revoked_at = ? WHERE id = ?", test.now(), revoked.id);
  test.advance(dayMs);
  const { fullToken } = await newOperatorToken(test, ["keys:verify"]);
  for (const { fullKey: apiKey } of [revoked, expired]) {
    for (const options of [{}, { json: usage }, { json: {} }]) {
      await assertError(await test.send("/api/v1/usage", { ...options, apiKey }), 401, "invalid_api_key");
    }
    const json = { key: apiKey };
    assert.equal(await statusOf(test, "/api/v1/keys/verify", { apiKey: fullToken, json }), 200);
    test.services.lastRequests.note(
      hashApiKey(apiKey),
      429,
      () => ({ address: "", userAgent: "", error: null }),
    );
    assert.equal(await usedAt(test, apiKey), first);
  }
});

/** Questions about a new key, by their answer. */
const questions: readonly [code: string, question?: Record<string, unknown>][] = [
  ["VALID"],
  ["VALID", { usage: { productSlug: "tiles", metric: "requests" } }],
  ["VALID", { usage: { productSlug: "tiles", metric: "requests", record: true } }],
  ["USAGE_EXCEEDED", { usage: { productSlug: "full", metric: "requests" } }],
  ["USAGE_EXCEEDED", { usage: { productSlug: "full", metric: "requests", record: true } }],
  ["INSUFFICIENT_PERMISSIONS", { permissions: ["maps:render"] }],
  ["INSUFFICIENT_PERMISSIONS", {
    permissions: ["maps:render"],
    usage: { productSlug: "tiles", metric: "requests", record: true },
  }],
  ["RATE_LIMITED"],
  ["ORGANIZATION_SUSPENDED"],
];

onEveryDatabase("a verification is a use of the key, also if it denies", async (test) => {
  const person = await test.signUp();
  await addLimit(test, person, { per: "total", productSlug: "full", quantity: 0, mode: "hard" });
  const { fullToken } = await newOperatorToken(test, ["keys:verify"]);
  for (const [code, question = {}] of questions) {
    const { fullKey: key } = await createTestKey(test, person);
    if (code === "RATE_LIMITED") {
      await run(test, "UPDATE plans SET requests_per_second = 1");
      test.services.rateLimits.apiKeyRequests.take(hashApiKey(key), 1);
    }
    if (code === "ORGANIZATION_SUSPENDED") await suspend(test, person.organizationId);
    const response = await test.send("/api/v1/keys/verify", {
      apiKey: fullToken,
      json: { key, ...question },
    });
    assert.equal((await response.json()).code, code);
    assert.equal(await usedAt(test, key), test.now(), `${code} ${JSON.stringify(question)}`);
  }
});

testApp("a verification that fails with an error is no use of the key", async (test) => {
  const { fullKey: key } = await createTestKey(test, await test.signUp());
  const { fullToken: apiKey } = await newOperatorToken(test, ["keys:verify"]);
  const { fullToken: withoutScope } = await newOperatorToken(test, ["usage:read"]);
  const send = (apiKey: string, json: unknown) => statusOf(test, "/api/v1/keys/verify", { apiKey, json });
  assert.equal(await send(apiKey, { key, nothing: true }), 422);
  assert.equal(await send(withoutScope, { key }), 403);
  assert.equal(await send("op_live_x", { key }), 401);
  assert.equal(await usedAt(test, key), null);
});

onBothDatabases("uses that are written late or by several servers never go backwards", async (test) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  const { database } = test.opened;
  const start = test.now();
  const request = { network: "", userAgent: "", status: 200, error: null };
  // Of uses within a minute, the first one is kept.
  for (const minutes of [5, 0, 3, -1, 5.9]) {
    for (const noted of [null, request]) {
      const use = { keyHash: hashApiKey(fullKey), at: start + minutes * minuteMs, request: noted };
      await database.write(noteKeyUses([use]));
      assert.equal(await usedAt(test, fullKey), start + 5 * minuteMs);
    }
  }
  // Recording, whose clock is behind.
  await recordOne(test, fullKey);
  assert.equal(await usedAt(test, fullKey), start + 5 * minuteMs);
});

testApp("a verification isn't noted as a request from an address", async (test) => {
  const { id, fullKey: key } = await createTestKey(test, await test.signUp());
  const { fullToken } = await newOperatorToken(test, ["keys:verify"]);
  assert.equal(await statusOf(test, "/api/v1/usage", { apiKey: key, peerAddress: "203.0.113.9" }), 200);
  await usedAt(test, key);
  test.advance(minuteMs);
  assert.equal(await statusOf(test, "/api/v1/keys/verify", { apiKey: fullToken, json: { key } }), 200);
  assert.equal(await usedAt(test, key), test.now());
  const [row] = await test.opened.database.read<{ network: string; at: number }>({
    sql: "SELECT last_request_network AS network, last_request_at AS at FROM api_keys WHERE id = ?",
    args: [id],
  });
  assert.deepEqual(row, { network: "203.0.113.0/24", at: test.now() - minuteMs });
});

testApp("a key that only reads isn't listed as unused, nor revoked with those that are", async (test) => {
  const person = await test.signUp();
  const [reading, unused] = [
    await createTestKey(test, person, { name: "Dashboard" }),
    await createTestKey(test, person, { name: "Forgotten" }),
  ];
  await run(test, "UPDATE api_keys SET created_at = created_at - ?", 91 * dayMs);
  assert.equal(await statusOf(test, "/api/v1/usage", { apiKey: reading.fullKey }), 200);
  assert.equal(await usedAt(test, reading.fullKey), test.now());
  const path = "/portal/api-keys/revoke-unused";
  const html = await (await test.send(path, { cookie: person.cookie })).text();
  assert(html.includes(unused.id) && !html.includes(reading.id));
  const form = { [reading.id]: "on", [unused.id]: "on" };
  assert.equal(await statusOf(test, path, { cookie: person.cookie, form }), 303);
  assert.equal(await statusOf(test, "/api/v1/usage", { apiKey: reading.fullKey }), 200);
  assert.equal(await statusOf(test, "/api/v1/usage", { apiKey: unused.fullKey }), 401);
});
