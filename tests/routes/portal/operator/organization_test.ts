// The console's pages of one organization.
import assert from "node:assert/strict";
import { createTestKey, testApp } from "../../../support/app/app.ts";
import { assertOutcome, assertRows, type Row } from "../../../support/app/rows.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { recordOne, recordWith } from "../../../support/meter/usage.ts";

testApp("tabs show an organization's usage, members, keys, limits, log, notes and metadata", async (test) => {
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
    "/usage": /<h1>Usage[^]*Requests/,
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
    for (const action of ["edit", "suspend", "delete", "usage/records"]) {
      assert.ok(html.includes(`href="${path}/${action}"`), `${tab}: ${action}`);
    }
    assert.ok(html.includes(`action="${path}/view-as-customer"`), tab);
    // Only the first tab has the facts.
    assert.equal(
      /Requests this month[^]*>7<[^]*Last request[^]*Time zone[^]*Asia\/Tokyo/.test(html),
      tab === "",
      tab,
    );
    assert.doesNotMatch(html, /href="\/portal\/(usage|members|api-keys|invitations|audit)/, tab);
    const missing = await openPage(test, `/operator/organizations/org_x${tab}`, { person: mara });
    assert.equal(missing.status, 404);
  }
});

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
  const { location: closed = "" } = await close("2026-09");
  const september = closed?.replace(/\?.*/, "") ?? "";
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
  const edit = `POST ${path}/edit`;
  const row = (index: number, key: string, value: string) => ({
    [`metadata[${index}].key`]: key,
    [`metadata[${index}].value`]: value,
  });
  const form = { name: "Engines", externalId: "cus_1", ...row(0, "crm", "17"), ...row(2, "region", "eu") };
  await assertRows(test, mara, [
    [edit, form, `303 ${path}?done=saved`],
    [`GET ${path}`, null, 200, { shows: ["Engines", "cus_1", "crm", "17", "region"] }],
    [edit, { name: "Engines", externalId: "", ...row(0, "region", "us") }, `303 ${path}?done=saved`],
    [`GET ${path}/edit`, null, 200, { shows: ["us</textarea>"], hides: [/value="(crm|cus_1)"/] }],
    [edit, { ...form, ...row(1, "crm", "again") }, 422, {
      shows: ["Each metadata key can be used only once"],
    }],
    [edit, { ...form, ...row(0, "crm", "x".repeat(501)) }, 422, { shows: ['role="alert"'] }],
  ]);
});

testApp("suspends, resumes and deletes an organization after asking", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp();
  const { fullKey } = await createTestKey(test, ada);
  const path = `/operator/organizations/${ada.organizationId}`;
  for (
    const [action, target, status] of [
      ["suspend", `${path}?done=suspended`, 403],
      ["resume", `${path}?done=resumed`, 201],
      ["delete", "/operator/organizations?done=deleted", 401],
    ] as const
  ) {
    await assertRows(test, mara, [
      [`GET ${path}/${action}`, null, 200, { shows: ["Ada Lovelace’s organization"] }],
      [`POST ${path}/${action}`, {}, `303 ${target}`],
      [`GET ${path}`, null, action === "delete" ? 404 : 200, {
        shows: action === "suspend" ? ["Suspended"] : [],
      }],
    ]);
    await assertOutcome(recordWith(test, fullKey), status);
  }
});

testApp("keeps notes", async (test) => {
  const mara = await newOperator(test, "Mara");
  const ada = await test.signUp();
  const path = `/operator/organizations/${ada.organizationId}`;
  const { html } = await assertRows(test, mara, [
    [`POST ${path}/notes/new`, { text: " " }, 422],
    ...[1, 2, 3, 4, 5, 6].map((n): Row => [`POST ${path}/notes/new`, { text: `Note ${n}` }, 303]),
    [`GET ${path}`, null, 200, { shows: ["Note 6"], hides: ["Note 1<"] }],
  ]);
  const older = /href="[^"]*(\?notes=not_\w+)"/.exec(html)?.[1];
  const remove = /\/notes\/not_\w+\/delete/.exec(html)?.[0];
  await assertRows(test, mara, [
    [`GET ${path}${older}`, null, 200, { shows: ["Note 1<"] }],
    [`POST ${path}${remove}`, {}, `303 ${path}?done=note-deleted`],
    [`GET ${path}`, null, 200, { hides: ["Note 6"] }],
  ]);
});

testApp("a form about an organization with a backslash in its external id acts on no other", async (test) => {
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
});
