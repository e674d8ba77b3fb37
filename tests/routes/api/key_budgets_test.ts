// Budgets of API keys: who sets them, what they may be, and what becomes of them when a key is rotated.
import assert from "node:assert/strict";
import type { UsageLimit } from "../../../domain/meter/usage_limit.ts";
import { assertError, createTestKey, type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { listAudit } from "../../support/app/audit.ts";
import { assertOutcome, assertRows, fetchJson, type Row } from "../../support/app/rows.ts";
import { onEveryDatabase } from "../../support/meter/usage.ts";
import { assertSent, operatorOf } from "../../support/operators/operator_api.ts";
import { joinedPerson } from "../../support/people/people.ts";

const path = "/api/portal/api-keys";
const perDay = { productSlug: "tiles", metric: "requests", per: "day", quantity: 160_000.5, mode: "hard" };
const perMonth = { ...perDay, per: "month", quantity: 5_000_000, mode: "soft", notifyAt: [10, 100] };
const notifyAt = [80, 100];

const change = (
  test: TestApp,
  person: TestPerson,
  { id, ...json }: { id: string } & Record<string, unknown>,
) => test.send(`${path}/${id}`, { method: "PATCH", cookie: person.cookie, json });

async function setBudget(
  test: TestApp,
  person: TestPerson,
  id: string,
  budget: unknown,
): Promise<UsageLimit[]> {
  return (await fetchJson(test, person, `PATCH ${path}/${id}`, { budget })).apiKey.budget;
}

async function budgets(test: TestApp, person: TestPerson): Promise<Record<string, UsageLimit[]>> {
  const { apiKeys } = await fetchJson(test, person, `GET ${path}`);
  return Object.fromEntries(
    apiKeys.map(({ id, budget }: { id: string; budget: UsageLimit[] }) => [id, budget]),
  );
}

async function planLimits(test: TestApp, limits: unknown): Promise<void> {
  const send = await operatorOf(test);
  const { body } = await send("GET /plans");
  await assertSent(send, [[`PATCH /plans/${body.plans[0].id}`, { limits }, "200"]]);
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
  const rotate = async (id: string, json: Record<string, unknown>) =>
    (await fetchJson(test, ada, `POST ${path}/${id}/rotate`, json)).apiKey;
  const second = await rotate(id, { expireOldAt: "2026-11-21T15:00:00Z" });
  assert.deepEqual(second.budget, [limit]);
  const third = await rotate(second.id, {});
  const [changed] = await setBudget(test, ada, id, [{ ...perDay, quantity: 1 }]);
  assert.deepEqual(changed, { ...limit, quantity: 1 });
  const all = [id, second.id, third.id].map((one) => [one, [changed]]);
  assert.deepEqual(await budgets(test, ada), Object.fromEntries(all));
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
  const { error } = await assertError(
    await change(test, ada, { id, name: "New", budget }),
    422,
    "validation_failed",
  );
  const perMonthText = "must be at most 1000, the organization's limit per month.";
  assert.deepEqual(error.details, [
    { path: "budget[1].quantity", message: perMonthText },
    { path: "budget[2].quantity", message: perMonthText },
    { path: "budget[3].quantity", message: "must be at most 5000, the organization's limit in total." },
  ]);
  const { apiKeys: [{ name, budget: unchanged }] } = await fetchJson(test, ada, `GET ${path}`);
  assert.deepEqual([name, unchanged], ["Production", []]);
  await setBudget(test, ada, id, budget.filter(({ quantity }) => quantity === 1_000 || quantity === 5_000));
});

testApp("an override counts instead of the plan's limit, and a lowered limit keeps budgets", async (test) => {
  const ada = await test.signUp("Ada");
  const { id } = await createTestKey(test, ada);
  await planLimits(test, [{ ...perDay, quantity: 10 }]);
  const override = async (quantity: number | null) => {
    const { productSlug, metric, per } = perDay;
    const limits = [{ productSlug, metric, per, quantity }];
    await assertSent(await operatorOf(test), [
      [`PATCH /organizations/${ada.organizationId}`, { overrides: { limits } }, "200"],
    ]);
  };
  await override(20);
  await setBudget(test, ada, id, [{ ...perDay, quantity: 20 }]);
  await assertOutcome(
    change(test, ada, { id, budget: [{ ...perDay, quantity: 21 }] }),
    "422 validation_failed budget[0].quantity",
  );
  await override(null);
  const [limit] = await setBudget(test, ada, id, [perDay]);
  await override(5);
  await assertOutcome(change(test, ada, { id, name: "New", budget: [perDay] }), 200);
  assert.deepEqual((await budgets(test, ada))[id], [limit]);
});

testApp(
  "members don't set budgets, not even of their own keys, admins and operators of any",
  async (test) => {
    const ada = await test.signUp("Ada");
    const member = await joinedPerson(test, ada, "MEMBER");
    const admin = await joinedPerson(test, ada, "ADMIN");
    const { id } = await createTestKey(test, member);
    for (const budget of [[perDay], []]) {
      await assertOutcome(change(test, member, { id, name: "New", budget }), "403 forbidden");
    }
    const [limit] = await setBudget(test, admin, id, [perDay]);
    await assertOutcome(change(test, member, { id, name: "New" }), 200);
    assert.deepEqual(await budgets(test, member), { [id]: [limit] });
    const send = await operatorOf(test, ["keys:write"]);
    const { body } = await send(`PATCH /api-keys/${id}`, { budget: [perMonth] });
    assert.deepEqual((await budgets(test, ada))[id], body.apiKey.budget);
    const { events: [event] } = await listAudit(test, ada.cookie);
    assert.deepEqual([event?.action, event?.actor.type], ["api_key.budget_changed", "operator"]);
  },
);

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
  const withOne = (more: Record<string, unknown>) => [{ ...perDay, ...more }];
  const cases: readonly (readonly [path: string, budget: unknown])[] = [
    ["budget", null],
    ["budget", {}],
    ["budget", Array.from({ length: 11 }, (_, n) => ({ ...perDay, metric: `m${n}` }))],
    ["budget[1]", [perDay, { ...perDay, quantity: 1 }]],
    ["budget[1]", [unscoped, { ...unscoped, productSlug: null }]],
    ["budget[0].per", [{ productSlug, metric, quantity: 1 }]],
    ...["week", "", null, 1].map((per) => ["budget[0].per", withOne({ per })] as const),
    ...[-1, -0.000001, 0.0000001, 2 ** 53, "1", null, undefined].map((quantity) =>
      ["budget[0].quantity", withOne({ quantity })] as const
    ),
    ...["", "A b", "x".repeat(65), 1].map((metric) => ["budget[0].metric", withOne({ metric })] as const),
    ["budget[0].mode", withOne({ mode: "none" })],
    ["budget[0].id", withOne({ id: "lim_1" })],
  ];
  const rows = cases.map((
    [at, budget],
  ): Row => [`PATCH ${path}/${id}`, { budget }, `422 validation_failed ${at}`]);
  await assertRows(test, ada, rows);
});
