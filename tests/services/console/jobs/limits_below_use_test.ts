// Who already uses more than new limits would allow, on both kinds of database.
import assert from "node:assert/strict";
import {
  organizationLimitsBelowUse,
  planLimitsBelowUse,
} from "../../../../services/console/limits_below_use.ts";
import type { LimitMode, LimitPeriod } from "../../../../domain/meter/usage_limit.ts";
import {
  limitsBelowUseShownMax,
  limitsBelowUseStepMax,
  usageStepSeriesMax,
} from "../../../../domain/limits.ts";
import type { TestApp } from "../../../support/app/app.ts";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { commandLineActor, newOperatorToken } from "../../../support/operators/operators.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { newPerson, run } from "../../../support/people/scene.ts";

const hourMs = 3_600_000;
const limit = (
  quantity: number,
  more: { productSlug?: string | null; metric?: string | null; per?: LimitPeriod; mode?: LimitMode } = {},
) => ({
  productSlug: "tiles",
  metric: "requests",
  per: "month" as const,
  mode: "hard" as const,
  ...more,
  quantity,
});

/** An operator who sends requests, and creates customers with usage of tiles and requests. */
async function operatorOf(test: TestApp) {
  const { fullToken } = await newOperatorToken(test);
  const send = asOperator(test, fullToken);
  const record = async (organizationId: string, quantity: number, productSlug = "tiles") => {
    const records = [{ organizationId, productSlug, metric: "requests", quantity }];
    assert.equal((await send("POST /usage", { records })).status, 201);
  };
  const create = async (name: string, quantities: readonly number[], timezone = "UTC") => {
    const { id } = (await send("POST /organizations", { name, timezone })).body.organization;
    for (const quantity of quantities) await record(id, quantity);
    return id as string;
  };
  const [plan] = (await send("GET /plans")).body.plans;
  return { send, record, create, plan };
}

onEveryDatabase("names who uses more than lowered limits of a plan in the current window", async (test) => {
  const { send, record, create, plan } = await operatorOf(test);
  // Saturday 21 November 2026, 14:03 UTC; 23:03 in Tokyo.
  const ada = await create("Ada", [4.5, 6]);
  const tokyo = await create("Tokyo", [8], "Asia/Tokyo");
  const own = await create("Own limit", [100]);
  await create("Idle", []);
  const other = (await send("POST /plans", { name: "Other" })).body.plan;
  await send(`PATCH /organizations/${await create("Other", [100])}`, { planId: other.id });
  await send(`PATCH /organizations/${own}`, { overrides: { limits: [limit(1000)] } });
  await record(ada, 3, "search");
  test.advance(2 * hourMs);

  const below = async (change: Parameters<typeof planLimitsBelowUse>[2]["limits"]) => {
    const { found, ...rest } = await planLimitsBelowUse(test.services, commandLineActor, {
      id: plan.id,
      limits: change,
    });
    const lines = found.map(({ organization, what, allowed, used }) => {
      assert.ok(typeof what !== "string");
      return `${organization.name}: ${what.productSlug}/${what.metric}/${what.per} ${used} of ${allowed}`;
    });
    assert.equal(rest.isComplete, true);
    assert.equal(rest.organizationCount, new Set(found.map(({ organization }) => organization.id)).size);
    return lines;
  };
  assert.deepEqual(await below([limit(10.5)]), []);
  assert.deepEqual(await below([limit(10.4)]), ["Ada: tiles/requests/month 10.5 of 10.4"]);
  // In Tokyo, a new day has begun.
  assert.deepEqual(await below([limit(7, { per: "day" })]), [
    "Ada: tiles/requests/day 10.5 of 7",
    "Own limit: tiles/requests/day 100 of 7",
  ]);
  assert.deepEqual(await below([limit(0, { per: "hour" }), limit(0, { per: "minute" })]), []);
  assert.deepEqual(await below([limit(12, { productSlug: null, per: "total" }), limit(7)]), [
    "Ada: null/requests/total 13.5 of 12",
    "Own limit: null/requests/total 100 of 12",
    "Ada: tiles/requests/month 10.5 of 7",
    "Tokyo: tiles/requests/month 8 of 7",
  ]);
  // A limit that stays or rises is not reported.
  await send(`PATCH /plans/${plan.id}`, { limits: [limit(5)] });
  assert.deepEqual(await below([limit(5), limit(11, { productSlug: null, metric: null })]), [
    "Ada: null/null/month 13.5 of 11",
    "Own limit: null/null/month 100 of 11",
  ]);
  assert.equal((await below([limit(4)])).length, 2);
  assert.ok(tokyo);
});

