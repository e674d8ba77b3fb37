// An operator's view of an organization's API keys: the customer's own pages, with what operators may do.
import assert from "node:assert/strict";
import { createTestKey, testApp } from "../../../support/app/app.ts";
import { listAudit } from "../../../support/app/audit.ts";
import { assertOutcome, assertRows, fetchJson, type Row } from "../../../support/app/rows.ts";
import { recordOne, recordWith } from "../../../support/meter/usage.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { inviteTo, joinedPerson } from "../../../support/people/people.ts";
import { run } from "../../../support/people/scene.ts";
import { openPage } from "../../../support/portal/pages.ts";

const keysOf = (organizationId: string) => `/operator/organizations/${organizationId}/api-keys`;
const budget = { "limits[0].per": "day", "limits[0].quantity": "1", "limits[0].mode": "hard" };
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
  assert.match(html, /Requests today[^]*>7<[^]*Usage by/);
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
  const form = { "name": "Corrections", "expires": "never", "permissions": "", "usage:void": "on" };
  const created = await assertRows(test, mara, [
    [`POST ${path}/new`, { ...form, name: "" }, 422],
    [`POST ${path}/new`, form, 201],
  ]);
  const key = fullKey.exec(created.html)?.[0] ?? "";
  const { html } = await assertRows(test, mara, [[`GET ${path}`, null, 200, {
    shows: ["usage:void", "Operator"],
    hides: [fullKey],
  }]]);
  const one = `${path}/${/\/api-keys\/(key_\w+)"/.exec(html)?.[1]}`;
  const { id, fullKey: ownKey } = await createTestKey(test, ada, { name: "Own" });
  const own = `${path}/${id}`;
  const rotated = await assertRows(test, mara, [
    [`GET ${own}/edit`, null, 200, { shows: ['name="usage:void"'] }],
    [`POST ${own}/edit`, { ...form, name: "Granted" }, `303 ${own}?done=changed`],
    [`POST ${own}/budget`, budget, `303 ${own}?done=budget`],
    [`GET ${one}/revoke`, null, 200, { shows: ["Revoke “"] }],
    [`POST ${one}/revoke`, {}, `303 ${path}?done=revoked&id=${one.split("/").at(-1)}`],
    [`GET ${path}?status=inactive`, null, 200, { shows: [/Corrections[^]*Revoked <time/] }],
    [`POST ${own}/rotate`, { expireOld: "now" }, 201],
  ]);
  assert.match(rotated.html, fullKey);
  for (const revoked of [key, ownKey]) await assertOutcome(recordWith(test, revoked), "401 invalid_api_key");

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
  const ada = await test.signUp();
  const { id } = await createTestKey(test, ada);
  await run(test, "UPDATE api_keys SET created_at = 0 WHERE id = ?", id);
  const path = keysOf(ada.organizationId);
  await assertRows(test, await newOperator(test), [
    [`GET ${path}/revoke-unused`, null, 200, { shows: [`name="${id}"`] }],
    [`POST ${path}/revoke-unused`, { [id]: "on" }, `303 ${path}?done=revoked-unused&count=1`],
  ]);
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
  // Bob sees and revokes only his own.
  await assertRows(test, bob, [
    [`GET /portal/api-keys/revoke${query}`, null, "303 /portal/api-keys?done=revoked-none"],
    ["POST /portal/api-keys/revoke", form, "303 /portal/api-keys?done=revoked-none&count=0"],
  ]);
  await assertRows(test, mara, [
    [`GET ${base}`, null, 200, { shows: [`name="${ids[0]}"`] }],
    [`GET ${base}/revoke${query}`, null, 200, {
      shows: [/2 selected keys[^]*One[^]*Never used/],
      hides: [`name="${foreign.id}"`],
    }],
    [`POST ${base}/revoke${query}`, {}, 422, { shows: ["Choose at least one key."] }],
    [`POST ${base}/revoke`, form, `303 ${base}?done=revoked-some&count=2`],
    [`GET ${base}?done=revoked-some&count=2`, null, 200, { shows: ["2 keys have been revoked."] }],
  ]);
  for (const { fullKey } of keys) await assertOutcome(recordWith(test, fullKey), "401 invalid_api_key");
  await assertOutcome(recordWith(test, foreign.fullKey), 201);
  const { events } = await listAudit(test, ada.cookie, "?action=api_key.revoked");
  assert.deepEqual(events.map(({ actor }) => actor.type), ["operator", "operator"]);
});

