// Plans over the operators' API, on both kinds of database.
import assert from "node:assert/strict";
import { planLimitsMax, plansMax } from "../../../../domain/limits.ts";
import type { TestApp } from "../../../support/app/app.ts";
import { assertSent, operatorOf } from "../../../support/operators/operator_api.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { newOrganization, run } from "../../../support/people/scene.ts";

const scope = { productSlug: "tiles", metric: "requests", per: "month" };
const limit = { ...scope, quantity: 10_000.5, mode: "hard" };
const scopes = ["organizations:read", "organizations:write"] as const;
const numbers = { apiKeysMax: 5, membersMax: 3, requestsPerSecond: 20, usageSeriesMax: 50, holdsMax: 9 };

onEveryDatabase("adds, lists, changes and deletes plans, and audits each change", async (test) => {
  const send = await operatorOf(test, scopes);
  const [initial] = (await send("GET /plans")).body.plans;
  assert.equal(initial.name, "Default");
  assert.equal(initial.isDefault, true);
  assert.equal(initial.requestsPerSecond, test.config.apiKeyRequestsPerSecond);
  const all = {
    productSlug: null,
    metric: null,
    per: "day",
    quantity: 0,
    mode: "soft",
    notifyAt: [50, 1000],
  };
  const created = await send("POST /plans", { name: " Pro ", ...numbers, limits: [limit, all] });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const { plan } = created.body;
  assert.deepEqual(plan, {
    id: plan.id,
    name: "Pro",
    isDefault: false,
    ...numbers,
    limits: [{ id: plan.limits[0].id, ...limit, notifyAt: [80, 100] }, { id: plan.limits[1].id, ...all }],
    defaultBudget: [],
    features: [],
    featureNames: {},
    organizationCount: 0,
    createdAt: new Date(test.now()).toISOString(),
  });
  assert.equal((await send("POST /plans", { name: "PRO" })).body.error.code, "plan_taken");

  // The same scope keeps its id; the other limit is replaced.
  const perHour = { ...scope, per: "hour", quantity: 1, mode: "soft", notifyAt: [1, 2, 3, 4, 5] };
  const limits = [{ ...scope, quantity: 7 }, { ...perHour, notifyAt: [5, 3, 1, 2, 4] }];
  const changed = (await send(`PATCH /plans/${plan.id}`, { apiKeysMax: 6, limits })).body.plan;
  assert.deepEqual(changed, {
    ...plan,
    apiKeysMax: 6,
    limits: [{ ...plan.limits[0], quantity: 7 }, { id: changed.limits[1].id, ...perHour }],
  });
  assert.deepEqual((await send(`PATCH /plans/${plan.id}`, { apiKeysMax: 6, limits })).body.plan, changed);
  // A rejected change leaves the limits as they are.
  const rejected = { name: "default", limits: [{ ...perHour, quantity: 2 }, all] };
  assert.equal((await send(`PATCH /plans/${plan.id}`, rejected)).body.error.code, "plan_taken");

  const first = (await send("GET /plans?limit=1")).body;
  assert.deepEqual(first.plans, [initial]);
  const second = (await send(`GET /plans?limit=1&cursor=${first.nextCursor}`)).body;
  assert.deepEqual(second, { plans: [changed], nextCursor: null });
  assert.equal((await send("GET /plans?cursor=x")).status, 422);

  assert.equal((await send(`DELETE /plans/${plan.id}`)).status, 204);
  for (const method of ["GET", "PATCH", "DELETE"]) {
    const json = method === "PATCH" ? { name: "Pro" } : undefined;
    assert.equal((await send(`${method} /plans/${plan.id}`, json)).body.error.code, "not_found");
  }
  assert.deepEqual(await rows(test, "SELECT id FROM usage_limits"), []);
  const entries = await rows(
    test,
    "SELECT action, target_name AS target, details FROM audit_events WHERE organization_id IS NULL ORDER BY id",
  );
  const entry = (action: string, details = {}) => ({
    action,
    target: "Pro",
    details: JSON.stringify(details),
  });
  assert.deepEqual(entries, [
    entry("plan.created"),
    entry("plan.changed", {
      apiKeysMax: "5 → 6",
      limits: "tiles/requests per hour: soft 1 (notify at 1, 2, 3, 4, 5%); tiles/requests per month: hard 7",
      previousLimits:
        "all products/all metrics per day: soft 0 (notify at 50, 1000%); tiles/requests per hour: none; tiles/requests per month: hard 10000.5",
    }),
    entry("plan.deleted"),
  ]);
});

