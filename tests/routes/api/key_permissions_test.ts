// Permissions of API keys: choosing and changing them, and what keys may do with them.
import assert from "node:assert/strict";
import { assertError, createTestKey, type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { listAudit } from "../../support/app/audit.ts";
import { onEveryDatabase, recordOne } from "../../support/meter/usage.ts";
import { newScene, run } from "../../support/people/scene.ts";

const path = "/api/portal/api-keys";
const event = { specversion: "1.0", id: "1", source: "/tiles", type: "requests", data: { quantity: 1 } };
const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };

const change = (test: TestApp, person: TestPerson, { id, json }: { id: string; json: unknown }) =>
  test.send(`${path}/${id}`, { method: "PATCH", cookie: person.cookie, json });

async function create(test: TestApp, person: TestPerson, permissions?: readonly string[]) {
  const response = await test.send(path, { cookie: person.cookie, json: { name: "Key", permissions } });
  assert.equal(response.status, 201, await response.clone().text());
  const { apiKey, fullKey } = await response.json();
  return { id: apiKey.id as string, permissions: apiKey.permissions as string[], fullKey: fullKey as string };
}

/** Gives a key the permission to void, as operators can. */
const grantVoid = (test: TestApp, id: string) =>
  run(test, `UPDATE api_keys SET permissions = '["usage:read","usage:void","usage:write"]' WHERE id = ?`, id);

testApp("a key has the permissions that were chosen, sorted and each once", async (test) => {
  const person = await test.signUp();
  assert.deepEqual((await create(test, person)).permissions, ["usage:read", "usage:write"]);
  assert.deepEqual((await create(test, person, [])).permissions, []);
  const chosen = ["usage:write", "maps:render", "a", "maps:render", "9.x_y-z"];
  const key = await create(test, person, chosen);
  assert.deepEqual(key.permissions, ["9.x_y-z", "a", "maps:render", "usage:write"]);
  const listed = await (await test.send(path, { cookie: person.cookie })).json();
  assert.deepEqual(listed.apiKeys[0].permissions, key.permissions);
});

testApp("rejects permissions of another form, and more than 32 of an organization's own", async (test) => {
  const person = await test.signUp();
  const wrong = ["", "A", "usage:delete", "usage:", "-a", "ä", "a b", "a".repeat(65), 7, null];
  for (const permission of wrong) {
    const json = { name: "Key", permissions: ["usage:write", permission] };
    const { error } = await assertError(
      await test.send(path, { cookie: person.cookie, json }),
      422,
      "validation_failed",
    );
    assert.equal(error.details?.[0]?.path, "permissions[1]", String(permission));
  }
  const own = Array.from({ length: 33 }, (_, n) => `own:${n}`);
  await create(test, person, ["usage:write", "usage:read", "a".repeat(64), ...own.slice(0, 31)]);
  const json = { name: "Key", permissions: own };
  const { error } = await assertError(
    await test.send(path, { cookie: person.cookie, json }),
    422,
    "validation_failed",
  );
  assert.deepEqual(error.details, [{
    path: "permissions",
    message: "must have at most 32 permissions of your own.",
  }]);
});

testApp("a session can keep or remove the permission to void, and never add it", async (test) => {
  const person = await test.signUp();
  const void_ = "usage:void";
  const refused = async (response: Response) => {
    const { error } = await assertError(response, 403, "forbidden");
    assert.match(error.message, /usage:void/);
  };
  await refused(
    await test.send(path, { cookie: person.cookie, json: { name: "Key", permissions: [void_] } }),
  );
  const { id } = await create(test, person);
  await refused(await change(test, person, { id, json: { name: "New", permissions: [void_] } }));
  await grantVoid(test, id);
  const kept = await (await change(test, person, { id, json: { permissions: ["a", void_] } })).json();
  assert.deepEqual([kept.apiKey.name, kept.apiKey.permissions], ["Key", ["a", void_]]);
  const rotated = await (await test.send(`${path}/${id}/rotate`, { method: "POST", cookie: person.cookie }))
    .json();
  assert.deepEqual(rotated.apiKey.permissions, ["a", void_]);
  const next = { id: rotated.apiKey.id };
  const removed = await (await change(test, person, { ...next, json: { permissions: ["a"] } })).json();
  assert.deepEqual(removed.apiKey.permissions, ["a"]);
  await refused(await change(test, person, { ...next, json: { permissions: ["a", void_] } }));
});

testApp("the audit log has the permissions of new keys, and changes from and to", async (test) => {
  const person = await test.signUp();
  const { id } = await create(test, person, ["usage:write", "a"]);
  const lastEntry = async (action: string) =>
    (await listAudit(test, person.cookie, `?action=${action}&limit=1`)).events[0];
  assert.deepEqual((await lastEntry("api_key.created"))?.details, { permissions: "a, usage:write" });
  await change(test, person, { id, json: { name: "Other", permissions: [] } });
  assert.deepEqual((await lastEntry("api_key.permissions_changed"))?.details, {
    from: "a, usage:write",
    to: "none",
  });
  assert.equal((await lastEntry("api_key.renamed"))?.target?.name, "Other");
  const entries = async () => (await listAudit(test, person.cookie)).events.length;
  const before = await entries();
  for (const json of [{}, { name: "Other" }, { permissions: [] }]) {
    assert.equal((await change(test, person, { id, json })).status, 200);
  }
  assert.equal(await entries(), before);
});

onEveryDatabase("a key without the permission that a call needs is refused, naming it", async (test) => {
  const person = await test.signUp();
  const all = await createTestKey(test, person);
  const { id } = await recordOne(test, all.fullKey);
  const reads = ["usage", "usage.csv", "usage/records", `usage/records/${id}`].map((end) => `/api/v1/${end}`);
  const writer = await create(test, person, ["usage:write", "usage", "read"]);
  for (const read of reads) {
    assert.equal((await test.send(read, { apiKey: all.fullKey })).status, 200);
    const { error } = await assertError(
      await test.send(read, { apiKey: writer.fullKey }),
      403,
      "permission_missing",
    );
    assert.match(error.message, /usage:read/);
  }
  await recordOne(test, writer.fullKey);
  const forward = (query: string, apiKey: string) => test.send(`/api/auth/forward?${query}`, { apiKey });
  const reader = await create(test, person, ["usage:read", "maps:render"]);
  const response = await forward("accept=key", reader.fullKey);
  assert.equal(response.headers.get("remote-permissions"), "maps:render,usage:read");
  for (
    const refused of [
      await test.send("/api/v1/usage", { apiKey: reader.fullKey, json: usage }),
      await test.send("/api/v1/usage/batch", { apiKey: reader.fullKey, json: { records: [usage] } }),
      await test.send("/api/v1/events", { apiKey: reader.fullKey, json: event }),
      await forward("accept=key&meter=tiles/requests", reader.fullKey),
    ]
  ) {
    const { error } = await assertError(refused, 403, "permission_missing");
    assert.match(error.message, /usage:write/);
  }
  // A changed permission takes effect on the next request.
  await change(test, person, { id: reader.id, json: { permissions: ["usage:write"] } });
  await recordOne(test, reader.fullKey);
  await assertError(await test.send("/api/v1/usage", { apiKey: reader.fullKey }), 403, "permission_missing");
});

testApp("keys from before permissions existed can record and read", async (test) => {
  // Inserted without permissions.
  const { apiKey } = await newScene(test, "owner");
  await recordOne(test, apiKey);
  assert.equal((await test.send("/api/v1/usage", { apiKey })).status, 200);
});
