// Budgets of API keys: who sets them, what they may be, and what becomes of them when a key is rotated.
import assert from "node:assert/strict";
import type { UsageLimit } from "../../../domain/meter/usage_limit.ts";
import { assertError, createTestKey, type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { listAudit } from "../../support/app/audit.ts";
import { asOperator } from "../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { joinedPerson } from "../../support/people/people.ts";
import { onEveryDatabase } from "../../support/meter/usage.ts";
import { run } from "../../support/people/scene.ts";

const path = "/api/portal/api-keys";
const perDay = { productSlug: "tiles", metric: "requests", per: "day", quantity: 160_000.5, mode: "hard" };
const perMonth = { ...perDay, per: "month", quantity: 5_000_000, mode: "soft", notifyAt: [10, 100] };
const notifyAt = [80, 100];

const change = (
  test: TestApp,
  person: TestPerson,
  { id, ...json }: { id: string } & Record<string, unknown>,
) => test.send(`${path}/${id}`, { method: "PATCH", cookie: person.cookie, json });

async function setBudget(test: TestApp, person: TestPerson, id: string, budget: unknown) {
  const response = await change(test, person, { id, budget });
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()).apiKey.budget as UsageLimit[];
}

async function budgets(test: TestApp, person: TestPerson): Promise<Record<string, UsageLimit[]>> {
  const { apiKeys } = await (await test.send(path, { cookie: person.cookie })).json();
  return Object.fromEntries(
    apiKeys.map(({ id, budget }: { id: string; budget: UsageLimit[] }) => [id, budget]),
  );
}

async function assertTooHigh(response: Response, details: { path: string; message: string }[]) {
  const { error } = await assertError(response, 422, "validation_failed");
  assert.deepEqual(error.details, details);
}

async function planLimits(test: TestApp, limits: unknown): Promise<void> {
  const { fullToken } = await newOperatorToken(test);
  const send = asOperator(test, fullToken);
  const { body } = await send("GET /plans");
  assert.equal((await send(`PATCH /plans/${body.plans[0].id}`, { limits })).status, 200);
}

onEveryDatabase("a budget is replaced as a whole, and limits that stay keep their ids", async (test) => {
  const ada = await test.signUp("Ada");
  const { id } = await createTestKey(test, ada);
  const other = await createTestKey(test, ada);
  const [first, second, ...more] = await setBudget(test, ada, id, [perDay, perMonth]);
  assert.deepEqual([first, second, more], [
    { id: first?.id, ...perDay, notifyAt },
    { id: second?.id, ...perMonth },
    [],
  ]);
  assert.match(first?.id ?? "", /^lim_/);
  assert.deepEqual(await budgets(test, ada), { [id]: [first, second], [other.id]: [] });

  const all = { per: "total", quantity: 0 };
  const [kept, added] = await setBudget(test, ada, id, [{ ...perDay, quantity: 7 }, all]);
  assert.deepEqual(kept, { ...first, quantity: 7 });
  assert.deepEqual(added, { id: added?.id, productSlug: null, metric: null, ...all, mode: "hard", notifyAt });
  assert.deepEqual((await change(test, ada, { id, name: "New" })).status, 200);
  assert.deepEqual(await budgets(test, ada), { [id]: [kept, added], [other.id]: [] });
  // Whether a limit was reached depends on its mode, so another mode is another limit.
  const [soft] = await setBudget(test, ada, id, [{ ...perDay, quantity: 7, mode: "soft" }]);
  assert.deepEqual(soft, { ...first, id: soft?.id, quantity: 7, mode: "soft" });
  assert.notEqual(soft?.id, first?.id);
  assert.deepEqual(await setBudget(test, ada, id, []), []);
});

onEveryDatabase("a rotated key continues the budget, as the old key does until it ends", async (test) => {
  const ada = await test.signUp("Ada");
  const { id } = await createTestKey(test, ada);
  const [limit] = await setBudget(test, ada, id, [perDay]);
  const rotate = async (id: string, json: unknown) => {
    const response = await test.send(`${path}/${id}/rotate`, { cookie: ada.cookie, json });
    return (await response.json()).apiKey;
  };
  const second = await rotate(id, { expireOldAt: "2026-11-21T15:00:00Z" });
  assert.deepEqual(second.budget, [limit]);
  const third = await rotate(second.id, {});
  const [changed] = await setBudget(test, ada, id, [{ ...perDay, quantity: 1 }]);
  assert.deepEqual(changed, { ...limit, quantity: 1 });
  assert.deepEqual(await budgets(test, ada), {
    [id]: [changed],
    [second.id]: [changed],
    [third.id]: [changed],
  });
});