onEveryDatabase(
  "there is one default plan, which new organizations get, first with the setting's rate",
  async (test) => {
    const send = await operatorOf(test, scopes);
    const [initial] = (await send("GET /plans")).body.plans;
    const { id } = (await send("POST /plans", { name: "Pro", isDefault: true })).body.plan;
    const stored = async () =>
      (await rows(test, "SELECT requests_per_second AS rate FROM plans ORDER BY number"))[0]?.["rate"];
    // It has the setting's rate until that is changed.
    const { requestsPerSecond } = initial;
    await send(`PATCH /plans/${initial.id}`, { name: "Free", requestsPerSecond });
    assert.equal(await stored(), null);
    await send(`PATCH /plans/${initial.id}`, { requestsPerSecond: requestsPerSecond + 1 });
    assert.equal(await stored(), requestsPerSecond + 1);
    const defaults = async () =>
      (await send("GET /plans")).body.plans.map((plan: { isDefault: boolean }) => plan.isDefault);
    assert.deepEqual(await defaults(), [false, true]);
    const inUse = [`DELETE /plans/${id}`, undefined, "409 plan_in_use"] as const;
    await assertSent(send, [inUse]);
    await newOrganization(test, "Customer");
    assert.equal((await send(`GET /plans/${id}`)).body.plan.organizationCount, 1);
    await assertSent(send, [inUse, [
      `PATCH /plans/${id}`,
      { isDefault: false },
      "422 validation_failed isDefault",
    ]]);
    const messageOf = async () => (await send(`DELETE /plans/${id}`)).body.error.message;
    assert.match(await messageOf(), /default plan/);
    await Promise.all(
      [initial.id, id, initial.id].map((id) => send(`PATCH /plans/${id}`, { isDefault: true })),
    );
    assert.equal((await defaults()).filter(Boolean).length, 1);
    await send(`PATCH /plans/${initial.id}`, { isDefault: true });
    assert.deepEqual(await defaults(), [true, false]);
    assert.match(await messageOf(), /^1 organization has this plan/);
  },
);

onEveryDatabase("rejects plans that are invalid or too many", async (test) => {
  const send = await operatorOf(test);
  const withLimit = (more: object) => ({ limits: [{ ...limit, ...more }] });
  const many = Array.from({ length: planLimitsMax + 1 }, (_, i) => ({ ...limit, metric: `m${i}` }));
  const invalid: readonly (readonly [object, string])[] = [
    [{ name: " " }, "name"],
    [{ name: "\u202e" }, "name"],
    [{ apiKeysMax: -1 }, "apiKeysMax"],
    [{ membersMax: 1.5 }, "membersMax"],
    [{ requestsPerSecond: 1_000_001 }, "requestsPerSecond"],
    [{ usageSeriesMax: null }, "usageSeriesMax"],
    [withLimit({ quantity: -1 }), "limits[0].quantity"],
    [withLimit({ quantity: 0.1234567 }), "limits[0].quantity"],
    [withLimit({ quantity: null }), "limits[0].quantity"],
    [withLimit({ per: "week" }), "limits[0].per"],
    [withLimit({ mode: "strict" }), "limits[0].mode"],
    [withLimit({ productSlug: "-" }), "limits[0].productSlug"],
    [withLimit({ id: "lim" }), "limits[0].id"],
    ...[[], [0], [1001], [1.5], [80, 80], [1, 2, 3, 4, 5, 6], 80, "80"].map((notifyAt) =>
      [withLimit({ notifyAt }), "limits[0].notifyAt"] as const
    ),
    [withLimit({ notifyAt: ["80"] }), "limits[0].notifyAt[0]"],
    [{ limits: [limit, { ...limit, mode: "soft" }] }, "limits[1]"],
    [{ limits: many }, "limits"],
    [{ price: 1 }, "price"],
  ];
  await assertSent(
    send,
    invalid.map(([json, path]) =>
      ["POST /plans", { name: "Pro", ...json }, `422 validation_failed ${path}`] as const
    ),
  );
  const insert =
    `INSERT INTO plans (id, name, is_default, api_keys_max, members_max, usage_series_max, created_at)
      SELECT value, value, 0, 1, 1, 1, 0 FROM json_each(?)`;
  await run(test, insert, JSON.stringify(Array.from({ length: plansMax - 2 }, (_, i) => `plan-${i}`)));
  const last = await Promise.all(["x", "y"].map((name) => send("POST /plans", { name })));
  assert.deepEqual(last.map(({ status, body }) => body.error?.code ?? status).sort(), [201, "limit_reached"]);
});

function rows(test: TestApp, sql: string): Promise<Record<string, unknown>[]> {
  return test.opened.database.read({ sql, args: [] });
}
