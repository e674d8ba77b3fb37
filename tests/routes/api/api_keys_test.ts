// API keys over JSON: what responses contain, who sees which key, and when keys stop working.
import assert from "node:assert/strict";
import { isWellFormedApiKey } from "../../../domain/api_key.ts";
import { assertError, createTestKey, type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";

const path = "/api/portal/api-keys";
const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };
const record = (test: TestApp, apiKey: string) => test.send("/api/v1/usage", { apiKey, json: usage });
const list = async (test: TestApp, person: TestPerson, query = "") =>
  await (await test.send(`${path}${query}`, { cookie: person.cookie })).json();
const del = (test: TestApp, person: TestPerson, id: string) =>
  test.send(`${path}/${id}`, { method: "DELETE", cookie: person.cookie });

testApp("createApiKey() returns the full key once, and never its hash", async (test) => {
  const person = await test.signUp("Ada");
  const response = await test.send(path, { cookie: person.cookie, json: { name: "  Production  " } });
  assert.equal(response.status, 201);
  assert.match(response.headers.get("cache-control") ?? "", /no-store/);
  const { apiKey, fullKey } = await response.json();
  assert.match(fullKey, /^service_live_[0-9A-Za-z]{38}$/);
  assert(isWellFormedApiKey(fullKey));
  assert.match(apiKey.keyPrefix, /^service_live_[0-9A-Za-z]{4,12}…$/);
  assert(fullKey.startsWith(apiKey.keyPrefix.slice(0, -1)));
  assert.deepEqual(apiKey, {
    id: apiKey.id,
    name: "Production",
    keyPrefix: apiKey.keyPrefix,
    environment: "live",
    createdAt: "2026-11-21T14:03:11.250Z",
    createdBy: { id: person.userId, name: "Ada" },
    createdByOperator: false,
    permissions: ["usage:read", "usage:write"],
    budget: [],
    lastUsedAt: null,
    expiresAt: null,
    revokedAt: null,
    leakedAt: null,
    status: "active",
  });
  const listed = await list(test, person);
  assert.deepEqual(listed, { apiKeys: [apiKey], nextCursor: null });
  const rows = await test.opened.database.read({ sql: "SELECT * FROM api_keys", args: [] });
  assert(!JSON.stringify(rows).includes(fullKey.slice(apiKey.keyPrefix.length)));
});

testApp("trims names, limits their characters, and rejects control characters", async (test) => {
  const person = await test.signUp();
  for (const name of ["", "   ", "x".repeat(101), "a\nb", "a\u0000b", "\ud800", 7, null, ["a"]]) {
    const { error } = await assertError(
      await test.send(path, { cookie: person.cookie, json: { name } }),
      422,
      "validation_failed",
    );
    assert.equal(error.details?.[0]?.path, "name", JSON.stringify(name));
  }
  for (const name of ["x", "🗝".repeat(100), `"<script>alert(1)</script>' OR 1=1; --`]) {
    const created = await (await test.send(path, { cookie: person.cookie, json: { name } })).json();
    assert.equal(created.apiKey.name, name);
  }
});

testApp("lists keys newest first, in pages, including revoked and expired ones", async (test) => {
  const person = await test.signUp();
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) ids.unshift((await createTestKey(test, person, { name: `Key ${n}` })).id);
  await del(test, person, ids[1] ?? "");
  const first = await list(test, person, "?limit=2");
  const second = await list(test, person, `?limit=2&cursor=${first.nextCursor}`);
  const third = await list(test, person, `?limit=2&cursor=${second.nextCursor}`);
  const seen = [first, second, third].flatMap(({ apiKeys }) => apiKeys.map(({ id }: { id: string }) => id));
  assert.deepEqual(seen, ids);
  assert.equal(third.nextCursor, null);
  assert.equal(first.apiKeys[1].status, "revoked");
  for (
    const query of ["?limit=0", "?limit=101", "?limit=x", "?cursor=nothing", "?page=2", "?limit=1&limit=2"]
  ) {
    await assertError(
      await test.send(`${path}${query}`, { cookie: person.cookie }),
      422,
      "validation_failed",
    );
  }
});

