// The forms that choose and change what an API key may do.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { listAudit } from "../../support/app/audit.ts";
import { openPage } from "../../support/portal/pages.ts";
import { run } from "../../support/people/scene.ts";

const path = "/portal/api-keys";

const page = (test: TestApp, address: string, person: TestPerson) => openPage(test, address, { person });

async function newest(test: TestApp, { cookie }: TestPerson) {
  const { apiKeys } = await (await test.send("/api/portal/api-keys?limit=1", { cookie })).json();
  return apiKeys[0] as { id: string; name: string; permissions: string[]; expiresAt: string | null };
}

const checkedIn = (html: string) =>
  [...html.matchAll(/<input type="checkbox" name="([^"]+)" value="on" checked/g)].map(([, name]) => name);
const ownIn = (html: string) => /<input[^>]* id="permissions"[^>]* value="([^"]*)"/.exec(html)?.[1];

testApp("the form creates keys with the checked permissions and an organization's own", async (test) => {
  const person = await test.signUp();
  const { html } = await page(test, `${path}/new`, person);
  assert.deepEqual(checkedIn(html), ["usage:write", "usage:read"]);
  const form = { name: "Renderer", "usage:write": "on", permissions: " maps:render,maps:export  a " };
  assert.equal((await openPage(test, `${path}/new`, { form, person })).status, 201);
  const key = await newest(test, person);
  assert.deepEqual(key.permissions, ["a", "maps:export", "maps:render", "usage:write"]);
  const shown = await page(test, path, person);
  assert.match(shown.html, />Record, a, maps:export, maps:render</);
  assert.equal(
    (await openPage(test, `${path}/new`, { form: { name: "Nothing", permissions: "" }, person })).status,
    201,
  );
  assert.deepEqual((await newest(test, person)).permissions, []);
});

testApp("a rejected form keeps what was chosen, and names the permission that is wrong", async (test) => {
  const person = await test.signUp();
  const { id } = await createTestKey(test, person);
  for (const address of [`${path}/new`, `${path}/${id}/edit`]) {
    const form = { name: "Key", "usage:read": "on", permissions: "maps Usage" };
    const { status, html } = await openPage(test, address, { form, person });
    assert.equal(status, 422);
    assert.deepEqual(checkedIn(html), ["usage:read"]);
    assert.equal(ownIn(html), "maps Usage");
    assert.match(html, /id="permissions-error">.*?“Usage” must be 1 to 64 lowercase letters/);
    const many = { ...form, permissions: Array.from({ length: 33 }, (_, n) => `own:${n}`).join(" ") };
    assert.match(
      (await openPage(test, address, { form: many, person })).html,
      /This must have at most 32 permissions/,
    );
  }
  assert.deepEqual((await newest(test, person)).permissions, ["usage:read", "usage:write"]);
});

