// The list of an organization's keys, and revoking those that are not used any more.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import {
  keyListPageItems,
  type KeyOrder,
  type KeyState,
  listedKeysMax,
} from "../../../../domain/keys/key_list.ts";
import type { KeyListQuery } from "../../../../services/keys/jobs/api_key_list.ts";
import {
  createTestKey,
  rotateTestKey,
  type TestApp,
  testApp,
  type TestPerson,
} from "../../../support/app/app.ts";
import { membersOf } from "../../../../services/reports/job_reader.ts";
import { onEveryDatabase, recordOne } from "../../../support/meter/usage.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { run } from "../../../support/people/scene.ts";
import { testReader } from "../../../support/app/reports.ts";

const dayMs = 86_400_000;

type Query = Partial<KeyListQuery> & { createdBy?: string };

function listOf(test: TestApp, { organizationId }: TestPerson, query: Query = {}) {
  return test.services.reports.read("readKeyList", {
    organizationId,
    now: test.now(),
    state: "active",
    search: "",
    order: undefined,
    page: 1,
    ...query,
  }, { reader: membersOf(organizationId) });
}

const namesOf = async (test: TestApp, person: TestPerson, query: Query) =>
  (await listOf(test, person, query)).lines.map(({ row }) => row.name);

const rotate = async (test: TestApp, person: TestPerson, id: string, oldKeyMs: number) =>
  (await rotateTestKey(test, person, { id, oldKeyMs })).id;

/** Inserts many keys of an organization, numbered from 1. */
async function addKeys(
  test: TestApp,
  { organizationId, userId }: TestPerson,
  { count, name, endedAt = null }: { count: number; name: string; endedAt?: number | null },
) {
  await test.opened.database.write([sql`
    WITH RECURSIVE generate (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM generate WHERE n < ${count})
    INSERT INTO api_keys (id, organization_id, key_hash, key_prefix, name, created_by, created_at, last_used_at, revoked_at)
    SELECT 'key_' || lower(hex(randomblob(16))), ${organizationId}, lower(hex(randomblob(32))), 'service_live_…',
      ${name} || ' ' || n, ${userId}, ${test.now()}, ${test.now()} - n, ${endedAt} - n
    FROM generate`]);
}

onEveryDatabase("the list has one line for a key and those that it replaced", async (test) => {
  const person = await test.signUp();
  const first = await createTestKey(test, person, { name: "Production" });
  await createTestKey(test, person, {
    name: "Trial",
    expiresAt: new Date(test.now() + 13 * dayMs).toISOString(),
  });
  await recordOne(test, first.fullKey, { quantity: 3 });
  const second = await rotate(test, person, first.id, 1000);
  const third = await rotate(test, person, second, dayMs);
  test.advance(2000);
  const { lines, counts, order, isEmpty } = await listOf(test, person);
  assert.deepEqual(lines.map(({ row }) => row.id), [third, lines[1]?.row.id]);
  assert.deepEqual(lines.map(({ oldKeyEndsAt }) => oldKeyEndsAt), [test.now() - 2000 + dayMs, null]);
  assert.equal(lines[0]?.lastUsedAt, test.now() - 2000);
  assert.deepEqual(counts, { active: 2, expiring: 1, inactive: 0, isCut: false });
  assert.equal(order, "usage");
  assert.equal(isEmpty, false);
  assert.deepEqual(await namesOf(test, person, { state: "expiring" }), ["Trial"]);
  await run(test, "UPDATE api_keys SET revoked_at = ? WHERE revoked_at IS NULL", test.now());
  const ended = await listOf(test, person, { state: "inactive" });
  assert.deepEqual(ended.lines.map(({ row }) => row.name).sort(), ["Production", "Trial"]);
  assert.equal((await listOf(test, await test.signUp())).isEmpty, true);
});

