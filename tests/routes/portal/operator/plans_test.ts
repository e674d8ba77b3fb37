// The console's pages of plans.
import assert from "node:assert/strict";
import { type TestApp, testApp, type TestPerson } from "../../../support/app/app.ts";
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
  const list = await openPage(test, path, { person: mara });
  assert.match(list.html, /<bdi>Default<\/bdi>/);
  // A new plan begins with the default one's values.
  const empty = await openPage(test, `${path}/new`, { person: mara });
  assert.match(empty.html, /name="apiKeysMax" value="100"/);

  const page = await addPlan(test, mara);
  const plan = (await plans(test, mara))[1];
  assert.deepEqual(
    { ...plan, limits: plan.limits.map(({ id: _, ...limit }: { id: string }) => limit) },
    { ...plan, apiKeysMax: 1000, membersMax: 50, requestsPerSecond: 0, usageSeriesMax: 500, limits },
  );
  const shown = (await openPage(test, page, { person: mara })).html;
  assert.match(shown, /Requests per month/);
  assert.match(shown, /5,000,000.*50, 90%/s);
  assert.match(shown, /No limit/);

  // The form has what was saved; a row without a quantity goes.
  const edit = await openPage(test, `${page}/edit`, { person: mara });
  assert.match(edit.html, /name="limits\[1\]\.quantity" value="0\.5"/);
  const change = { ...growth, "limits[0].quantity": "" };
  const saved = await openPage(test, `${page}/edit`, { person: mara, form: change });
  assert.equal(saved.location, `${page}?done=saved`);
  assert.deepEqual((await plans(test, mara))[1].limits, [plan.limits[1]]);

  const question = await openPage(test, `${page}/delete`, { person: mara });
  assert.match(question.html, /Delete “<bdi>Growth<\/bdi>”\?/);
  const deleted = await openPage(test, `${page}/delete`, { person: mara, form: {} });
  assert.equal(deleted.location, `${path}?done=deleted`);
  assert.equal((await plans(test, mara)).length, 1);
  assert.equal((await openPage(test, page, { person: mara })).status, 404);
});

testApp("another plan becomes the default, and a plan in use can't be deleted", async (test) => {
  const mara = await newOperator(test);
  const page = await addPlan(test, mara);
  const [before] = await plans(test, mara);
  await openPage(test, `${page}/default`, { person: mara, form: {} });
  assert.deepEqual((await plans(test, mara)).map((plan: { isDefault: boolean }) => plan.isDefault), [
    false,
    true,
  ]);
  // The organization of the operator has the plan that was the default before.
  const refused = await openPage(test, `${path}/${before.id}/delete`, { person: mara, form: {} });
  assert.equal(refused.status, 409);
  assert.match(refused.html, /1 organization has this plan\./);
});

testApp("a plan in use is changed after a confirmation that says what changes", async (test) => {
  const mara = await newOperator(test);
  const [{ id }] = await plans(test, mara);
  const edit = `${path}/${id}/edit`;
  const form = { ...growth, name: "Default" };
  const question = await openPage(test, edit, { person: mara, form });
  assert.equal(question.status, 200);
  assert.match(question.html, /Change “<bdi>Default<\/bdi>”\?/);
  assert.match(question.html, /1 organization</);
  assert.match(question.html, /API keys.*100.*1,000/s);
  assert.match(question.html, /No limit.*5,000,000 \(hard, notify at 50, 90%\)/s);
  assert.deepEqual((await plans(test, mara))[0].limits, []);
  const confirmed = await openPage(test, edit, { person: mara, form: { ...form, confirmed: "on" } });
  assert.equal(confirmed.location, `${path}/${id}?done=saved`);
  assert.equal((await plans(test, mara))[0].limits.length, 2);
  // A name alone is changed without asking.
  const renamed = await openPage(test, edit, { person: mara, form: { ...form, name: "Free" } });
  assert.equal(renamed.location, `${path}/${id}?done=saved`);
});

testApp("removing a feature from a plan in use asks for confirmation", async (test) => {
  const mara = await newOperator(test);
  const [{ id }] = await plans(test, mara);
  const edit = `${path}/${id}/edit`;
  const form = { ...growth, name: "Default", features: "sso maps:satellite" };
  await openPage(test, edit, { person: mara, form: { ...form, confirmed: "on" } });
  const question = await openPage(test, edit, { person: mara, form: { ...form, features: "sso" } });
  assert.equal(question.status, 200);
  assert.match(question.html, /Features.*maps:satellite, sso.*<span>sso<\/span>/s);
  assert.deepEqual((await plans(test, mara))[0].features, ["maps:satellite", "sso"]);
  const none = await openPage(test, edit, { person: mara, form: { ...form, features: "" } });
  assert.match(none.html, /<span>None<\/span>/);
  const confirmed = await openPage(test, edit, {
    person: mara,
    form: { ...form, features: "", confirmed: "on" },
  });
  assert.equal(confirmed.location, `${path}/${id}?done=saved`);
  assert.deepEqual((await plans(test, mara))[0].features, []);
  // The same features in another order are no change.
  await openPage(test, edit, { person: mara, form: { ...form, confirmed: "on" } });
  const same = { ...form, features: "maps:satellite, sso, sso" };
  const saved = await openPage(test, edit, { person: mara, form: same });
  assert.equal(saved.location, `${path}/${id}?done=saved`);
});

testApp("a rejected plan is shown again with what is wrong", async (test) => {
  const mara = await newOperator(test);
  await addPlan(test, mara);
  const taken = await openPage(test, `${path}/new`, { person: mara, form: growth });
  assert.equal(taken.status, 409);
  assert.match(taken.html, /There is already a plan with this name\./);
  const wrong = {
    ...growth,
    name: "",
    membersMax: "",
    features: "sso Maps",
    "limits[0].quantity": "-1",
    "limits[4].per": "week",
  };
  const { status, html } = await openPage(test, `${path}/new`, { person: mara, form: wrong });
  assert.equal(status, 422);
  for (const field of ["name", "membersMax", "features", "limits[0].quantity", "limits[1].per"]) {
    assert.ok(html.includes(`id="${field}-error"`), field);
  }
  const twice = {
    ...growth,
    name: "Twice",
    "limits[4].productSlug": "",
    "limits[4].metric": "requests",
    "limits[4].per": "month",
  };
  const again = await openPage(test, `${path}/new`, { person: mara, form: twice });
  assert.equal(again.status, 422);
  assert.match(again.html, /id="limits\[1\]\.productSlug-error"/);
});
