// The plan and the limits of an organization in the console.
import assert from "node:assert/strict";
import { type TestApp, testApp, type TestPerson } from "../../../support/app/app.ts";
import { assertRows } from "../../../support/app/rows.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { openPage } from "../../../support/portal/pages.ts";

/** The operator's client, a plan, and an organization with a key that recorded 40 requests today. */
async function newCustomer(test: TestApp) {
  const mara = await newOperator(test);
  const send = async (path: string, json?: unknown, method = json === undefined ? "GET" : "POST") => {
    const response = await test.send(path, { method, cookie: mara.cookie, json });
    const text = await response.text();
    assert.ok(response.ok, `${path}: ${text}`);
    return JSON.parse(text);
  };
  const limits = [{ metric: "requests", per: "day", quantity: 50 }];
  const { plan } = await send("/api/operator/plans", { name: "Growth", limits });
  const { organization } = await send("/api/operator/organizations", { name: "Northwind Maps" });
  const records = [{
    organizationId: organization.id,
    productSlug: "tiles",
    metric: "requests",
    quantity: 40,
  }];
  await send("/api/operator/usage", { records });
  const find = async () => (await send(`/api/operator/organizations/${organization.id}`)).organization;
  return { mara, send, plan, id: organization.id, page: `/operator/organizations/${organization.id}`, find };
}

const open = (test: TestApp, path: string, person: TestPerson, form?: Record<string, string>) =>
  openPage(test, path, { person, ...(form === undefined ? {} : { form }) });

testApp("operators give an organization another plan, and see before what changes", async (test) => {
  const { mara, plan, page, find } = await newCustomer(test);
  const before = await find();
  await assertRows(test, mara, [
    [`GET ${page}/plan`, null, 200, { shows: [/<option value="plan_\w+" >Growth/] }],
    [`POST ${page}/plan`, { planId: plan.id }, 200, {
      shows: [
        "Change the plan of “<bdi>Northwind Maps</bdi>”?",
        /Requests per day.*No limit.*50 \(hard\)/s,
      ],
      hides: ["already uses"],
    }],
  ]);
  assert.equal((await find()).planId, before.planId);
  await assertRows(test, mara, [
    [`POST ${page}/plan`, { planId: plan.id, confirmed: "on" }, `303 ${page}?done=saved`],
    [`GET ${page}/limits`, null, 200, {
      shows: [`<a href="/operator/plans/${plan.id}"><bdi>Growth</bdi>`, /Requests per day.*80%.*40 of 50</s],
    }],
    [`POST ${page}/plan`, { planId: "plan_none" }, 422],
  ]);
  assert.equal((await find()).planId, plan.id);
});

testApp("limits below what is used are set after a warning", async (test) => {
  const { mara, plan, page, id, find, send } = await newCustomer(test);
  await send(`/api/operator/organizations/${id}`, { planId: plan.id }, "PATCH");
  // The plan's limit is there to be replaced.
  const shown = await open(test, `${page}/limits/edit?limit=${plan.limits[0].id}`, mara);
  assert.match(shown.html, /name="limits\[0\]\.quantity" value="50"/);
  const form = {
    timezone: "UTC",
    apiKeysMax: "7",
    "limits[0].metric": "requests",
    "limits[0].per": "day",
    "limits[0].mode": "hard",
  };
  const question = await open(test, `${page}/limits/edit`, mara, { ...form, "limits[0].quantity": "30" });
  assert.equal(question.status, 200);
  assert.match(question.html, /1 organization already uses more than the new limits allow/);
  assert.match(question.html, /Northwind Maps.*Requests per day.*40.*30/s);
  assert.deepEqual((await find()).overrides.limits, []);
  await open(test, `${page}/limits/edit`, mara, { ...form, "limits[0].quantity": "30", confirmed: "on" });
  const { overrides } = await find();
  assert.equal(overrides.apiKeysMax, 7);
  assert.equal(overrides.limits[0].quantity, 30);
  assert.match((await open(test, page, mara)).html, /Hard limit reached/);

  // More is set without asking, as is no limit at all.
  const more = { ...form, apiKeysMax: "", "limits[0].quantity": "1,000.5" };
  assert.equal((await open(test, `${page}/limits/edit`, mara, more)).location, `${page}/limits?done=saved`);
  assert.equal((await find()).overrides.limits[0].quantity, 1000.5);
  const lifted = { ...form, timezone: "Europe/Berlin", "limits[0].mode": "none", "limits[0].quantity": "" };
  assert.equal((await open(test, `${page}/limits/edit`, mara, lifted)).location, `${page}/limits?done=saved`);
  const { overrides: { limits }, timezone } = await find();
  assert.deepEqual([limits[0].quantity, timezone], [null, "Europe/Berlin"]);
  assert.match((await open(test, `${page}/limits/edit`, mara)).html, /<option value="none" selected/);
});

