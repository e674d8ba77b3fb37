// An operator's view of an organization's API keys: the customer's own pages, with what operators may do.
import assert from "node:assert/strict";
import { assertError, createTestKey, testApp } from "../../../support/app/app.ts";
import { listAudit } from "../../../support/app/audit.ts";
import { recordOne } from "../../../support/meter/usage.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { joinedPerson } from "../../../support/people/people.ts";
import { openPage } from "../../../support/portal/pages.ts";

const keysOf = (organizationId: string) => `/operator/organizations/${organizationId}/api-keys`;
const fullKey = /service_live_[0-9A-Za-z]{38}/;

testApp("searches an organization's keys, and shows the page of a key with its usage", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada");
  const production = await createTestKey(test, ada, { name: "Production" });
  const staging = await createTestKey(test, ada, { name: "Staging" });
  await recordOne(test, production.fullKey, { quantity: 7 });
  const path = keysOf(ada.organizationId);
  const open = async (more: string) => (await openPage(test, path + more, { person: mara })).html;
  const found = await open("?search=prod");
  assert.match(found, /1 key found for “<bdi>prod<\/bdi>”/);
  assert.match(found, /Production/);
  assert.doesNotMatch(found, /Staging/);
  assert.match(found, /Ada’s organization[^]*<h1>API keys/);
  const html = await open(`/${production.id}`);
  assert.match(html, /Requests, 30 days[^]*>7</);
  assert.match(html, /You’re viewing[^]*Ada’s organization[^]*as an operator[^]*by <bdi>Ada<\/bdi>/);
  for (const page of [found, html]) assert.doesNotMatch(page, /href="\/portal\/(api-keys|usage|audit)/);
  assert.match(await open(`/${staging.id}/first-request`), /Waiting for the first request/);
  const grace = await test.signUp("Grace");
  const elsewhere = await openPage(test, `${keysOf(grace.organizationId)}/${staging.id}`, { person: mara });
  assert.equal(elsewhere.status, 404);
});

testApp("creates, edits, rotates and revokes keys as the operator, who grants voiding", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada");
  const path = keysOf(ada.organizationId);
  const send = (more: string, form: Record<string, string>) =>
    openPage(test, path + more, { person: mara, form });
  const form = { "name": "Corrections", "expires": "never", "permissions": "", "usage:void": "on" };
  assert.equal((await send("/new", { ...form, name: "" })).status, 422);
  const created = await send("/new", form);
  assert.equal(created.status, 201);
  const [key = ""] = fullKey.exec(created.html) ?? [];
  const { html } = await openPage(test, path, { person: mara });
  assert.doesNotMatch(html, fullKey);
  assert.match(html, /usage:void/);
  assert.match(html, /Operator/);
  const [, id = ""] = /\/api-keys\/(key_\w+)"/.exec(html) ?? [];

  const own = await createTestKey(test, ada, { name: "Own" });
  assert.match((await openPage(test, `${path}/${own.id}/edit`, { person: mara })).html, /name="usage:void"/);
  const edited = await send(`/${own.id}/edit`, { ...form, name: "Granted" });
  assert.equal(edited.location, `${path}/${own.id}?done=changed`);
  const budget = { "limits[0].per": "day", "limits[0].quantity": "1", "limits[0].mode": "hard" };
  assert.equal((await send(`/${own.id}/budget`, budget)).location, `${path}/${own.id}?done=budget`);

  assert.match((await openPage(test, `${path}/${id}/revoke`, { person: mara })).html, /Revoke “/);
  assert.equal((await send(`/${id}/revoke`, {})).location, `${path}?done=revoked&id=${id}`);
  await assertError(await test.send("/api/v1/usage", { apiKey: key }), 401, "invalid_api_key");
  const inactive = await openPage(test, `${path}?status=inactive`, { person: mara });
  assert.match(inactive.html, /Corrections[^]*Revoked <time/);
  const rotated = await send(`/${own.id}/rotate`, { expireOld: "now" });
  assert.equal(rotated.status, 201);
  assert.match(rotated.html, fullKey);
  await assertError(await test.send("/api/v1/usage", { apiKey: own.fullKey }), 401, "invalid_api_key");

  const { events } = await listAudit(test, ada.cookie, "?action=keys");
  assert.deepEqual(events.map(({ action, actor }) => [action, actor.type]), [
    ["api_key.rotated", "operator"],
    ["api_key.revoked", "operator"],
    ["api_key.budget_changed", "operator"],
    ["api_key.permissions_changed", "operator"],
    ["api_key.renamed", "operator"],
    ["api_key.created", "session"],
    ["api_key.created", "operator"],
  ]);
});