onEveryDatabase("the usage of a key is that of the metric with the most records, by day", async (test) => {
  const person = await test.signUp();
  const { id, fullKey } = await createTestKey(test, person);
  const fourHoursAgo = new Date(test.now() - 4 * 3_600_000).toISOString();
  await recordOne(test, fullKey, { quantity: 2, timestamp: fourHoursAgo });
  await recordOne(test, fullKey, { quantity: 0.5 });
  await recordOne(test, fullKey, { metric: "bytes", quantity: 1e9 });
  const next = await rotate(test, person, id, dayMs);
  const query = { organizationId: person.organizationId, now: test.now() };
  const usage = await test.services.reports.read("sumKeyUsage", { ...query, apiKeyIds: [next] }, {
    reader: testReader,
  });
  const { metric, micros, records, values = [] } = usage.get(next) ?? {};
  assert.deepEqual([usage.size, metric?.slug, micros, records], [1, "requests", 2_500_000n, 2]);
  assert.deepEqual([values.length, ...values.slice(-3)], [30, 0, 0, 2.5]);
  // In Auckland, midnight was three hours ago.
  const timezone = "Pacific/Auckland";
  const there = await test.services.reports.read("sumKeyUsage", { ...query, timezone }, {
    reader: testReader,
  });
  assert.deepEqual(there.get(next)?.values.slice(-3), [0, 2, 0.5]);
});

onEveryDatabase("the list has pages, and counts what the search finds", async (test) => {
  const person = await test.signUp();
  await addKeys(test, person, { count: 120, name: "Renderer" });
  await addKeys(test, person, { count: 3, name: "Other" });
  await addKeys(test, person, { count: 2, name: "Old renderer", endedAt: test.now() });
  const query = { search: " RENDERER", order: "name" as KeyOrder };
  const last = await listOf(test, person, { ...query, page: 3 });
  assert.deepEqual([last.page, last.pages, last.search], [3, 3, "RENDERER"]);
  assert.deepEqual(last.counts, { active: 120, expiring: 0, inactive: 2, isCut: false });
  assert.deepEqual(last.lines.map(({ row }) => row.name).slice(-2), ["Renderer 119", "Renderer 120"]);
  assert.equal((await listOf(test, person, { ...query, page: 9 })).page, 3);
  assert.equal((await listOf(test, person, query)).lines.length, keyListPageItems);
  assert.deepEqual(await namesOf(test, person, { search: "renderer", state: "inactive" }), [
    "Old renderer 1",
    "Old renderer 2",
  ]);
  assert.deepEqual(await namesOf(test, person, { search: "nothing" }), []);
  // Members see their own keys.
  assert.equal((await listOf(test, person, { createdBy: "usr_other" })).isEmpty, true);
});

onEveryDatabase(
  "keys that were not used for 90 days are revoked together, unless they are used again",
  async (test) => {
    const person = await test.signUp();
    const [unused, used] = [await createTestKey(test, person), await createTestKey(test, person)];
    const neighbor = await test.signUp();
    const foreign = await createTestKey(test, neighbor);
    const replaced = await createTestKey(test, person);
    await rotate(test, person, replaced.id, 300 * dayMs);
    // Operators record usage for it, before and after it was rotated.
    const billed = await createTestKey(test, person);
    const rebilled = await rotate(test, person, billed.id, 300 * dayMs);
    const { fullToken: apiKey } = await newOperatorToken(test);
    const timestamp = new Date(test.now() - 80 * dayMs).toISOString();
    const record = { apiKeyId: billed.id, productSlug: "tiles", metric: "requests", quantity: 1, timestamp };
    const recorded = await test.send("/api/operator/usage", { apiKey, json: { records: [record] } });
    assert.equal(recorded.status, 201, await recorded.clone().text());
    await run(test, "UPDATE api_keys SET created_at = created_at - ?", 90 * dayMs + 1);
    const { organizationId, cookie } = person;
    const { lines, count } = await test.services.reports.read("readUnusedKeys", {
      organizationId,
      now: test.now(),
    }, { reader: testReader });
    assert.equal(count, 3);
    const page = await test.send("/portal/api-keys/revoke-unused", { cookie });
    const html = await page.text();
    assert.equal(page.status, 200);
    for (const { row } of lines) assert.match(html, new RegExp(`name="${row.id}"[^>]*checked`));
    assert.doesNotMatch(html, new RegExp(foreign.id));
    await recordOne(test, used.fullKey);
    const form = Object.fromEntries(
      [...lines.map(({ row }) => row.id), foreign.id, rebilled].map((id) => [id, "on"]),
    );
    const sent = await test.send("/portal/api-keys/revoke-unused", { cookie, form });
    assert.equal(sent.status, 303);
    const rows = await test.opened.database.read<{ id: string }>(
      sql`SELECT id FROM api_keys WHERE revoked_at IS NULL ORDER BY number`,
    );
    assert.deepEqual(rows.map(({ id }) => id), [used.id, foreign.id, billed.id, rebilled]);
    const entries = await test.opened.database.read<{ targetId: string }>(
      sql`SELECT target_id AS targetId FROM audit_events WHERE action = 'api_key.revoked'`,
    );
    assert.equal(entries.length, 3);
    assert.ok(entries.some(({ targetId }) => targetId === unused.id));
  },
);

