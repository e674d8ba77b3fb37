// The budgets that keys have from their creation: their own, or a copy of the one that the plan gives to new keys.
import assert from "node:assert/strict";
import { hash, randomBytes } from "node:crypto";
import type { BudgetLimit, UsageLimit } from "../../../domain/meter/usage_limit.ts";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { listAudit } from "../../support/app/audit.ts";
import { assertOutcome, assertRows, fetchJson, type Row } from "../../support/app/rows.ts";
import { onEveryDatabase, recordWith } from "../../support/meter/usage.ts";
import { assertSent, operatorOf } from "../../support/operators/operator_api.ts";
import { run } from "../../support/people/scene.ts";
import { joinedPerson } from "../../support/people/people.ts";

const path = "/api/portal/api-keys";
const name = "Production";
const scope = { productSlug: "tiles", metric: "requests" } as const;
const perDay: BudgetLimit = { ...scope, per: "day", quantity: 3.5, mode: "hard", notifyAt: [80, 100] };
const inTotal: BudgetLimit = {
  productSlug: null,
  metric: null,
  per: "total",
  quantity: 40,
  mode: "soft",
  notifyAt: [10],
};

const create = (test: TestApp, person: TestPerson, json: Record<string, unknown> = {}) =>
  fetchJson(test, person, `POST ${path}`, { name, ...json });

const withoutIds = (budget: readonly UsageLimit[]) => budget.map(({ id: _, ...limit }) => limit);

/** @returns The budgets of all keys that someone sees, newest first. */
async function budgetsOf(test: TestApp, person: TestPerson): Promise<unknown[]> {
  const { apiKeys } = await fetchJson(test, person, `GET ${path}`);
  return apiKeys.map(({ budget }: { budget: UsageLimit[] }) => withoutIds(budget));
}

/** Changes the default plan. */
async function planHas(test: TestApp, change: Record<string, unknown>): Promise<void> {
  const send = await operatorOf(test);
  const { id } = (await send("GET /plans")).body.plans[0];
  await assertSent(send, [[`PATCH /plans/${id}`, change, "200"]]);
}

async function statusesOf(test: TestApp, apiKey: string, ...quantities: number[]): Promise<number[]> {
  const statuses: number[] = [];
  for (const quantity of quantities) statuses.push((await recordWith(test, apiKey, { quantity })).status);
  return statuses;
}

onEveryDatabase("a key that is created with a budget is never without it", async (test) => {
  const ada = await test.signUp();
  const { apiKey, fullKey } = await create(test, ada, { budget: [perDay, inTotal] });
  assert.deepEqual(withoutIds(apiKey.budget), [perDay, inTotal]);
  for (const { id } of apiKey.budget) assert.match(id, /^lim_[0-9a-f]{32}$/);
  assert.deepEqual(await budgetsOf(test, ada), [[perDay, inTotal]]);
  assert.deepEqual(await statusesOf(test, fullKey, 4, 3.5, 0.000001), [429, 201, 429]);
  const { events } = await listAudit(test, ada.cookie, "?action=api_key.created");
  assert.deepEqual(events.map(({ details }) => details), [{
    permissions: "usage:read, usage:write",
    budget: "all products/all metrics per total: soft 40 (notify at 10%); tiles/requests per day: hard 3.5",
  }]);

  const send = await operatorOf(test, ["keys:write"]);
  const { status, body } = await send(`POST /organizations/${ada.organizationId}/api-keys`, {
    name,
    budget: [{ per: "total", quantity: 0 }],
  });
  assert.equal(status, 201);
  const [{ id }, ...more] = body.apiKey.budget;
  const none = { productSlug: null, metric: null, per: "total", quantity: 0, mode: "hard" };
  assert.deepEqual([body.apiKey.budget, more], [[{ id, ...none, notifyAt: [80, 100] }], []]);
  assert.deepEqual(await statusesOf(test, body.fullKey, 1), [429]);
  // If the key can't be created, neither is its budget.
  await run(test, "UPDATE plans SET api_keys_max = 2");
  await assertOutcome(
    test.send(path, { cookie: ada.cookie, json: { name, budget: [perDay] } }),
    "409 key_limit_reached",
  );
  const stored = await test.opened.database.read<{ limits: number }>({
    sql: "SELECT count(*) AS limits FROM usage_limits",
    args: [],
  });
  assert.equal(stored[0]?.limits, 3);
});

