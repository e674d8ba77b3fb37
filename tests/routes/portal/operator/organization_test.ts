// The console's pages of one organization.
import assert from "node:assert/strict";
import { createTestKey, testApp } from "../../../support/app/app.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { recordOne } from "../../../support/meter/usage.ts";

testApp(
  "shows an organization's usage, members, keys, limits, log, notes and metadata on tabs",
  async (test) => {
    const mara = await newOperator(test, "Mara");
    const ada = await test.signUp("Ada <b>");
    const { fullKey } = await createTestKey(test, ada, { name: "Production & more" });
    const path = `/operator/organizations/${ada.organizationId}`;
    const open = async (more = "") => (await openPage(test, `${path}${more}`, { person: mara })).html;
    const empty = await open();
    for (const text of ["No usage this month", "No notes yet", "No metadata", "Not set", "Active"]) {
      assert.ok(empty.includes(text), text);
    }
    await recordOne(test, fullKey, { quantity: 7 });
    const json = { timezone: "Asia/Tokyo" };
    const { fullToken: apiKey } = await newOperatorToken(test);
    const organization = `/api/operator/organizations/${ada.organizationId}`;
    assert.equal((await test.send(organization, { method: "PATCH", apiKey, json })).status, 200);
    const tabs: Record<string, RegExp> = {
      "": /<h1><bdi>Ada &lt;b&gt;[^]*Requests per day[^]*Needs attention[^]*Notes[^]*Metadata/,
      "/api-keys": /<h1>API keys[^]*Production &amp; more/,
      "/members": /<h1>Members[^]*Ada &lt;b&gt;/,
      "/limits": /<h1>Limits[^]*Requests per second/,
      "/billing": /<h1>Statements[^]*so far/,
      "/webhooks": /<h1>Webhooks[^]*No webhooks yet/,
      "/audit": /<h1>Audit log[^]*Created the key/,
    };
    for (const [tab, content] of Object.entries(tabs)) {
      const html = await open(tab);
      assert.match(html, content, tab);
      assert.match(html, new RegExp(`<a href="${path}${tab}" aria-current="page"`), tab);
      for (const other of Object.keys(tabs)) assert.ok(html.includes(`<a href="${path}${other}"`), other);
      for (const action of ["edit", "suspend", "delete", "plan", "usage/records"]) {
        assert.ok(html.includes(`href="${path}/${action}"`), `${tab}: ${action}`);
      }
      assert.ok(html.includes(`action="${path}/view-as-customer"`), tab);
      assert.match(html, /Requests this month[^]*>7<[^]*Last request[^]*Time zone[^]*Asia\/Tokyo/, tab);
      assert.doesNotMatch(html, /href="\/portal\/(usage|members|api-keys|invitations|audit)/, tab);
      const missing = await openPage(test, `/operator/organizations/org_x${tab}`, { person: mara });
      assert.equal(missing.status, 404);
    }
  },
);

testApp("shows the usage of a chosen metric, and the statements of the organization alone", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada");
  const grace = await test.signUp("Grace");
  const { fullKey } = await createTestKey(test, ada);
  const path = `/operator/organizations/${ada.organizationId}`;
  const open = async (page: string) => (await openPage(test, page, { person: mara })).html;
  const close = (period: string) =>
    openPage(test, "/operator/statements/close", { person: mara, form: { period } });
  const inMonth = (month: string) => ({ timestamp: `2026-${month}-05T00:00:00.000Z` });
  const { fullToken } = await newOperatorToken(test);
  const record = async ({ organizationId }: { organizationId: string }, more: object) => {
    const records = [{ organizationId, productSlug: "tiles", metric: "requests", ...more }];
    const response = await test.send("/api/operator/usage", { apiKey: fullToken, json: { records } });
    assert.equal(response.status, 201, await response.text());
  };
  await record(ada, { quantity: 1204.25, ...inMonth("09") });
  await record(grace, { quantity: 77, ...inMonth("09") });
  const { location: september = "" } = await close("2026-09");
  await record(ada, { quantity: 31.5, ...inMonth("09") });
  await record(ada, { quantity: 8, ...inMonth("10") });
  await close("2026-10");
  await recordOne(test, fullKey, inMonth("11"));
  await recordOne(test, fullKey, { metric: "bytes", quantity: 5120, ...inMonth("11") });
  await recordOne(test, fullKey, inMonth("11"));

  const html = await open(path);
  assert.match(html, /Requests per day/);
  const statements = await open(`${path}/billing`);
  assert.match(statements, /November 2026 so far[^]*October 2026[^]*1 adjustment[^]*September 2026/);
  const filter = `organizationId=${ada.organizationId}`;
  for (const href of [`${path}/billing/2026-09`, `/api${september}.csv?${filter}`]) {
    assert.ok(statements.includes(href), href);
  }
  assert.match(html, /metric=requests" aria-current="true"/);
  const bytes = await open(`${path}?metric=bytes`);
  assert.match(bytes, /Bytes per day[^]*5,120/);
  assert.match(bytes, /metric=bytes" aria-current="true"/);

  const statement = await open(`${september}?${filter}`);
  assert.match(statement, /Ada’s organization/);
  assert.doesNotMatch(statement, /Grace’s organization/);
  assert.ok(statement.includes(`/api${september}.csv?${filter}`));
  assert.match(await open(september ?? ""), /Grace’s organization/);
  const foreign = await openPage(test, `${september}?organizationId=org_x`, { person: mara });
  assert.equal(foreign.status, 404);
});

testApp("edits the name, external ID and metadata, and removes rows", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp();
  const path = `/operator/organizations/${ada.organizationId}`;
  const edit = (form: Record<string, string>) => openPage(test, `${path}/edit`, { person: mara, form });
  const row = (index: number, key: string, value: string) => ({
    [`metadata[${index}].key`]: key,
    [`metadata[${index}].value`]: value,
  });
  const form = { name: "Engines", externalId: "cus_1", ...row(0, "crm", "17"), ...row(2, "region", "eu") };
  assert.match((await edit(form)).location ?? "", /done=saved/);
  const { html } = await openPage(test, path, { person: mara });
  for (const text of ["Engines", "cus_1", "crm", "17", "region"]) assert.ok(html.includes(text), text);
  assert.match(
    (await edit({ name: "Engines", externalId: "", ...row(0, "region", "us") })).location ?? "",
    /saved/,
  );
  const after = (await openPage(test, `${path}/edit`, { person: mara })).html;
  assert.match(after, /value="us"/);
  assert.doesNotMatch(after, /value="(crm|cus_1)"/);
  const twice = await edit({ ...form, ...row(1, "crm", "again") });
  assert.equal(twice.status, 422);
  assert.match(twice.html, /Each metadata key can be used only once/);
  const long = await edit({ ...form, ...row(0, "crm", "x".repeat(501)) });
  assert.equal(long.status, 422);
  assert.match(long.html, /role="alert"/);
});

testApp("suspends, resumes and deletes an organization after asking", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp();
  const { fullKey } = await createTestKey(test, ada);
  const path = `/operator/organizations/${ada.organizationId}`;
  const use = async () => {
    const json = { productSlug: "p", metric: "m", quantity: 1 };
    return (await test.send("/api/v1/usage", { apiKey: fullKey, json })).status;
  };
  const act = async (action: string) => {
    const asked = await openPage(test, `${path}/${action}`, { person: mara });
    assert.match(asked.html, /Ada Lovelace’s organization/);
    return (await openPage(test, `${path}/${action}`, { person: mara, form: {} })).location;
  };
  assert.match(await act("suspend") ?? "", /done=suspended/);
  assert.equal(await use(), 403);
  assert.match((await openPage(test, path, { person: mara })).html, /Suspended/);
  assert.match(await act("resume") ?? "", /done=resumed/);
  assert.equal(await use(), 201);
  assert.equal(await act("delete"), "/operator/organizations?done=deleted");
  assert.equal(await use(), 401);
  assert.equal((await openPage(test, path, { person: mara })).status, 404);
});