testApp("no limit of a budget is above one of the organization that counts the same usage", async (test) => {
  const ada = await test.signUp("Ada");
  const { id } = await createTestKey(test, ada);
  const all = { productSlug: null, metric: null };
  await planLimits(test, [
    { ...perMonth, quantity: 1_000 },
    { ...all, per: "total", quantity: 5_000, mode: "soft" },
    { productSlug: "maps", metric: null, per: "month", quantity: 10 },
    { ...all, per: "minute", quantity: 1 },
  ]);
  const budget = [
    { ...perDay, quantity: 1_000 },
    { ...perDay, per: "hour", quantity: 1_000.000001 },
    { ...perMonth, mode: "hard", quantity: 1_001 },
    { productSlug: "tiles", metric: "loads", per: "day", quantity: 5_001 },
    { ...all, metric: "requests", per: "total", quantity: 5_000 },
  ];
  const perMonthText = "must be at most 1000, the organization's limit per month.";
  await assertTooHigh(await change(test, ada, { id, name: "New", budget }), [
    { path: "budget[1].quantity", message: perMonthText },
    { path: "budget[2].quantity", message: perMonthText },
    { path: "budget[3].quantity", message: "must be at most 5000, the organization's limit in total." },
  ]);
  const { apiKeys } = await (await test.send(path, { cookie: ada.cookie })).json();
  assert.deepEqual([apiKeys[0].name, apiKeys[0].budget], ["Production", []]);
  await setBudget(test, ada, id, budget.filter(({ quantity }) => quantity === 1_000 || quantity === 5_000));
});

testApp("an override counts instead of the plan's limit, and a lowered limit keeps budgets", async (test) => {
  const ada = await test.signUp("Ada");
  const { id } = await createTestKey(test, ada);
  await planLimits(test, [{ ...perDay, quantity: 10 }]);
  const override = (quantity: number | null) =>
    run(
      test,
      `INSERT INTO usage_limits (id, organization, product_slug, metric, per, quantity_whole, quantity_micro, mode,
       created_seq, created_at)
     SELECT 'lim_override', number, 'tiles', 'requests', 'day', ?, ?, 'hard', 0, 0 FROM organizations WHERE id = ?
     ON CONFLICT DO UPDATE SET quantity_whole = excluded.quantity_whole, quantity_micro = excluded.quantity_micro`,
      quantity,
      quantity === null ? null : 0,
      ada.organizationId,
    );
  await override(20);
  await setBudget(test, ada, id, [{ ...perDay, quantity: 20 }]);
  await assertError(
    await change(test, ada, { id, budget: [{ ...perDay, quantity: 21 }] }),
    422,
    "validation_failed",
  );
  await override(null);
  const [limit] = await setBudget(test, ada, id, [perDay]);
  await override(5);
  assert.equal((await change(test, ada, { id, name: "New", budget: [perDay] })).status, 200);
  assert.deepEqual((await budgets(test, ada))[id], [limit]);
});

testApp("members don't set budgets, not even of their own keys", async (test) => {
  const ada = await test.signUp("Ada");
  const member = await joinedPerson(test, ada, "MEMBER");
  const admin = await joinedPerson(test, ada, "ADMIN");
  const { id } = await createTestKey(test, member);
  for (const budget of [[perDay], []]) {
    await assertError(await change(test, member, { id, name: "New", budget }), 403, "forbidden");
  }
  const [limit] = await setBudget(test, admin, id, [perDay]);
  assert.equal((await change(test, member, { id, name: "New" })).status, 200);
  assert.deepEqual(await budgets(test, member), { [id]: [limit] });
  const eve = await test.signUp("Eve");
  await assertError(await change(test, eve, { id, budget: [] }), 404, "not_found");
});

testApp("operators set budgets of any key", async (test) => {
  const ada = await test.signUp("Ada");
  const { id } = await createTestKey(test, ada);
  const { fullToken } = await newOperatorToken(test, ["keys:write"]);
  const changed = await asOperator(test, fullToken)(`PATCH /api-keys/${id}`, { budget: [perDay] });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  assert.deepEqual((await budgets(test, ada))[id], changed.body.apiKey.budget);
  const { events: [event] } = await listAudit(test, ada.cookie);
  assert.deepEqual([event?.action, event?.actor.type], ["api_key.budget_changed", "operator"]);
});

