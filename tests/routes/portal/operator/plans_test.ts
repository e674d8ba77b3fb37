// The console's pages of plans.
import assert from "node:assert/strict";
import { type TestApp, testApp, type TestPerson } from "../../../support/app/app.ts";
import { assertRows } from "../../../support/app/rows.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { openPage } from "../../../support/portal/pages.ts";

const path = "/operator/plans";
const growth = {
  name: "Growth",
  apiKeysMax: "1,000",
  membersMax: "50",
  requestsPerSecond: "0",
  usageSeriesMax: "500",
  "limits[0].metric": "requests",
  "limits[0].quantity": "5,000,000",
  "limits[0].per": "month",
  "limits[0].mode": "hard",
  "limits[0].notifyAt": "90 %, 50",
  // Left out: rows without a quantity.
  "limits[1].productSlug": "tiles",
  "limits[1].per": "month",
  "limits[1].mode": "hard",
  "limits[4].productSlug": "tiles",
  "limits[4].metric": "bytes",
  "limits[4].quantity": "0.5",
  "limits[4].per": "total",
  "limits[4].mode": "soft",
};
const limits = [
  {
    productSlug: null,
    metric: "requests",
    per: "month",
    quantity: 5_000_000,
    mode: "hard",
    notifyAt: [50, 90],
  },
  { productSlug: "tiles", metric: "bytes", per: "total", quantity: 0.5, mode: "soft", notifyAt: [80, 100] },
];

async function plans(test: TestApp, { cookie }: TestPerson) {
  const { plans } = await (await test.send("/api/operator/plans", { cookie })).json();
  return plans;
}

/** Adds a plan through the form. @returns Its page's address. */
async function addPlan(test: TestApp, person: TestPerson, form: Record<string, string> = growth) {
  const { location } = await openPage(test, `${path}/new`, { person, form });
  assert.match(location ?? "", /^\/operator\/plans\/plan_\w+\?done=created$/);
  return location?.split("?", 1)[0] ?? "";
}

testApp("operators create, edit and delete plans", async (test) => {
  const mara = await newOperator(test);
  await assertRows(test, mara, [
    [`GET ${path}`, null, 200, { shows: ["<bdi>Default</bdi>"] }],
    // A new plan begins with the default one's values.
    [`GET ${path}/new`, null, 200, { shows: ['name="apiKeysMax" value="100"'] }],
  ]);
  const page = await addPlan(test, mara);
  const plan = (await plans(test, mara))[1];
  assert.deepEqual(
    { ...plan, limits: plan.limits.map(({ id: _, ...limit }: { id: string }) => limit) },
    { ...plan, apiKeysMax: 1000, membersMax: 50, requestsPerSecond: 0, usageSeriesMax: 500, limits },
  );
  await assertRows(test, mara, [
    [`GET ${page}`, null, 200, { shows: ["Requests per month", /5,000,000.*50, 90%/s, "No limit"] }],
    // The form has what was saved; a row without a quantity goes.
    [`GET ${page}/edit`, null, 200, { shows: ['name="limits[1].quantity" value="0.5"'] }],
    [`POST ${page}/edit`, { ...growth, "limits[0].quantity": "" }, `303 ${page}?done=saved`],
  ]);
  assert.deepEqual((await plans(test, mara))[1].limits, [plan.limits[1]]);
  await assertRows(test, mara, [
    [`GET ${page}/delete`, null, 200, { shows: ["Delete “<bdi>Growth</bdi>”?"] }],
    [`POST ${page}/delete`, {}, `303 ${path}?done=deleted`],
    [`GET ${page}`, null, 404],
  ]);
  assert.equal((await plans(test, mara)).length, 1);
});

testApp("another plan becomes the default, and a plan in use can't be deleted", async (test) => {
  const mara = await newOperator(test);
  const page = await addPlan(test, mara);
  const [before] = await plans(test, mara);
  await assertRows(test, mara, [
    [`POST ${page}/default`, {}, 303],
    // The organization of the operator has the plan that was the default before.
    [`POST ${path}/${before.id}/delete`, {}, 409, { shows: ["1 organization has this plan."] }],
  ]);
  const isDefault = (await plans(test, mara)).map((plan: { isDefault: boolean }) => plan.isDefault);
  assert.deepEqual(isDefault, [false, true]);
});

testApp("a plan in use is changed after a confirmation that says what changes", async (test) => {
  const mara = await newOperator(test);
  const [{ id }] = await plans(test, mara);
  const edit = `POST ${path}/${id}/edit`;
  const saved = `303 ${path}/${id}?done=saved`;
  const form = { ...growth, name: "Default" };
  await assertRows(test, mara, [[edit, form, 200, {
    shows: [
      "Change “<bdi>Default</bdi>”?",
      "1 organization<",
      /API keys.*100.*1,000/s,
      /No limit.*5,000,000 \(hard, notify at 50, 90%\)/s,
    ],
  }]]);
  assert.deepEqual((await plans(test, mara))[0].limits, []);
  await assertRows(test, mara, [[edit, { ...form, confirmed: "on" }, saved]]);
  assert.equal((await plans(test, mara))[0].limits.length, 2);
  // A name alone is changed without asking.
  await assertRows(test, mara, [[edit, { ...form, name: "Free" }, saved]]);
});

testApp("removing a feature from a plan in use asks for confirmation", async (test) => {
  const mara = await newOperator(test);
  const [{ id }] = await plans(test, mara);
  const edit = `POST ${path}/${id}/edit`;
  const saved = `303 ${path}/${id}?done=saved`;
  const withFeatures = (features: string, more = {}) => ({
    ...{ ...growth, name: "Default", ...more },
    ...Object.fromEntries(features.split(" ").map((slug, index) => [`features[${index}].slug`, slug])),
  });
  await assertRows(test, mara, [
    [edit, withFeatures("sso maps:satellite", { confirmed: "on" }), saved],
    [edit, withFeatures("sso"), 200, { shows: [/Features.*maps:satellite, sso.*<span>sso<\/span>/s] }],
    [edit, withFeatures(""), 200, { shows: ["<span>None</span>"] }],
    // The same features in another order are no change.
    [edit, withFeatures("maps:satellite sso sso"), saved],
  ]);
  assert.deepEqual((await plans(test, mara))[0].features, ["maps:satellite", "sso"]);
  await assertRows(test, mara, [[edit, withFeatures("", { confirmed: "on" }), saved]]);
  assert.deepEqual((await plans(test, mara))[0].features, []);
});

testApp("a rejected plan is shown again with what is wrong", async (test) => {
  const mara = await newOperator(test);
  await addPlan(test, mara);
  const wrong = {
    ...growth,
    name: "",
    membersMax: "",
    "features[0].slug": "sso",
    "features[2].slug": "Maps",
    "limits[0].quantity": "-1",
    "limits[4].per": "week",
  };
  const twice = {
    ...growth,
    name: "Twice",
    "limits[4].productSlug": "",
    "limits[4].metric": "requests",
    "limits[4].per": "month",
  };
  const fields = ["name", "membersMax", "features[1].slug", "limits[0].quantity", "limits[1].per"];
  await assertRows(test, mara, [
    [`POST ${path}/new`, growth, 409, { shows: ["There is already a plan with this name."] }],
    [`POST ${path}/new`, wrong, 422, { shows: fields.map((field) => `id="${field}-error"`) }],
    [`POST ${path}/new`, twice, 422, { shows: ['id="limits[1].scope-error"'] }],
  ]);
});