testApp("a budget at creation is checked as a changed one is", async (test) => {
  const ada = await test.signUp();
  await planHas(test, { limits: [{ ...scope, per: "month", quantity: 3 }] });
  const many = Array.from({ length: 11 }, (_, n) => ({ ...perDay, metric: `m${n}` }));
  const rows = ([
    [{ budget: [inTotal, perDay] }, "budget[1].quantity"],
    [{ budget: [inTotal], environment: "test" }, "budget"],
    [{ budget: many }, "budget"],
    [{ budget: null }, "budget"],
    [{ budget: [{ ...perDay, id: "lim_1" }] }, "budget[0].id"],
  ] as const).map(([json, at]): Row => [`POST ${path}`, { name, ...json }, `422 validation_failed ${at}`]);
  await assertRows(test, ada, rows);
  assert.deepEqual(await budgetsOf(test, ada), []);
  await create(test, ada, { budget: [], environment: "test" });
});

testApp("members don't choose the budgets of new keys, and can't leave out the plan's", async (test) => {
  const ada = await test.signUp();
  const member = await joinedPerson(test, ada, "MEMBER");
  await planHas(test, { defaultBudget: [perDay] });
  for (const budget of [[inTotal], [perDay], []]) {
    await assertOutcome(
      test.send(path, { cookie: member.cookie, json: { name, budget } }),
      "403 forbidden",
    );
  }
  assert.deepEqual(await budgetsOf(test, member), []);
  const { apiKey, fullKey } = await create(test, member);
  assert.deepEqual(withoutIds(apiKey.budget), [perDay]);
  assert.deepEqual(await statusesOf(test, fullKey, 4), [429]);
  const admin = await joinedPerson(test, ada, "ADMIN");
  assert.deepEqual((await create(test, admin, { budget: [] })).apiKey.budget, []);
  assert.deepEqual(withoutIds((await create(test, admin, { budget: [inTotal] })).apiKey.budget), [inTotal]);
});

onEveryDatabase("a new key gets a copy of the plan's default budget", async (test) => {
  const ada = await test.signUp();
  const before = await createTestKey(test, ada);
  await planHas(test, { defaultBudget: [perDay, inTotal] });
  const first = await create(test, ada);
  const second = await create(test, ada);
  assert.deepEqual(withoutIds(first.apiKey.budget), [perDay, inTotal]);
  const ids = [...first.apiKey.budget, ...second.apiKey.budget].map(({ id }) => id);
  for (const id of ids) assert.match(id, /^lim_[0-9a-f]{32}$/);
  assert.equal(new Set(ids).size, 4);
  // Each has its own, and keys that exist have none.
  assert.deepEqual(await statusesOf(test, first.fullKey, 3.5, 1), [201, 429]);
  assert.deepEqual(await statusesOf(test, second.fullKey, 3.5, 1), [201, 429]);
  assert.deepEqual(await statusesOf(test, before.fullKey, 100), [201]);
  await create(test, ada, { environment: "test" });

  // A copy stays as it is, and a rotated key keeps it.
  await planHas(test, { defaultBudget: [] });
  await create(test, ada);
  const rotated = await fetchJson(test, ada, `POST ${path}/${first.apiKey.id}/rotate`, {});
  assert.deepEqual(rotated.apiKey.budget, first.apiKey.budget);
  assert.deepEqual(await statusesOf(test, rotated.fullKey, 1), [429]);
  const copy = [perDay, inTotal];
  assert.deepEqual(await budgetsOf(test, ada), [copy, [], [], copy, copy, []]);
});