testApp("revokeApiKey() rejects the key's next request, and returns the same result again", async (test) => {
  const person = await test.signUp();
  const key = await createTestKey(test, person);
  assert.equal((await record(test, key.fullKey)).status, 201);
  const first = await (await del(test, person, key.id)).json();
  await assertError(await record(test, key.fullKey), 401, "invalid_api_key");
  await assertError(await test.send("/api/v1/usage", { apiKey: key.fullKey }), 401, "invalid_api_key");
  assert.equal(first.apiKey.status, "revoked");
  assert.equal(first.apiKey.revokedAt, "2026-11-21T14:03:11.250Z");
  test.advance(60_000);
  assert.deepEqual(await (await del(test, person, key.id)).json(), { apiKey: { ...first.apiKey } });
});

testApp("a key expires at its time, and not before", async (test) => {
  const person = await test.signUp();
  const key = await createTestKey(test, person, { expiresAt: "2026-11-21T15:04:11.250+01:00" });
  test.advance(59_999);
  assert.equal((await record(test, key.fullKey)).status, 201);
  test.advance(1);
  await assertError(await record(test, key.fullKey), 401, "invalid_api_key");
  assert.equal((await list(test, person)).apiKeys[0].status, "expired");
  for (
    const expiresAt of [
      "2026-11-21T14:04:11.250Z",
      "yesterday",
      "2026-11-21",
      1,
      "2027-02-30",
      "2027-02-30T00:00:00Z",
    ]
  ) {
    const response = await test.send(path, { cookie: person.cookie, json: { name: "A", expiresAt } });
    const { error } = await assertError(response, 422, "validation_failed");
    assert.equal(error.details?.[0]?.path, "expiresAt");
  }
});

testApp("a key that expires on a date expires at midnight UTC", async (test) => {
  const person = await test.signUp();
  const key = await createTestKey(test, person, { expiresAt: "2026-11-22" });
  assert.equal((await list(test, person)).apiKeys[0].expiresAt, "2026-11-22T00:00:00.000Z");
  test.advance(Date.UTC(2026, 10, 22) - test.now() - 1);
  assert.equal((await record(test, key.fullKey)).status, 201);
  test.advance(1);
  await assertError(await record(test, key.fullKey), 401, "invalid_api_key");
});

testApp("changeApiKey() changes only the name that it is given", async (test) => {
  const person = await test.signUp();
  const key = await createTestKey(test, person);
  const before = (await list(test, person)).apiKeys[0];
  const response = await test.send(`${path}/${key.id}`, {
    method: "PATCH",
    cookie: person.cookie,
    json: { name: "Staging" },
  });
  assert.deepEqual((await response.json()).apiKey, { ...before, name: "Staging" });
  assert.equal((await record(test, key.fullKey)).status, 201);
});

const rotate = (test: TestApp, { cookie }: TestPerson, { id, json }: { id: string; json?: unknown }) =>
  test.send(`${path}/${id}/rotate`, { method: "POST", cookie, ...(json === undefined ? {} : { json }) });

async function rotated(test: TestApp, person: TestPerson, options: { id: string; json?: unknown }) {
  const response = await rotate(test, person, options);
  assert.equal(response.status, 201, await response.clone().text());
  const { apiKey, fullKey } = await response.json();
  return { id: apiKey.id as string, name: apiKey.name as string, fullKey: fullKey as string };
}

async function endOf(test: TestApp, person: TestPerson, id: string) {
  const { apiKeys } = await list(test, person);
  const { status, expiresAt, revokedAt } = apiKeys.find((apiKey: { id: string }) => apiKey.id === id);
  return { status, expiresAt, revokedAt };
}

for (const json of [undefined, {}, { expireOldAt: null }]) {
  testApp(
    `rotating with ${JSON.stringify(json) ?? "no body"} keeps the old key for 24 hours`,
    async (test) => {
      const person = await test.signUp();
      const old = await createTestKey(test, person);
      const next = await rotated(test, person, { id: old.id, json });
      assert.equal(next.name, "Production");
      const end = { expiresAt: "2026-11-22T14:03:11.250Z", revokedAt: null };
      assert.deepEqual(await endOf(test, person, old.id), { status: "active", ...end });
      test.advance(24 * 3_600_000 - 1);
      for (const { fullKey } of [old, next]) assert.equal((await record(test, fullKey)).status, 201);
      test.advance(1);
      await assertError(await record(test, old.fullKey), 401, "invalid_api_key");
      assert.equal((await record(test, next.fullKey)).status, 201);
      await assertError(await rotate(test, person, { id: old.id }), 422, "validation_failed");
    },
  );
}