testApp("a key that an operator rotates stays one of the member who created it", async (test) => {
  const ada = await test.signUp();
  const bob = await joinedPerson(test, ada, "MEMBER");
  const { id } = await createTestKey(test, bob, { name: "Bob's" });
  await assertRows(test, await newOperator(test), [
    [`POST ${keysOf(ada.organizationId)}/${id}/rotate`, { expireOld: "now" }, 201],
  ]);
  const { apiKeys } = await fetchJson(test, bob, "GET /api/portal/api-keys");
  const makers = apiKeys.map((key: { status: string; createdBy: { id: string } }) => [
    ...[key.status, key.createdBy.id],
  ]);
  assert.deepEqual(makers, [["active", bob.userId], ["revoked", bob.userId]]);
});

testApp("pages of one organization show and change nothing of another one", async (test) => {
  const mara = await newOperator(test);
  const [ada, grace] = [await test.signUp("Ada"), await test.signUp("Grace")];
  const { id, fullKey } = await createTestKey(test, ada);
  const invitation = await inviteTo(test, ada, { email: "x@example.com" });
  const elsewhere = `/operator/organizations/${grace.organizationId}`;
  const forms = {
    [`/api-keys/${id}/edit`]: { name: "Taken", expires: "never" },
    [`/api-keys/${id}/budget`]: budget,
    [`/api-keys/${id}/rotate`]: { expireOld: "now" },
    [`/api-keys/${id}/revoke`]: {},
    [`/invitations/${invitation.id}/revoke`]: {},
  };
  await assertRows(test, mara, [
    ...Object.entries(forms).flatMap(([path, form]): Row[] => [
      [`GET ${elsewhere}${path}`, null, 404],
      [`POST ${elsewhere}${path}`, form, 404],
    ]),
    [
      `POST ${elsewhere}/api-keys/revoke-unused`,
      { [id]: "on" },
      `303 ${keysOf(grace.organizationId)}?done=revoked-unused&count=0`,
    ],
  ]);
  await assertOutcome(recordWith(test, fullKey), 201);
});

testApp("the console shows and sets a key's external id and metadata, and disables a key", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada");
  const { id } = await createTestKey(test, ada);
  const path = `${keysOf(ada.organizationId)}/${id}`;
  const row = (key: string, value: string, at = 0) => ({
    [`metadata[${at}].key`]: key,
    [`metadata[${at}].value`]: value,
  });
  await assertRows(test, mara, [
    [`GET ${path}`, null, 200, { shows: ["For operators", "Not set", "Members don't see this."] }],
    [`POST ${path}/reference`, { externalId: "user-1", ...row("tier", "gold"), ...row("old", "x", 1) }, 303],
    [`GET ${path}`, null, 200, { shows: ["user-1", "tier", "gold"] }],
    [`GET ${path}/reference`, null, 200, { shows: [/value="user-1"/, /value="tier"/] }],
    [`POST ${path}/reference`, { externalId: "é", ...row("tier", "gold") }, 422, {
      shows: ["printable ASCII"],
    }],
    [`POST ${path}/reference`, { externalId: "", ...row("a", "1"), ...row("a", "2", 1) }, 422],
    [`POST ${path}/reference`, { externalId: "", ...row("tier", "silver") }, 303],
    [`GET ${path}`, null, 200, { shows: ["Not set", "silver"], hides: ["gold", "user-1"] }],
    [`GET ${path}/disable`, null, 200, { shows: ["Only operators can enable it again."] }],
    [`POST ${path}/disable`, {}, 303],
    [`GET ${path}`, null, 200, { shows: ["An operator disabled this key."] }],
    [`POST ${path}/enable`, {}, 303],
  ]);
  await assertRows(test, ada, [[`GET /portal/api-keys/${id}`, null, 200, {
    hides: ["silver", "For operators"],
  }]]);
});