testApp("the audit log has each change of a budget, from and to", async (test) => {
  const ada = await test.signUp("Ada");
  const { id } = await createTestKey(test, ada);
  const entries = async () => (await listAudit(test, ada.cookie, "?action=api_key.budget_changed")).events;
  await setBudget(test, ada, id, [perDay, perMonth]);
  await setBudget(test, ada, id, [perMonth, perDay]);
  const text =
    "tiles/requests per day: hard 160000.5; tiles/requests per month: soft 5000000 (notify at 10, 100%)";
  assert.deepEqual((await entries()).map(({ target, details }) => [target?.id, details]), [
    [id, { from: "none", to: text }],
  ]);
  await setBudget(test, ada, id, []);
  assert.deepEqual((await entries())[0]?.details, { from: text, to: "none" });
  const { events } = await listAudit(test, ada.cookie);
  await change(test, ada, { id, name: "New", permissions: [], budget: [perDay] });
  assert.equal((await listAudit(test, ada.cookie)).events.length, events.length + 3);
});

testApp("rejects budgets of another form", async (test) => {
  const ada = await test.signUp("Ada");
  const { id } = await createTestKey(test, ada);
  const { productSlug, metric, ...unscoped } = perDay;
  const cases: readonly (readonly [path: string, budget: unknown])[] = [
    ["budget", null],
    ["budget", {}],
    ["budget", Array.from({ length: 11 }, (_, n) => ({ ...perDay, metric: `m${n}` }))],
    ["budget[1]", [perDay, { ...perDay, quantity: 1 }]],
    ["budget[1]", [unscoped, { ...unscoped, productSlug: null }]],
    ["budget[0].per", [{ productSlug, metric, quantity: 1 }]],
    ...["week", "", null, 1].map((per) => ["budget[0].per", [{ ...perDay, per }]] as const),
    ...[-1, -0.000001, 0.0000001, 2 ** 53, "1", null, undefined].map((quantity) =>
      ["budget[0].quantity", [{ ...perDay, quantity }]] as const
    ),
    ...["", "A b", "x".repeat(65), 1].map((metric) => ["budget[0].metric", [{ ...perDay, metric }]] as const),
    ["budget[0].mode", [{ ...perDay, mode: "none" }]],
    ["budget[0].id", [{ ...perDay, id: "lim_1" }]],
  ];
  for (const [at, budget] of cases) {
    const { error } = await assertError(await change(test, ada, { id, budget }), 422, "validation_failed");
    assert.equal(error.details?.[0]?.path, at, JSON.stringify(budget));
  }
});

onEveryDatabase("a budget counts usage of a key and those it replaced, and nothing else", async (test) => {
  const ada = await test.signUp("Ada");
  const old = await createTestKey(test, ada);
  const other = await createTestKey(test, ada);
  const { productSlug, metric } = perDay;
  const record = (apiKey: string, quantity: number) =>
    test.send("/api/v1/usage", { apiKey, json: { productSlug, metric, quantity } });
  // Usage from before the budget counts too.
  assert.equal((await record(old.fullKey, 30)).status, 201);
  test.advance(60_000);
  const [limit] = await setBudget(test, ada, old.id, [{ ...perDay, quantity: 100 }]);
  assert.equal((await record(other.fullKey, 1_000)).status, 201);
  const rotated = await test.send(`${path}/${old.id}/rotate`, {
    cookie: ada.cookie,
    json: { expireOldAt: "2026-11-21T15:00:00Z" },
  });
  const { fullKey } = await rotated.json();
  assert.equal((await record(fullKey, 50)).status, 201);
  const { error } = await assertError(await record(old.fullKey, 21), 429, "limit_exceeded");
  const standing = { limitId: limit?.id, productSlug, metric, per: "day", quantity: 100 };
  const resetsAt = "2026-11-22T00:00:00.000Z";
  assert.partialDeepStrictEqual(error.details, [{ ...standing, used: 80, remaining: 20, resetsAt }]);
  assert.equal((await record(old.fullKey, 20)).status, 201);
  await assertError(await record(fullKey, 0.000001), 429, "limit_exceeded");
  assert.equal((await record(other.fullKey, 1_000)).status, 201);
  await setBudget(test, ada, old.id, [{ ...perDay, quantity: 101 }]);
  assert.equal((await record(fullKey, 1)).status, 201);
  await setBudget(test, ada, old.id, []);
  assert.equal((await record(fullKey, 1_000)).status, 201);
});