onEveryDatabase("counts members, keys and series, and names a few of many organizations", async (test) => {
  const { send, create, plan } = await operatorOf(test);
  const id = await create("First", [1]);
  await newPerson(test, { organizationId: id, role: "OWNER" });
  for (const name of ["A", "B"]) await send(`POST /organizations/${id}/api-keys`, { name });
  const numbers = { apiKeysMax: 1, membersMax: 0, usageSeriesMax: 0, requestsPerSecond: 1 };
  const organization = { id, name: "First" };
  const found = [
    { organization, what: "apiKeysMax", allowed: 1, used: 2 },
    { organization, what: "membersMax", allowed: 0, used: 1 },
    { organization, what: "usageSeriesMax", allowed: 0, used: 1 },
  ];
  const change = { id: plan.id, ...numbers };
  const below = { organizationCount: 1, found, isComplete: true };
  assert.deepEqual(await planLimitsBelowUse(test.services, commandLineActor, change), below);
  await send(`PATCH /organizations/${id}`, {
    overrides: { apiKeysMax: 5, membersMax: 5, usageSeriesMax: 5 },
  });
  const none = { organizationCount: 0, found: [], isComplete: true };
  assert.deepEqual(await planLimitsBelowUse(test.services, commandLineActor, change), none);

  const many = 2 * limitsBelowUseStepMax + 1;
  await run(
    test,
    `INSERT INTO organizations (id, name, created_at) SELECT 'org_' || value, 'Many', 0 FROM json_each(?)`,
    JSON.stringify(Array.from({ length: many }, (_, i) => i)),
  );
  await run(
    test,
    `INSERT INTO usage_series (organization, product_slug, metric, api_key)
     SELECT number, 'tiles', 'requests', 1 FROM organizations WHERE name = 'Many'`,
  );
  const all = await planLimitsBelowUse(test.services, commandLineActor, change);
  assert.deepEqual([all.organizationCount, all.found.length], [many, limitsBelowUseShownMax]);
  // Steps of 100 organizations find the same ones.
  await run(test, "UPDATE organizations SET series = ? WHERE name = 'Many'", usageStepSeriesMax / 100);
  assert.equal((await planLimitsBelowUse(test.services, commandLineActor, change)).organizationCount, many);
});

onEveryDatabase(
  "names what one organization uses more of than another plan or overrides allow",
  async (test) => {
    const { send, create, plan } = await operatorOf(test);
    const id = await create("Ada", [10]);
    await send(`PATCH /plans/${plan.id}`, { limits: [limit(20)] });
    const small =
      (await send("POST /plans", { name: "Small", usageSeriesMax: 0, limits: [limit(5)] })).body.plan;
    const below = async (change: Omit<Parameters<typeof organizationLimitsBelowUse>[2], "idText">) => {
      const { found } = await organizationLimitsBelowUse(test.services, commandLineActor, {
        idText: id,
        ...change,
      });
      return found.map((
        { what, allowed, used },
      ) => [typeof what === "string" ? what : what.per, allowed, used]);
    };
    const toSmall = [["usageSeriesMax", 0, 1], ["month", 5, 10]];
    assert.deepEqual(await below({ planId: small.id }), toSmall);
    assert.deepEqual(await below({ planId: small.id, overrides: { usageSeriesMax: 1 } }), [["month", 5, 10]]);
    const lifted = [{ ...limit(0), quantity: null }];
    assert.deepEqual(await below({ planId: small.id, overrides: { limits: lifted } }), [[
      "usageSeriesMax",
      0,
      1,
    ]]);
    assert.deepEqual(await below({ overrides: { limits: [limit(9)] } }), [["month", 9, 10]]);

    // A grant raises a limit in total.
    const total = (quantity: number) => limit(quantity, { per: "total" });
    await send(`PATCH /organizations/${id}`, { overrides: { limits: [total(20)] } });
    const [{ limitId }] = (await send(`GET /organizations/${id}/limits`)).body.limits
      .filter(({ per }: { per: string }) => per === "total");
    const grant = { limitId, quantity: 3.5, reason: "Paid.", idempotencyKey: "1" };
    assert.equal((await send(`POST /organizations/${id}/grants`, grant)).status, 201);
    assert.deepEqual(await below({ overrides: { limits: [total(6.5)] } }), []);
    assert.deepEqual(await below({ overrides: { limits: [total(6)] } }), [["total", 9.5, 10]]);
    assert.deepEqual(await below({ overrides: { limits: [{ ...total(6), metric: null }] } }), [[
      "total",
      6,
      10,
    ]]);

    await send(`PATCH /organizations/${id}`, { overrides: { usageSeriesMax: 8, limits: [limit(30)] } });
    await send(`PATCH /plans/${plan.id}`, { limits: [limit(6)] });
    assert.deepEqual(await below({ planId: small.id }), []);
    assert.deepEqual(await below({ overrides: { limits: [] } }), [["month", 6, 10]]);
    assert.deepEqual(
      await below({ planId: small.id, overrides: { usageSeriesMax: null, limits: [] } }),
      toSmall,
    );
  },
);