testApp("keeps notes", async (test) => {
  const mara = await newOperator(test, "Mara");
  const ada = await test.signUp();
  const path = `/operator/organizations/${ada.organizationId}`;
  const send = (more: string, form: Record<string, string>) =>
    openPage(test, `${path}${more}`, { person: mara, form });
  assert.equal((await send("/notes/new", { text: " " })).status, 422);
  for (let n = 1; n <= 6; n++) await send("/notes/new", { text: `Note ${n}` });
  const html = (await openPage(test, path, { person: mara })).html;
  assert.match(html, /Note 6/);
  assert.doesNotMatch(html, /Note 1</);
  const [, older = ""] = /href="[^"]*(\?notes=not_\w+)"/.exec(html) ?? [];
  assert.match((await openPage(test, `${path}${older}`, { person: mara })).html, /Note 1</);
  const [remove = ""] = /\/notes\/not_\w+\/delete/.exec(html) ?? [];
  assert.match((await send(remove, {})).location ?? "", /done=note-deleted/);
  assert.doesNotMatch((await openPage(test, path, { person: mara })).html, /Note 6/);
});

testApp(
  "a form about an organization with a backslash in its external id acts on no other one",
  async (test) => {
    const mara = await newOperator(test);
    const ada = await test.signUp("Ada");
    const { fullToken: apiKey } = await newOperatorToken(test);
    const externalId = `a\\..\\${ada.organizationId}`;
    const json = { name: "Small", externalId };
    const created = await test.send("/api/operator/organizations", { apiKey, json });
    const { organization } = await created.json();
    const path = `/operator/organizations/${encodeURIComponent(`external:${externalId}`)}/suspend`;
    const { html } = await openPage(test, path, { person: mara });
    const [, action = ""] = /<form[^>]*action="([^"]*suspend)"/.exec(html) ?? [];
    // As a browser resolves it.
    const { pathname } = new URL(action, test.config.baseUrl);
    assert.equal((await openPage(test, pathname, { person: mara, form: {} })).status, 303);
    const statusOf = async (id: string) =>
      (await (await test.send(`/api/operator/organizations/${id}`, { apiKey })).json()).organization.status;
    assert.equal(await statusOf(organization.id), "suspended");
    assert.equal(await statusOf(ada.organizationId), "active");
  },
);