testApp("rotating with “now” revokes the old key immediately", async (test) => {
  const person = await test.signUp();
  const old = await createTestKey(test, person);
  const next = await rotated(test, person, { id: old.id, json: { expireOldAt: "now" } });
  await assertError(await record(test, old.fullKey), 401, "invalid_api_key");
  assert.equal((await record(test, next.fullKey)).status, 201);
  const revokedAt = "2026-11-21T14:03:11.250Z";
  assert.deepEqual(await endOf(test, person, old.id), { status: "revoked", expiresAt: null, revokedAt });
});

testApp("a rotated key works until the given time, which must be in the future", async (test) => {
  const person = await test.signUp();
  const old = await createTestKey(test, person);
  for (const expireOldAt of ["2026-11-21T14:03:11.250Z", "2026-11-21", "Now", "", "never", 1]) {
    const { error } = await assertError(
      await rotate(test, person, { id: old.id, json: { expireOldAt } }),
      422,
      "validation_failed",
    );
    assert.equal(error.details?.[0]?.path, "expireOldAt");
  }
  const next = await rotated(test, person, {
    id: old.id,
    json: { expireOldAt: "2026-11-21T15:03:11.250Z" },
  });
  assert.equal((await record(test, old.fullKey)).status, 201);
  test.advance(3_600_000);
  await assertError(await record(test, old.fullKey), 401, "invalid_api_key");
  assert.equal((await record(test, next.fullKey)).status, 201);
});

testApp("rotating never extends a key that expires earlier, also not in a chain", async (test) => {
  const person = await test.signUp();
  const expiresAt = "2026-11-21T15:00:00.000Z";
  const old = await createTestKey(test, person, { expiresAt });
  const second = await rotated(test, person, { id: old.id, json: {} });
  const third = await rotated(test, person, { id: second.id, json: {} });
  for (const { id } of [old, second, third]) {
    assert.deepEqual(await endOf(test, person, id), { status: "active", expiresAt, revokedAt: null });
  }
  const first = await createTestKey(test, person);
  await rotated(test, person, { id: first.id, json: { expireOldAt: expiresAt } });
  await rotated(test, person, { id: first.id, json: {} });
  assert.equal((await endOf(test, person, first.id)).expiresAt, expiresAt);
});

testApp("one of several concurrent rotations succeeds, and one active key is left", async (test) => {
  const person = await test.signUp();
  const old = await createTestKey(test, person);
  const responses = await Promise.all(
    Array.from({ length: 8 }, () => rotate(test, person, { id: old.id, json: { expireOldAt: "now" } })),
  );
  assert.deepEqual(responses.map(({ status }) => status).sort(), [201, ...Array(7).fill(422)]);
  const active = (await list(test, person)).apiKeys.filter(({ status }: { status: string }) =>
    status === "active"
  );
  assert.equal(active.length, 1);
});

testApp("an organization has at most 100 active keys, even if created concurrently", async (test) => {
  const person = await test.signUp();
  const make = () => test.send(path, { cookie: person.cookie, json: { name: "A" } });
  const responses = await Promise.all(Array.from({ length: 110 }, make));
  assert.equal(responses.filter(({ status }) => status === 201).length, 100);
  await assertError(await make(), 409, "key_limit_reached");
  const { apiKeys } = await list(test, person, "?limit=1");
  await del(test, person, apiKeys[0].id);
  assert.equal((await make()).status, 201);
});

testApp("members see and manage only their own keys", async (test) => {
  const owner = await test.signUp();
  const member = await test.signUp();
  const key = await createTestKey(test, owner);
  await test.opened.database.write([
    { sql: "DELETE FROM memberships WHERE user_id = ?", args: [member.userId] },
    {
      sql: "INSERT INTO memberships (user_id, organization_id, role, created_at) VALUES (?, ?, 'MEMBER', 1)",
      args: [member.userId, owner.organizationId],
    },
    {
      sql: "UPDATE sessions SET organization_id = ? WHERE user_id = ?",
      args: [owner.organizationId, member.userId],
    },
  ]);
  assert.deepEqual((await list(test, member)).apiKeys, []);
  await assertError(await del(test, member, key.id), 404, "not_found");
  const own = await createTestKey(test, member, { name: "Mine" });
  assert.equal((await list(test, member)).apiKeys.length, 1);
  assert.equal((await list(test, owner)).apiKeys.length, 2);
  assert.equal((await del(test, owner, own.id)).status, 200);
  await assertError(await record(test, own.fullKey), 401, "invalid_api_key");
});
