// Forms with the budgets of new keys: the one that creates a key, and the one of the plan that gives them one.
import assert from "node:assert/strict";
import type { UsageLimit } from "../../../domain/meter/usage_limit.ts";
import { type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { assertRows, fetchJson } from "../../support/app/rows.ts";
import { newOperator } from "../../support/operators/console.ts";
import { senderOf } from "../../support/operators/operator_api.ts";
import { joinedPerson } from "../../support/people/people.ts";
import { openPage } from "../../support/portal/pages.ts";

const path = "/portal/api-keys";
const perDay = { productSlug: null, metric: "requests", per: "day", quantity: 5_000, mode: "hard" };
const rowOf = (list: string, limit: Partial<Record<keyof UsageLimit, unknown>>) =>
  Object.fromEntries(
    Object.entries(limit).map(([part, value]) => [`${list}[0].${part}`, String(value ?? "")]),
  );
const typedDay = rowOf("limits", perDay);

/** An operator, a customer, and the default plan with that budget for new keys. */
async function newScene(test: TestApp, more: Record<string, unknown> = {}) {
  const mara = await newOperator(test);
  const send = senderOf(test, { path: "/api/operator", cookie: mara.cookie });
  const { id } = (await send("GET /plans")).body.plans[0];
  const { status } = await send(`PATCH /plans/${id}`, { defaultBudget: [perDay], ...more });
  assert.equal(status, 200);
  return { mara, ada: await test.signUp("Ada"), plan: `/operator/plans/${id}`, send };
}

/** @returns The budgets of all keys that someone sees, newest first, as quantities. */
async function quantitiesOf(test: TestApp, person: TestPerson): Promise<number[][]> {
  const { apiKeys } = await fetchJson(test, person, "GET /api/portal/api-keys");
  return apiKeys.map(({ budget }: { budget: UsageLimit[] }) => budget.map(({ quantity }) => quantity));
}

testApp("the form of a new key has the plan's default budget, to keep, change or leave out", async (test) => {
  const limits = [{ ...perDay, quantity: 4_000 }];
  const { ada } = await newScene(test, { limits });
  const post = `POST ${path}/new`;
  const withRow = (quantity: string, more = {}) => ({
    name: "A",
    ...typedDay,
    "limits[0].quantity": quantity,
    ...more,
  });
  await assertRows(test, ada, [
    [`GET ${path}/new`, null, 200, { shows: ['name="limits[0].quantity" value="5,000"'] }],
    // As it is, it may be above the organization's limit, and a test key has none.
    [post, withRow("5,000"), 201],
    [post, withRow("5,000", { environment: "test" }), 201],
    [post, withRow("3,000"), 201],
    [post, withRow(""), 201],
    [post, { name: "A" }, 201],
    [post, withRow("4,001"), 422, {
      shows: ['name="limits[0].quantity" value="4,001"', /must be at most 4000/],
    }],
    [post, withRow("1", { environment: "test" }), 422, { shows: ["can't be set for a test key"] }],
    [post, withRow("lots"), 422, { shows: ['value="lots"'] }],
  ]);
  assert.deepEqual(await quantitiesOf(test, ada), [[5_000], [], [3_000], [], [5_000]]);
});

testApp("members see and send no budget, operators choose one for a customer's key", async (test) => {
  const { ada, mara } = await newScene(test);
  const member = await joinedPerson(test, ada, "MEMBER");
  await assertRows(test, member, [
    [`GET ${path}/new`, null, 200, { hides: ["limits[0]", "Budget"] }],
    [`POST ${path}/new`, { name: "A", ...typedDay }, 403],
    [`POST ${path}/new`, { name: "A", "limits[0].quantity": "" }, 403],
    [`POST ${path}/new`, { name: "A" }, 201],
  ]);
  const ofAda = `/operator/organizations/${ada.organizationId}/api-keys/new`;
  await assertRows(test, mara, [
    [`GET ${ofAda}`, null, 200, { shows: ['name="limits[0].quantity" value="5,000"'] }],
    [`POST ${ofAda}`, { name: "B", ...typedDay, "limits[0].quantity": "7" }, 201],
  ]);
  assert.deepEqual(await quantitiesOf(test, ada), [[7], [5_000]]);
});

testApp(
  "the form of a plan has its default budget and active holds, and asks before they change",
  async (test) => {
    const { mara, plan, send } = await newScene(test);
    const { html } = await openPage(test, `${plan}/edit`, { person: mara });
    const field = (name: string) =>
      html.match(RegExp(`name="${name.replaceAll(/[[\]]/g, "\\$&")}" value="([^"]*)"`))?.[1];
    assert.deepEqual(["holdsMax", "defaultBudget[0].quantity", "limits[0].quantity"].map(field), [
      "10,000",
      "5,000",
      "",
    ]);
    assert.equal(html.match(/<datalist id="metrics">/g)?.length, 1);
    const form = {
      name: "Default",
      holdsMax: "20",
      "limits[0].quantity": "",
      ...rowOf("defaultBudget", { ...perDay, quantity: "6,000", mode: "soft", notifyAt: "50" }),
    };
    const edit = `POST ${plan}/edit`;
    await assertRows(test, mara, [
      [edit, { ...form, "defaultBudget[0].per": "week" }, 422, {
        shows: ['id="defaultBudget[0].per-error"'],
      }],
      [edit, { ...form, holdsMax: "10,001" }, 422, { shows: ['id="holdsMax-error"'] }],
      [edit, form, 200, {
        shows: [
          /Active holds.*10,000.*20/s,
          /Default budget: Requests per day.*5,000 \(hard\).*6,000 \(soft, notify at 50%\)/s,
        ],
      }],
      [edit, { ...form, confirmed: "on" }, `303 ${plan}?done=saved`],
      [`GET ${plan}`, null, 200, { shows: ["Active holds", /Default budget.*6,000/s] }],
      ["GET /operator/audit", null, 200, { shows: [/changed the default budget from.*5,000.*6,000/s] }],
      // A form that lacks the fields changes neither.
      [edit, { name: "Free" }, `303 ${plan}?done=saved`],
    ]);
    const planOf = async () => (await send(`GET ${plan.replace("/operator", "")}`)).body.plan;
    assert.deepEqual([(await planOf()).holdsMax, (await planOf()).defaultBudget], [20, [
      { ...perDay, quantity: 6_000, mode: "soft", notifyAt: [50] },
    ]]);
    await assertRows(test, mara, [[
      edit,
      { name: "Free", "defaultBudget[0].quantity": "", confirmed: "on" },
      `303 ${plan}?done=saved`,
    ]]);
    assert.deepEqual((await planOf()).defaultBudget, []);
    assert.equal((await openPage(test, plan, { person: mara })).html.includes("Default budget"), false);
  },
);