testApp("the edit page changes, keeps and removes the expiry of active keys alone", async (test) => {
  const person = await test.signUp();
  const { id } = await createTestKey(test, person);
  const edit = `${path}/${id}/edit`;
  const save = (form: Record<string, string>) =>
    openPage(test, edit, { form: { name: "Key", permissions: "", ...form }, person });
  const expiry = async () => (await newest(test, person)).expiresAt;
  assert.doesNotMatch((await page(test, edit, person)).html, /value="keep"/);
  assert.match((await page(test, `${path}/${id}`, person)).html, /edit">Set a date</);
  assert.equal((await save({ expires: "date", expiresOn: "2099-01-31" })).status, 303);
  assert.equal(await expiry(), "2099-01-31T00:00:00.000Z");
  assert.match((await page(test, edit, person)).html, /<option value="keep" selected[^>]*>Jan 31, 2099/);
  const [entry] = (await listAudit(test, person.cookie, "?action=api_key.expiry_changed")).events;
  assert.deepEqual(entry?.details, { from: "never", to: "2099-01-31T00:00:00.000Z" });
  assert.equal((await save({ expires: "keep" })).status, 303);
  assert.equal((await save({})).status, 303);
  assert.equal(await expiry(), "2099-01-31T00:00:00.000Z");
  const past = await save({ expires: "date", expiresOn: "2020-01-31" });
  assert.deepEqual([past.status, await expiry()], [422, "2099-01-31T00:00:00.000Z"]);
  assert.equal((await save({ expires: "never" })).status, 303);
  assert.equal(await expiry(), null);
  const patch = (json: Record<string, unknown>) =>
    test.send(`/api/portal/api-keys/${id}`, { method: "PATCH", cookie: person.cookie, json });
  assert.equal((await patch({ expiresAt: "2098-01-31" })).status, 200);
  assert.equal((await patch({ name: "Other" })).status, 200);
  assert.equal(await expiry(), "2098-01-31T00:00:00.000Z");
  await run(test, "UPDATE api_keys SET expires_at = 1 WHERE id = ?", id);
  assert.doesNotMatch((await page(test, edit, person)).html, /name="expires"/);
  assert.equal((await save({ expires: "never" })).status, 422);
  assert.equal(await expiry(), "1970-01-01T00:00:00.001Z");
});

testApp("the edit page changes name and permissions, and offers to void only where granted", async (test) => {
  const person = await test.signUp();
  const { id } = await createTestKey(test, person);
  const edit = `${path}/${id}/edit`;
  const before = await page(test, edit, person);
  assert.deepEqual(checkedIn(before.html), ["usage:write", "usage:read"]);
  assert.doesNotMatch(before.html, /usage:void/);
  const granted = `UPDATE api_keys SET permissions = '["a","usage:read","usage:void"]' WHERE id = ?`;
  await run(test, granted, id);
  const after = await page(test, edit, person);
  assert.deepEqual(checkedIn(after.html), ["usage:read", "usage:void"]);
  assert.equal(ownIn(after.html), "a");
  const save = (form: Record<string, string>) =>
    openPage(test, edit, { form: { name: "New", permissions: "", ...form }, person });
  assert.equal((await save({ "usage:void": "on", permissions: "b" })).status, 303);
  assert.deepEqual((await newest(test, person)).permissions, ["b", "usage:void"]);
  assert.equal((await save({})).status, 303);
  assert.deepEqual((await newest(test, person)).permissions, []);
  const refused = await save({ "usage:void": "on" });
  assert.equal(refused.status, 403);
  assert.match(refused.html, /Only the operator of this service can grant usage:void\./);
});

testApp("customers shorten what operators granted for a time, and don't extend it", async (test) => {
  const person = await test.signUp();
  const { id } = await createTestKey(test, person);
  const granted = "UPDATE api_keys SET permissions = '[\"usage:void\"]', expires_at = ? WHERE id = ?";
  await run(test, granted, Date.parse("2098-01-31"), id);
  const change = async (json: Record<string, unknown>) => {
    const options = { method: "PATCH", cookie: person.cookie, json };
    const response = await test.send(`/api/portal/api-keys/${id}`, options);
    await response.body?.cancel();
    return response.status;
  };
  assert.equal(await change({ expiresAt: null }), 403);
  assert.equal(await change({ expiresAt: "2098-02-01" }), 403);
  assert.equal((await newest(test, person)).expiresAt, "2098-01-31T00:00:00.000Z");
  assert.equal(await change({ expiresAt: "2097-01-31" }), 200);
  assert.equal(await change({ expiresAt: "2098-01-31" }), 403);
  assert.equal(await change({ expiresAt: null, permissions: ["usage:read"] }), 200);
  assert.equal((await newest(test, person)).expiresAt, null);
});

testApp("the list reads the beginning of a long search", async (test) => {
  const ada = await test.signUp("Ada");
  await createTestKey(test, ada);
  const { status, html } = await page(test, `${path}?search=${"z".repeat(5_000)}`, ada);
  assert.equal(status, 200);
  assert.equal(Math.max(...[...html.matchAll(/z+/g)].map(([found]) => found.length)), 200);
});
