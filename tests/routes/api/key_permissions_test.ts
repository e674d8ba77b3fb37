// Permissions of API keys: choosing and changing them, and what keys may do with them.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { listAudit } from "../../support/app/audit.ts";
import { assertRows, fetchJson, type Row } from "../../support/app/rows.ts";
import { onEveryDatabase, recordOne } from "../../support/meter/usage.ts";
import { newScene, run } from "../../support/people/scene.ts";

const path = "/api/portal/api-keys";
const event = { specversion: "1.0", id: "1", source: "/tiles", type: "requests", data: { quantity: 1 } };
const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };
const voiding = "usage:void";

const change = (test: TestApp, person: TestPerson, { id, json }: { id: string; json: Row[1] }) =>
  fetchJson(test, person, `PATCH ${path}/${id}`, json);

async function create(test: TestApp, person: TestPerson, permissions?: readonly string[]) {
  const { apiKey, fullKey } = await fetchJson(test, person, `POST ${path}`, { name: "Key", permissions });
  return { id: apiKey.id as string, permissions: apiKey.permissions as string[], fullKey: fullKey as string };
}

testApp("a key has the permissions that were chosen, sorted and each once", async (test) => {
  const person = await test.signUp();
  assert.deepEqual((await create(test, person)).permissions, ["usage:read", "usage:write"]);
  assert.deepEqual((await create(test, person, [])).permissions, []);
  const chosen = ["usage:write", "maps:render", "a", "maps:render", "9.x_y-z"];
  const key = await create(test, person, chosen);
  assert.deepEqual(key.permissions, ["9.x_y-z", "a", "maps:render", "usage:write"]);
  const { apiKeys: [listed] } = await fetchJson(test, person, `GET ${path}`);
  assert.deepEqual(listed.permissions, key.permissions);
});

testApp("rejects permissions of another form, and more than 32 of an organization's own", async (test) => {
  const person = await test.signUp();
  const wrong = ["", "A", "usage:delete", "usage:", "-a", "ä", "a b", "a".repeat(65), 7, null];
  const withAll = (permissions: unknown) => [`POST ${path}`, { name: "Key", permissions }] as const;
  const own = Array.from({ length: 33 }, (_, n) => `own:${n}`);
  await assertRows(test, person, [
    ...wrong.map((one): Row => [...withAll(["usage:write", one]), "422 validation_failed permissions[1]"]),
    [...withAll(["usage:write", "usage:read", "a".repeat(64), ...own.slice(0, 31)]), 201],
    [...withAll(own), "422 validation_failed permissions", {
      shows: ["must have at most 32 permissions of your own."],
    }],
  ]);
});

testApp("a session can keep or remove the permission to void, and never add it", async (test) => {
  const person = await test.signUp();
  const { id } = await create(test, person);
  const denied = ["403 forbidden", { shows: [voiding] }] as const;
  await assertRows(test, person, [
    [`POST ${path}`, { name: "Key", permissions: [voiding] }, ...denied],
    [`PATCH ${path}/${id}`, { name: "New", permissions: [voiding] }, ...denied],
  ]);
  // As operators can.
  await run(test, "UPDATE api_keys SET permissions = ? WHERE id = ?", JSON.stringify([voiding]), id);
  const { apiKey: kept } = await change(test, person, { id, json: { permissions: ["a", voiding] } });
  assert.deepEqual([kept.name, kept.permissions], ["Key", ["a", voiding]]);
  const { apiKey: next } = await fetchJson(test, person, `POST ${path}/${id}/rotate`);
  assert.deepEqual(next.permissions, ["a", voiding]);
  const { apiKey: removed } = await change(test, person, { id: next.id, json: { permissions: ["a"] } });
  assert.deepEqual(removed.permissions, ["a"]);
  await assertRows(test, person, [[`PATCH ${path}/${next.id}`, { permissions: ["a", voiding] }, ...denied]]);
});

testApp("the audit log has the permissions of new keys, and changes from and to", async (test) => {
  const person = await test.signUp();
  const { id } = await create(test, person, ["usage:write", "a"]);
  const lastEntry = async (action: string) =>
    (await listAudit(test, person.cookie, `?action=${action}&limit=1`)).events[0];
  assert.deepEqual((await lastEntry("api_key.created"))?.details, { permissions: "a, usage:write" });
  await change(test, person, { id, json: { name: "Other", permissions: [] } });
  const changed = { from: "a, usage:write", to: "none" };
  assert.deepEqual((await lastEntry("api_key.permissions_changed"))?.details, changed);
  assert.equal((await lastEntry("api_key.renamed"))?.target?.name, "Other");
  const entries = async () => (await listAudit(test, person.cookie)).events.length;
  const before = await entries();
  for (const json of [{}, { name: "Other" }, { permissions: [] }]) await change(test, person, { id, json });
  assert.equal(await entries(), before);
});

onEveryDatabase("a key without the permission that a call needs is denied, naming it", async (test) => {
  const person = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, person);
  const { id } = await recordOne(test, apiKey);
  const reads = ["usage", "usage.csv", "usage/records", `usage/records/${id}`].map((end) =>
    `GET /api/v1/${end}`
  );
  const missing = (permission: string) => ["403 permission_missing", { shows: [permission] }] as const;
  const writer = await create(test, person, ["usage:write", "usage", "read"]);
  await assertRows(test, { apiKey }, reads.map((read): Row => [read, null, 200]));
  await assertRows(test, { apiKey: writer.fullKey }, [
    ...reads.map((read): Row => [read, null, ...missing("usage:read")]),
    ["POST /api/v1/usage", usage, 201],
  ]);
  const reader = await create(test, person, ["usage:read", "maps:render"]);
  const forward = "GET /api/auth/forward?accept=key";
  const { answer } = await assertRows(test, { apiKey: reader.fullKey }, [
    ["POST /api/v1/usage", usage, ...missing("usage:write")],
    ["POST /api/v1/usage/batch", { records: [usage] }, ...missing("usage:write")],
    ["POST /api/v1/events", event, ...missing("usage:write")],
    [`${forward}&meter=tiles/requests`, null, ...missing("usage:write")],
    [forward, null, 200],
  ]);
  assert.equal(answer.headers.get("remote-permissions"), "maps:render,usage:read");
  // A changed permission takes effect on the next request.
  await change(test, person, { id: reader.id, json: { permissions: ["usage:write"] } });
  await assertRows(test, { apiKey: reader.fullKey }, [
    ["POST /api/v1/usage", usage, 201],
    ["GET /api/v1/usage", null, ...missing("usage:read")],
  ]);
});

testApp("keys from before permissions existed can record and read", async (test) => {
  // Inserted without permissions.
  const { apiKey } = await newScene(test, "owner");
  await recordOne(test, apiKey);
  await assertRows(test, { apiKey }, [["GET /api/v1/usage", null, 200]]);
});