testApp("revokes unused keys of an organization as the operator", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp();
  const { id } = await createTestKey(test, ada);
  const created = "UPDATE api_keys SET created_at = 0 WHERE id = ?";
  await test.opened.database.write([{ sql: created, args: [id] }]);
  const path = keysOf(ada.organizationId);
  const page = `${path}/revoke-unused`;
  assert.match((await openPage(test, page, { person: mara })).html, new RegExp(`name="${id}"`));
  const { location } = await openPage(test, page, { person: mara, form: { [id]: "on" } });
  assert.equal(location, `${path}?done=revoked-unused&count=1`);
  const { events: [event] } = await listAudit(test, ada.cookie, "?action=keys");
  assert.deepEqual([event?.action, event?.actor.type], ["api_key.revoked", "operator"]);
});

testApp("revokes keys that were selected in the list, for members and as the operator", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada");
  const bob = await joinedPerson(test, ada, "MEMBER");
  const foreign = await createTestKey(test, await test.signUp("Grace"));
  const keys = [await createTestKey(test, ada, { name: "One" }), await createTestKey(test, ada)];
  const ids = [...keys.map(({ id }) => id), foreign.id];
  const query = `?${ids.map((id) => `${id}=`).join("&")}`;
  const form = Object.fromEntries(ids.map((id) => [id, "on"]));
  const base = keysOf(ada.organizationId);
  assert.match((await openPage(test, base, { person: mara })).html, new RegExp(`name="${ids[0]}"`));
  const { html } = await openPage(test, `${base}/revoke${query}`, { person: mara });
  assert.match(html, /2 selected keys[^]*One[^]*Never used/);
  assert.doesNotMatch(html, new RegExp(`name="${foreign.id}"`));
  const none = await openPage(test, `${base}/revoke${query}`, { person: mara, form: {} });
  assert.equal(none.status, 422);
  assert.match(none.html, /Choose at least one key\./);
  // Bob sees and revokes only his own.
  const his = await openPage(test, `/portal/api-keys/revoke${query}`, { person: bob });
  assert.equal(his.location, "/portal/api-keys?done=revoked-none");
  const denied = await openPage(test, "/portal/api-keys/revoke", { person: bob, form });
  assert.equal(denied.location, "/portal/api-keys?done=revoked-none&count=0");
  const { location } = await openPage(test, `${base}/revoke`, { person: mara, form });
  assert.equal(location, `${base}?done=revoked-some&count=2`);
  assert.match((await openPage(test, location, { person: mara })).html, /2 keys have been revoked\./);
  for (const { fullKey: key } of keys) {
    await assertError(await test.send("/api/v1/usage", { apiKey: key }), 401, "invalid_api_key");
  }
  await recordOne(test, foreign.fullKey);
  const { events } = await listAudit(test, ada.cookie, "?action=api_key.revoked");
  assert.deepEqual(events.map(({ actor }) => actor.type), ["operator", "operator"]);
});

testApp("a key that an operator rotates stays one of the member who created it", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp();
  const bob = await joinedPerson(test, ada, "MEMBER");
  const { id } = await createTestKey(test, bob, { name: "Bob's" });
  const rotate = `${keysOf(ada.organizationId)}/${id}/rotate`;
  assert.equal((await openPage(test, rotate, { person: mara, form: { expireOld: "now" } })).status, 201);
  const { apiKeys } = await (await test.send("/api/portal/api-keys", { cookie: bob.cookie })).json();
  assert.deepEqual(
    apiKeys.map(({ status, createdBy }: { status: string; createdBy: { id: string } }) => [
      status,
      createdBy.id,
    ]),
    [["active", bob.userId], ["revoked", bob.userId]],
  );
});

testApp("pages of one organization show and change nothing of another one", async (test) => {
  const mara = await newOperator(test);
  const [ada, grace] = [await test.signUp("Ada"), await test.signUp("Grace")];
  const { id, fullKey: key } = await createTestKey(test, ada);
  const json = { email: "x@example.com", role: "MEMBER" };
  const invited = await test.send(`/api/portal/organizations/${ada.organizationId}/invitations`, {
    cookie: ada.cookie,
    json,
  });
  const { invitation } = await invited.json();
  const elsewhere = `/operator/organizations/${grace.organizationId}`;
  const budget = { "limits[0].per": "day", "limits[0].quantity": "1", "limits[0].mode": "hard" };
  const forms: Record<string, Record<string, string>> = {
    [`/api-keys/${id}/edit`]: { name: "Taken", expires: "never" },
    [`/api-keys/${id}/budget`]: budget,
    [`/api-keys/${id}/rotate`]: { expireOld: "now" },
    [`/api-keys/${id}/revoke`]: {},
    [`/invitations/${invitation.id}/revoke`]: {},
  };
  for (const [path, form] of Object.entries(forms)) {
    assert.equal((await openPage(test, elsewhere + path, { person: mara })).status, 404, path);
    assert.equal((await openPage(test, elsewhere + path, { person: mara, form })).status, 404, path);
  }
  const unused = await openPage(test, `${elsewhere}/api-keys/revoke-unused`, {
    person: mara,
    form: { [id]: "on" },
  });
  assert.equal(unused.location, `${keysOf(grace.organizationId)}?done=revoked-unused&count=0`);
  await recordOne(test, key, { quantity: 1 });
});