testApp(
  "of the plan's default budget and a lower limit of the organization, the lower takes effect",
  async (test) => {
    const ada = await test.signUp();
    await planHas(test, { defaultBudget: [perDay], limits: [{ ...scope, per: "day", quantity: 2 }] });
    const { apiKey, fullKey } = await create(test, ada);
    assert.deepEqual(withoutIds(apiKey.budget), [perDay]);
    assert.deepEqual(await statusesOf(test, fullKey, 3, 2, 1), [429, 201, 429]);
  },
);

onEveryDatabase("imported keys get the default budgets of their plans", async (test) => {
  const [ada, eve] = [await test.signUp(), await test.signUp()];
  const send = await operatorOf(test);
  const { body: { plan } } = await send("POST /plans", { name: "Pro", defaultBudget: [inTotal] });
  await assertSent(send, [[`PATCH /organizations/${eve.organizationId}`, { planId: plan.id }, "200"]]);
  await planHas(test, { defaultBudget: [perDay] });
  const fullKey = `acme_${randomBytes(16).toString("base64url")}`;
  const keys = [
    { name, sha256: hash("sha256", fullKey, "hex"), prefix: "acme_", organizationId: ada.organizationId },
    { name, sha256: hash("sha256", "other", "hex"), prefix: "acme_", organizationId: eve.organizationId },
  ];
  for (const imported of [2, 0]) {
    assert.equal((await send("POST /api-keys/import", { keys })).body.imported, imported);
  }
  assert.deepEqual(await budgetsOf(test, ada), [[perDay]]);
  assert.deepEqual(await budgetsOf(test, eve), [[inTotal]]);
  assert.deepEqual(await statusesOf(test, fullKey, 3.5, 1), [201, 429]);
});

testApp("operators set the default budget of a plan, and each change is audited", async (test) => {
  const send = await operatorOf(test);
  const created = await send("POST /plans", {
    name: "Pro",
    defaultBudget: [{ ...scope, per: "day", quantity: 1 }],
  });
  const first = { ...scope, per: "day", quantity: 1, mode: "hard", notifyAt: [80, 100] };
  assert.deepEqual(created.body.plan.defaultBudget, [first]);
  const at = `/plans/${created.body.plan.id}`;
  const big = { ...scope, per: "total", quantity: 9_007_199_254_740_991, mode: "soft", notifyAt: [5, 1000] };
  const changed = await send(`PATCH ${at}`, { defaultBudget: [big, first], holdsMax: 7 });
  assert.deepEqual(changed.body.plan.defaultBudget, [big, first]);
  assert.deepEqual((await send(`GET ${at}`)).body.plan, changed.body.plan);
  assert.deepEqual((await send(`PATCH ${at}`, { defaultBudget: [first, big] })).status, 200);
  await assertSent(send, [
    [`PATCH ${at}`, { name: "Max" }, "200"],
    [`PATCH ${at}`, { defaultBudget: [first, first] }, "422 validation_failed defaultBudget[1]"],
    [
      `PATCH ${at}`,
      { defaultBudget: [{ ...first, quantity: null }] },
      "422 validation_failed defaultBudget[0].quantity",
    ],
    [`PATCH ${at}`, { holdsMax: 10_001 }, "422 validation_failed holdsMax"],
  ]);
  assert.deepEqual((await send(`GET ${at}`)).body.plan.defaultBudget, [big, first]);
  const { events } = (await send("GET /audit?action=plan.changed")).body;
  const [, { details }] = events;
  const oldText = "tiles/requests per day: hard 1";
  assert.deepEqual([events.length, details], [2, {
    holdsMax: "10000 → 7",
    defaultBudget: `${oldText}; tiles/requests per total: soft 9007199254740991 (notify at 5, 1000%)`,
    previousDefaultBudget: oldText,
  }]);
});