testApp("lowering a plan below what its organizations use is warned about", async (test) => {
  const { mara, plan, id, send } = await newCustomer(test);
  await send(`/api/operator/organizations/${id}`, { planId: plan.id }, "PATCH");
  const form = {
    name: "Growth",
    apiKeysMax: "100",
    membersMax: "100",
    requestsPerSecond: "0",
    usageSeriesMax: "100",
    "limits[0].metric": "requests",
    "limits[0].per": "day",
    "limits[0].mode": "hard",
    "limits[0].quantity": "39",
  };
  const { html } = await open(test, `/operator/plans/${plan.id}/edit`, mara, form);
  assert.match(html, /1 organization already uses more than the new limits allow/);
  assert.match(html, /Northwind Maps/);
});

testApp("rejected limits of an organization are shown again with what is wrong", async (test) => {
  const { mara, page } = await newCustomer(test);
  const form = {
    timezone: "Mars/Olympus",
    apiKeysMax: "many",
    "limits[2].quantity": "-1",
    "limits[2].per": "week",
  };
  const fields = ["timezone", "apiKeysMax", "limits[0].quantity", "limits[0].per"];
  await assertRows(test, mara, [
    [`POST ${page}/limits/edit`, form, 422, { shows: fields.map((field) => `id="${field}-error"`) }],
  ]);
});

testApp("the list of organizations names their plans and can be limited to one", async (test) => {
  const { mara, plan, id, send } = await newCustomer(test);
  await send(`/api/operator/organizations/${id}`, { planId: plan.id }, "PATCH");
  const form = { name: "Halden Logistics", planId: plan.id };
  const { location } = await open(test, "/operator/organizations/new", mara, form);
  assert.match((await open(test, location ?? "", mara)).html, /<bdi>Growth<\/bdi>/);
  const all = (await open(test, "/operator/organizations", mara)).html;
  assert.match(all, /<bdi class="plan">Growth<\/bdi>/);
  const some = (await open(test, `/operator/organizations?plan=${plan.id}`, mara)).html;
  assert.match(some, /Northwind Maps/);
  assert.equal(some.match(/<tr role="row"/g)?.length, 3);
  const page = (await open(test, `/operator/plans/${plan.id}`, mara)).html;
  assert.ok(page.includes(`<a href="/operator/organizations?plan=${plan.id}">2</a>`));
});

testApp("limits per value are set in the form, which keeps the quantities of single values", async (test) => {
  const { mara, page, id, find, send } = await newCustomer(test);
  const values = [{ value: "big", quantity: 90 }];
  const limits = [{ metric: "requests", per: "day", by: "user", quantity: 20, values }];
  await send(`/api/operator/organizations/${id}`, { overrides: { limits } }, "PATCH");
  const records = ["u1", "u2"].map((user) => ({
    organizationId: id,
    productSlug: "tiles",
    metric: "requests",
    quantity: 17,
    properties: { user },
  }));
  await send("/api/operator/usage", { records });
  const shown = await open(test, `${page}/limits/edit`, mara);
  assert.match(shown.html, /name="limits\[0\]\.by" value="user"/);
  assert.match(shown.html, /Each of its values then has the whole quantity/);
  const form = {
    timezone: "UTC",
    "limits[0].metric": "requests",
    "limits[0].per": "day",
    "limits[0].by": "user",
    "limits[0].mode": "hard",
    "limits[0].quantity": "25",
  };
  await open(test, `${page}/limits/edit`, mara, form);
  const { overrides: { limits: [limit] } } = await find();
  assert.deepEqual([limit.by, limit.quantity, limit.values], ["user", 25, values]);
  await open(test, `${page}/limits/edit`, mara, { ...form, "limits[0].per": "total" })
    .then(({ html, status }) => assert.match(`${status} ${html}`, /^422 .*must be hour, day or month/s));
  // The meters have the values that are closest to the limit.
  const meters = (await open(test, `${page}/billing`, mara)).html;
  assert.match(meters, /Requests per day per user.*<bdi>u1<\/bdi>.*17 of 25.*<bdi>u2<\/bdi>/s);
  assert.match((await open(test, `${page}/limits`, mara)).html, /Requests per day per user.*17 of 25/s);
});
