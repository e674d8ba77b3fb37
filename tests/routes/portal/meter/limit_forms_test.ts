// Forms of limits, alerts and budgets, without scripts: products and metrics to choose, and quantities with units.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import { assertRows, fetchJson } from "../../../support/app/rows.ts";
import { addLimit } from "../../../support/meter/limits.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { senderOf } from "../../../support/operators/operator_api.ts";
import { openPage } from "../../../support/portal/pages.ts";

/** An operator with a product, and a customer. */
async function newScene(test: TestApp) {
  const mara = await newOperator(test);
  const send = senderOf(test, { path: "/api/operator", cookie: mara.cookie });
  const metrics = [
    { slug: "bytes", name: "Data transfer", unit: "bytes" },
    { slug: "requests", name: "Requests" },
  ];
  await send("POST /products", { slug: "tiles", name: "Map <tiles>", metrics });
  return { mara, send, ada: await test.signUp("Ada") };
}

testApp("an alert takes a metric of the catalogue and a quantity with a unit", async (test) => {
  const { ada } = await newScene(test);
  const path = "/portal/alerts";
  const form = { scope: "tiles/bytes", per: "month", quantity: "1.5 TB" };
  const { html } = await openPage(test, `${path}/new`, { person: ada });
  const [, select = ""] = /<select id="scope"[^>]*>(.*?)<\/select>/s.exec(html) ?? [];
  assert.match(
    select,
    /<optgroup label="Map (<|&lt;)tiles(>|&gt;)">.*value="tiles\/bytes"[^>]*>[^<]*Data transfer/s,
  );
  assert.match(select, /<option value="other"[^>]*>Other…/);
  await assertRows(test, ada, [[`POST ${path}/new`, form, `303 ${path}?done=added`]]);
  const { alerts: [alert] } = await fetchJson(test, ada, `GET /api${path}`);
  assert.deepEqual([alert.productSlug, alert.metric, alert.quantity], ["tiles", "bytes", 1.5e12]);
  await assertRows(test, ada, [[`GET ${path}/${alert.id}/edit`, null, 200, {
    shows: ['<option value="tiles/bytes" selected', 'name="quantity" value="1.5 TB"'],
  }]]);
});

testApp("a metric that isn't in the catalogue is typed", async (test) => {
  const { ada } = await newScene(test);
  const path = "/portal/alerts";
  const form = { scope: "other", productSlug: "beta", metric: "calls", per: "day", quantity: "15M" };
  // What is typed for another choice doesn't count.
  const listed = { ...form, scope: "/requests", quantity: "2k" };
  await assertRows(test, ada, [
    [`POST ${path}/new`, form, 303],
    [`POST ${path}/new`, listed, 303],
  ]);
  const { alerts } = await fetchJson(test, ada, `GET /api${path}`);
  const scopes = alerts.map(
    ({ productSlug, metric, quantity }: { productSlug: string; metric: string; quantity: number }) =>
      [productSlug, metric, quantity].join(),
  );
  assert.deepEqual(scopes.sort(), [",requests,2000", "beta,calls,15000000"]);
  const typed = alerts.find(({ metric }: { metric: string }) => metric === "calls");
  await assertRows(test, ada, [[`GET ${path}/${typed.id}/edit`, null, 200, {
    shows: ['<option value="other" selected', 'name="metric" value="calls"', 'value="15,000,000"'],
  }]]);
});

testApp(
  "a quantity that isn't understood says what is, beside its field and with all other errors",
  async (test) => {
    const { ada, mara, send } = await newScene(test);
    const { id: key } = await createTestKey(test, ada);
    const { plans: [plan] } = (await send("GET /plans")).body;
    const row = (list: string) => ({
      [`${list}[0].scope`]: "tiles/bytes",
      [`${list}[0].per`]: "week",
      [`${list}[0].quantity`]: "5 apples",
    });
    const shows = (list: string) => ({
      shows: [`id="${list}[0].quantity-error"`, /1\.5 GB or 5 TB/, `id="${list}[0].per-error"`, "5 apples"],
    });
    await assertRows(test, ada, [
      [`POST /portal/api-keys/${key}/budget`, row("limits"), 422, shows("limits")],
      ["POST /portal/api-keys/new", { name: "", ...row("limits") }, 422, shows("limits")],
    ]);
    const organization = `/operator/organizations/${ada.organizationId}/limits/edit`;
    await assertRows(test, mara, [
      [`POST ${organization}`, { timezone: "UTC", ...row("limits") }, 422, shows("limits")],
      [
        `POST /operator/plans/${plan.id}/edit`,
        { name: "Free", ...row("limits"), ...row("defaultBudget") },
        422,
        { shows: [...shows("limits").shows, ...shows("defaultBudget").shows] },
      ],
      [`POST ${organization}`, {
        timezone: "UTC",
        ...row("limits"),
        "limits[0].per": "day",
        "limits[0].mode": "hard",
        "limits[0].quantity": "20 gb",
      }, 303],
      [`GET ${organization}`, null, 200, {
        shows: ['value="20 GB"', '<option value="tiles/bytes" selected'],
      }],
    ]);
  },
);