onEveryDatabase("a key and those that it replaced are unused only together", async (test) => {
  const person = await test.signUp();
  const revoke = (id: string) =>
    test.send(`/api/portal/api-keys/${id}`, { method: "DELETE", cookie: person.cookie });
  const [used, rotated, revoked] = [
    await createTestKey(test, person),
    await createTestKey(test, person),
    await createTestKey(test, person),
  ];
  const replacement = await rotate(test, person, used.id, 300 * dayMs);
  await run(test, "UPDATE api_keys SET created_at = created_at - ?", 90 * dayMs + 1);
  // A new key that works no longer makes no difference.
  await revoke(await rotate(test, person, revoked.id, dayMs));
  const query = { organizationId: person.organizationId, now: test.now() };
  const { lines } = await test.services.reports.read("readUnusedKeys", query, { reader: testReader });
  const ids = lines.map(({ row }) => row.id);
  assert.deepEqual(ids.toSorted(), [replacement, rotated.id, revoked.id].sort());
  // While the page is open.
  await recordOne(test, used.fullKey);
  const next = await rotate(test, person, rotated.id, dayMs);
  const form = Object.fromEntries(ids.map((id) => [id, "on"]));
  const sent = await test.send("/portal/api-keys/revoke-unused", { cookie: person.cookie, form });
  assert.equal(sent.status, 303);
  const active = await test.opened.database.read<{ id: string }>(
    sql`SELECT id FROM api_keys WHERE revoked_at IS NULL ORDER BY number`,
  );
  assert.deepEqual(active.map(({ id }) => id), [used.id, rotated.id, replacement, next]);
});

testApp("the list of 10,000 active keys and any number of others leaves time for others", async (test) => {
  const person = await test.signUp();
  await addKeys(test, person, { count: listedKeysMax, name: "Active" });
  await addKeys(test, person, { count: listedKeysMax, name: "Old", endedAt: test.now() });
  await addKeys(test, person, { count: 1_000, name: "Older", endedAt: test.now() });
  const neighbor = await test.signUp();
  await createTestKey(test, neighbor);
  const states: KeyState[] = ["active", "expiring", "inactive"];
  const { counts } = await listOf(test, person);
  assert.deepEqual(counts, { active: 10_000, expiring: 0, inactive: 10_000, isCut: true });
  let finished = 0;
  const reads = Array.from(
    { length: 12 },
    (_, n) =>
      listOf(test, person, { state: states[n % 3] ?? "active", order: "name" }).finally(() => finished++),
  );
  assert.equal((await listOf(test, neighbor)).lines.length, 1);
  const waited = finished;
  await Promise.all(reads);
  assert.ok(waited <= 4, `${waited} lists of another organization came first`);
});
