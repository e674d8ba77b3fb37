// API keys over JSON: what responses contain, who sees which key, and when keys stop working.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { isWellFormedApiKey } from "../../../domain/keys/api_key.ts";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { assertOutcome, assertRows, fetchJson, type Row } from "../../support/app/rows.ts";
import { recordWith } from "../../support/meter/usage.ts";
import { newPerson } from "../../support/people/scene.ts";

const path = "/api/portal/api-keys";
const createdAt = "2026-11-21T14:03:11.250Z";
const list = (test: TestApp, person: TestPerson, query = "") =>
  fetchJson(test, person, `GET ${path}${query}`);

/** Asserts what the key's next record is. */
const assertWorks = (test: TestApp, { fullKey }: { fullKey: string }) =>
  assertOutcome(recordWith(test, fullKey), 201);
const assertEnded = (test: TestApp, { fullKey }: { fullKey: string }) =>
  assertOutcome(recordWith(test, fullKey), "401 invalid_api_key");

testApp("createApiKey() returns the full key once, and never its hash", async (test) => {
  const person = await test.signUp("Ada");
  const { html, answer } = await assertRows(test, person, [[
    `POST ${path}`,
    { name: "  Production  " },
    201,
  ]]);
  assert.match(answer.headers.get("cache-control") ?? "", /no-store/);
  const { apiKey, fullKey } = JSON.parse(html);
  assert.match(fullKey, /^service_live_[0-9A-Za-z]{38}$/);
  assert(isWellFormedApiKey(fullKey));
  assert.match(apiKey.keyPrefix, /^service_live_[0-9A-Za-z]{4,12}…$/);
  assert(fullKey.startsWith(apiKey.keyPrefix.slice(0, -1)));
  const never = { lastUsedAt: null, expiresAt: null, revokedAt: null, leakedAt: null };
  assert.deepEqual(apiKey, {
    ...{ id: apiKey.id, name: "Production", keyPrefix: apiKey.keyPrefix, environment: "live", createdAt },
    ...{ createdBy: { id: person.userId, name: "Ada" }, createdByOperator: false, ...never },
    ...{ permissions: ["usage:read", "usage:write"], budget: [], status: "active" },
    ...{ enabled: true, disabledByOperator: false, addresses: null, requestsPerSecond: null },
  });
  assert.deepEqual(await list(test, person), { apiKeys: [apiKey], nextCursor: null });
  const rows = await test.opened.database.read(sql`SELECT * FROM api_keys`);
  assert(!JSON.stringify(rows).includes(fullKey.slice(apiKey.keyPrefix.length)));
});

testApp("trims names, and rejects invalid names and times of expiry", async (test) => {
  const person = await test.signUp();
  const wrong = ["", "   ", "x".repeat(101), "a\nb", "a\u0000b", "\ud800", 7, null, ["a"]];
  const times = [createdAt, "yesterday", "2026-11-21", 1, "2027-02-30", "2027-02-30T00:00:00Z"];
  await assertRows(test, person, [
    ...wrong.map((name): Row => [`POST ${path}`, { name }, "422 validation_failed name"]),
    ...times.map((
      at,
    ): Row => [`POST ${path}`, { name: "A", expiresAt: at }, "422 validation_failed expiresAt"]),
  ]);
  for (const name of ["x", "🗝".repeat(100), `"<script>alert(1)</script>' OR 1=1; --`]) {
    assert.equal((await fetchJson(test, person, `POST ${path}`, { name })).apiKey.name, name);
  }
});

testApp("lists keys newest first, in pages, including revoked and expired ones", async (test) => {
  const person = await test.signUp();
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) ids.unshift((await createTestKey(test, person, { name: `Key ${n}` })).id);
  await assertRows(test, person, [[`DELETE ${path}/${ids[1]}`, null, 200]]);
  const first = await list(test, person, "?limit=2");
  const second = await list(test, person, `?limit=2&cursor=${first.nextCursor}`);
  const third = await list(test, person, `?limit=2&cursor=${second.nextCursor}`);
  const seen = [first, second, third].flatMap(({ apiKeys }) => apiKeys.map(({ id }: { id: string }) => id));
  assert.deepEqual([seen, third.nextCursor, first.apiKeys[1].status], [ids, null, "revoked"]);
  await assertRows(test, person, [
    ...["limit=0", "limit=101", "limit=x", "limit=1&limit=2"].map((query): Row => [
      `GET ${path}?${query}`,
      null,
      "422 validation_failed limit",
    ]),
    [`GET ${path}?cursor=nothing`, null, "422 validation_failed cursor"],
    [`GET ${path}?page=2`, null, "422 validation_failed page"],
  ]);
});

testApp("a renamed key works, and revoking it rejects its next request, once and again", async (test) => {
  const person = await test.signUp();
  const key = await createTestKey(test, person);
  await assertWorks(test, key);
  const [before] = (await list(test, person)).apiKeys;
  const { apiKey } = await fetchJson(test, person, `PATCH ${path}/${key.id}`, { name: "Staging" });
  assert.deepEqual(apiKey, { ...before, name: "Staging" }, "a change of the name changes nothing else");
  await assertWorks(test, key);
  const first = await fetchJson(test, person, `DELETE ${path}/${key.id}`);
  await assertEnded(test, key);
  await assertOutcome(test.send("/api/v1/usage", { apiKey: key.fullKey }), "401 invalid_api_key");
  assert.deepEqual([first.apiKey.status, first.apiKey.revokedAt], ["revoked", createdAt]);
  test.advance(60_000);
  assert.deepEqual(await fetchJson(test, person, `DELETE ${path}/${key.id}`), first);
});