testApp("a form of limits says how long a quantity lasts, also while it is typed", async (test) => {
  const { ada, mara } = await newScene(test);
  const [key, other] = [await createTestKey(test, ada), await createTestKey(test, ada, { name: "Other" })];
  const eve = await test.signUp("Eve");
  const record = (apiKey: string, json: Record<string, unknown>) =>
    test.send("/api/v1/usage", { apiKey, json: { productSlug: "tiles", metric: "requests", ...json } });
  await record(key.fullKey, { quantity: 700 });
  await record(other.fullKey, { quantity: 700 });
  await record(key.fullKey, { productSlug: "beta", quantity: 1_400 });
  const typing = async (path: string, person: typeof ada, typed: Record<string, string>) => {
    const headers = { "hx-request": "true" };
    const response = await test.send(`${path}?${new URLSearchParams(typed)}`, {
      cookie: person.cookie,
      headers,
    });
    return [response.status, await response.text()];
  };
  const row = { scope: "tiles/requests", quantity: "1k", per: "month", by: "" };
  const lasts = (days: number, perDay: number) =>
    `${days} days at the rate of the last 7 days, ${perDay} per day`;
  const path = "/portal/alerts/new";
  assert.deepEqual(await typing(path, ada, row), [200, lasts(5, 200)]);
  assert.deepEqual(await typing(path, ada, { ...row, scope: "/requests" }), [200, lasts(2, 400)]);
  assert.deepEqual(await typing(path, ada, { ...row, apiKeyId: key.id }), [200, lasts(10, 100)]);
  for (const none of [{ quantity: "1 TB" }, { quantity: "" }, { by: "user" }, { scope: "tiles/" }]) {
    assert.deepEqual(await typing(path, ada, { ...row, ...none }), [200, ""], JSON.stringify(none));
  }
  // Of others' keys nothing is known.
  const unused = "No usage in the last 7 days";
  assert.deepEqual(await typing(path, eve, { ...row, apiKeyId: key.id }), [200, unused]);
  const budget = Object.fromEntries(Object.entries(row).map(([part, value]) => [`limits[2].${part}`, value]));
  assert.deepEqual(await typing(`/portal/api-keys/${other.id}/budget`, ada, budget), [200, lasts(10, 100)]);
  const console = `/operator/organizations/${ada.organizationId}/limits/edit`;
  assert.deepEqual(await typing(console, mara, budget), [200, lasts(5, 200)]);
  test.advance(6 * 24 * 3_600_000);

  // Without scripts, for what is stored and for what was rejected.
  await assertRows(test, ada, [
    [`POST ${path}`, row, 303],
    [`POST ${path}`, { ...row, notifyAt: "x" }, 422, { shows: [lasts(5, 200)] }],
    [`GET ${path}`, null, 200, { shows: [/<p class="hint pace"[^>]*><\/p>/] }],
  ]);
  const { alerts: [alert] } = await fetchJson(test, ada, "GET /api/portal/alerts");
  await assertRows(test, ada, [[`GET /portal/alerts/${alert.id}/edit`, null, 200, {
    shows: [lasts(5, 200)],
  }]]);
  test.advance(2 * 24 * 3_600_000);
  assert.deepEqual(await typing(path, ada, row), [200, unused]);
});

testApp("a grant takes a quantity with a unit of its limit's metric", async (test) => {
  const { ada, mara } = await newScene(test);
  const limit = await addLimit(test, {}, {
    ...{ productSlug: "tiles", metric: "bytes" },
    ...{ per: "month", quantity: 1e12, mode: "hard" },
  });
  const path = `/operator/organizations/${ada.organizationId}/grants/new`;
  const grant = { limitId: limit.id, quantity: "1.5 TB", reason: "Invoice 7.", formToken: "once" };
  await assertRows(test, mara, [
    [`POST ${path}`, { ...grant, quantity: "5 apples" }, 422, {
      shows: ['value="5 apples"', /Units are KB, MB, GB, TB and PB/],
    }],
    [`POST ${path}`, { ...grant, quantity: "0 TB" }, 422, { shows: [/must be more than 0/] }],
    [`POST ${path}`, grant, 303],
  ]);
  const { grants } = await fetchJson(test, ada, "GET /api/portal/grants");
  assert.deepEqual(grants.map(({ quantity }: { quantity: number }) => quantity), [1.5e12]);
});