for (
  const [form, expiresAt, shown] of [
    ["its time", "2026-11-21T15:04:11.250+01:00", "2026-11-21T14:04:11.250Z"],
    ["midnight UTC of its date", "2026-11-22", "2026-11-22T00:00:00.000Z"],
  ] as const
) {
  testApp(`a key expires at ${form}, and not before`, async (test) => {
    const person = await test.signUp();
    const key = await createTestKey(test, person, { expiresAt });
    assert.equal((await list(test, person)).apiKeys[0].expiresAt, shown);
    test.advance(Date.parse(shown) - test.now() - 1);
    await assertWorks(test, key);
    test.advance(1);
    await assertEnded(test, key);
    assert.equal((await list(test, person)).apiKeys[0].status, "expired");
  });
}

const rotate = (id: string) => `POST ${path}/${id}/rotate`;

async function rotated(test: TestApp, person: TestPerson, id: string, json: Row[1] = null) {
  const { apiKey, fullKey } = await fetchJson(test, person, rotate(id), json);
  return { id: apiKey.id as string, name: apiKey.name as string, fullKey: fullKey as string };
}

async function endOf(test: TestApp, person: TestPerson, id: string) {
  const { apiKeys } = await list(test, person);
  const { status, expiresAt, revokedAt } = apiKeys.find((apiKey: { id: string }) => apiKey.id === id);
  return { status, expiresAt, revokedAt };
}

for (const json of [null, {}, { expireOldAt: null }]) {
  testApp(`rotating with the body ${JSON.stringify(json)} keeps the old key for 24 hours`, async (test) => {
    const person = await test.signUp();
    const old = await createTestKey(test, person);
    const next = await rotated(test, person, old.id, json);
    assert.equal(next.name, "Production");
    const end = { expiresAt: "2026-11-22T14:03:11.250Z", revokedAt: null };
    assert.deepEqual(await endOf(test, person, old.id), { status: "active", ...end });
    test.advance(24 * 3_600_000 - 1);
    for (const key of [old, next]) await assertWorks(test, key);
    test.advance(1);
    await assertEnded(test, old);
    await assertWorks(test, next);
    await assertRows(test, person, [[rotate(old.id), null, "422 validation_failed id"]]);
  });
}

testApp("a rotated key works until the given time in the future, or is revoked now", async (test) => {
  const person = await test.signUp();
  const old = await createTestKey(test, person);
  const wrong = [createdAt, "2026-11-21", "Now", "", "never", 1];
  await assertRows(
    test,
    person,
    wrong.map((expireOldAt): Row => [rotate(old.id), { expireOldAt }, "422 validation_failed expireOldAt"]),
  );
  const next = await rotated(test, person, old.id, { expireOldAt: "2026-11-21T15:03:11.250Z" });
  await assertWorks(test, old);
  test.advance(3_600_000);
  await assertEnded(test, old);
  await assertWorks(test, next);
  const last = await rotated(test, person, next.id, { expireOldAt: "now" });
  await assertEnded(test, next);
  await assertWorks(test, last);
  const revoked = { status: "revoked", expiresAt: null, revokedAt: "2026-11-21T15:03:11.250Z" };
  assert.deepEqual(await endOf(test, person, next.id), revoked);
});

testApp("rotating never extends a key that expires earlier, also not in a chain", async (test) => {
  const person = await test.signUp();
  const expiresAt = "2026-11-21T15:00:00.000Z";
  const old = await createTestKey(test, person, { expiresAt });
  const second = await rotated(test, person, old.id, {});
  const third = await rotated(test, person, second.id, {});
  for (const { id } of [old, second, third]) {
    assert.deepEqual(await endOf(test, person, id), { status: "active", expiresAt, revokedAt: null });
  }
  const first = await createTestKey(test, person);
  await rotated(test, person, first.id, { expireOldAt: expiresAt });
  await rotated(test, person, first.id, {});
  assert.equal((await endOf(test, person, first.id)).expiresAt, expiresAt);
});

testApp("one of several concurrent rotations succeeds, and one active key is left", async (test) => {
  const person = await test.signUp();
  const { id } = await createTestKey(test, person);
  const options = { cookie: person.cookie, json: { expireOldAt: "now" } };
  const responses = await Promise.all(
    Array.from({ length: 8 }, () => test.send(`${path}/${id}/rotate`, options)),
  );
  assert.deepEqual(responses.map(({ status }) => status).sort(), [201, ...Array(7).fill(422)]);
  const { apiKeys } = await list(test, person);
  assert.equal(apiKeys.filter(({ status }: { status: string }) => status === "active").length, 1);
});

testApp("members see and manage only their own keys", async (test) => {
  const owner = await test.signUp();
  const member = await newPerson(test, { organizationId: owner.organizationId, role: "MEMBER" });
  const key = await createTestKey(test, owner);
  assert.deepEqual((await list(test, member)).apiKeys, []);
  await assertRows(test, member, [[`DELETE ${path}/${key.id}`, null, "404 not_found"]]);
  const own = await createTestKey(test, member, { name: "Mine" });
  assert.equal((await list(test, member)).apiKeys.length, 1);
  assert.equal((await list(test, owner)).apiKeys.length, 2);
  await assertRows(test, owner, [[`DELETE ${path}/${own.id}`, null, 200]]);
  await assertEnded(test, own);
});
