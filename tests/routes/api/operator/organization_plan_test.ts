// The plan, overrides and time zone of an organization over the operators' API, on both kinds of database.
import assert from "node:assert/strict";
import type { TestApp } from "../../../support/app/app.ts";
import { assertSent, operatorOf } from "../../../support/operators/operator_api.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";

const scope = { productSlug: "tiles", metric: "requests", per: "month" };
const scopes = ["organizations:read", "organizations:write"] as const;
const numbers = {
  apiKeysMax: null,
  membersMax: null,
  requestsPerSecond: null,
  usageSeriesMax: null,
  holdsMax: null,
};

onEveryDatabase("gives organizations plans, and lists those of a plan", async (test) => {
  const send = await operatorOf(test, scopes);
  const [initial] = (await send("GET /plans")).body.plans;
  const pro = (await send("POST /plans", { name: "Pro" })).body.plan;
  const create = async (json: object) => (await send("POST /organizations", json)).body.organization;
  const first = await create({ name: "First", planId: pro.id });
  const second = await create({ name: "Second" });
  const third = await create({ name: "Third", planId: pro.id });
  assert.deepEqual([first, second, third].map(({ planId }) => planId), [pro.id, initial.id, pro.id]);
  const { nextCursor } = (await send(`GET /organizations?plan=${pro.id}&limit=1`)).body;
  for (
    const [query, expected] of [
      ["", [third, first]],
      ["&sort=name", [first, third]],
      ["&search=first", [first]],
      [`&cursor=${nextCursor}`, [first]],
    ] as const
  ) {
    const { organizations } = (await send(`GET /organizations?plan=${pro.id}${query}`)).body;
    const ids = organizations.map(({ id }: { id: string }) => id);
    assert.deepEqual(ids, expected.map(({ id }) => id), query);
  }
  const moved = await send(`PATCH /organizations/${first.id}`, { planId: initial.id });
  assert.deepEqual(moved.body.organization, { ...first, planId: initial.id });
  const change = ["organization.plan_changed", { from: "Pro", to: "Default" }];
  assert.deepEqual(await changesOf(test, first.id), [change]);
  assert.match((await send(`DELETE /plans/${pro.id}`)).body.error.message, /^1 organization/);
  await assertSent(send, [
    [`DELETE /plans/${pro.id}`, undefined, "409 plan_in_use"],
    [`DELETE /organizations/${third.id}`, undefined, "204"],
    [`DELETE /plans/${pro.id}`, undefined, "204"],
  ]);
});

onEveryDatabase("an unknown plan changes nothing, also when it is deleted at the same time", async (test) => {
  const send = await operatorOf(test, scopes);
  const { organization } = (await send("POST /organizations", { name: "Customer" })).body;
  const path = `/organizations/${organization.id}`;
  const unknown = "422 validation_failed planId";
  await assertSent(send, [
    ["POST /organizations", { name: "None", planId: "plan_none" }, unknown],
    [`PATCH ${path}`, { name: "Renamed", planId: "plan_none" }, unknown],
  ]);
  assert.deepEqual((await send(`GET ${path}`)).body.organization, organization);
  for (let round = 0; round < 5; round++) {
    const { plan } = (await send("POST /plans", { name: `Plan ${round}` })).body;
    const name = `Name ${round}`;
    const [changed, deleted] = await Promise.all([
      send(`PATCH ${path}`, { name, planId: plan.id }),
      send(`DELETE /plans/${plan.id}`),
    ]);
    const isChanged = changed.status === 200;
    const now = (await send(`GET ${path}`)).body.organization;
    assert.deepEqual([now.name === name, now.planId === plan.id], [isChanged, isChanged]);
    const { error } = (isChanged ? deleted : changed).body;
    assert.deepEqual(
      [error.code, error.details?.[0].path],
      isChanged ? ["plan_in_use", undefined] : [
        "validation_failed",
        "planId",
      ],
    );
  }
});

onEveryDatabase("overrides replace values of the plan until they are removed", async (test) => {
  const send = await operatorOf(test, scopes);
  const { organization } = (await send("POST /organizations", { name: "Customer" })).body;
  const change = async (overrides: object) => {
    const { status, body } = await send(`PATCH /organizations/${organization.id}`, { overrides });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual((await send(`GET /organizations/${organization.id}`)).body, body);
    return body.organization.overrides;
  };
  assert.deepEqual(organization.overrides, { ...numbers, limits: [] });
  const notifyAt = [80, 100];
  const limits = [{ ...scope, quantity: 2.5, mode: "soft" }, { ...scope, per: "day", quantity: null }];
  const given = await change({ apiKeysMax: 0, limits });
  const ids = given.limits.map(({ id }: { id: string }) => id);
  assert.deepEqual(given, {
    ...numbers,
    apiKeysMax: 0,
    limits: [{ id: ids[0], ...limits[0], notifyAt }, { id: ids[1], ...limits[1], mode: "hard", notifyAt }],
  });
  const started = await startOf(test, organization.id);
  assert.deepEqual(await change({ membersMax: 7, limits }), { ...given, membersMax: 7 });
  assert.equal(await startOf(test, organization.id), started);
  const fewer = await change({ apiKeysMax: null, limits: limits.slice(0, 1) });
  assert.deepEqual(fewer, { ...numbers, membersMax: 7, limits: given.limits.slice(0, 1) });
  assert.ok(await startOf(test, organization.id) > started);
  assert.deepEqual(await change({ membersMax: null, limits: [] }), { ...numbers, limits: [] });
  assert.deepEqual(await change({ membersMax: null, limits: [] }), { ...numbers, limits: [] });
  const day = "tiles/requests per day: no limit";
  const month = "tiles/requests per month: soft 2.5";
  const none = "tiles/requests per day: none; tiles/requests per month: none";
  assert.deepEqual(await changesOf(test, organization.id), [
    ["organization.limits_changed", {
      apiKeysMax: "from the plan → 0",
      limits: `${day}; ${month}`,
      previousLimits: none,
    }],
    ["organization.limits_changed", { membersMax: "from the plan → 7" }],
    ["organization.limits_changed", {
      apiKeysMax: "0 → from the plan",
      limits: month,
      previousLimits: day,
    }],
    ["organization.limits_changed", { membersMax: "7 → from the plan", limits: "", previousLimits: month }],
  ]);
});

onEveryDatabase("an organization's time zone decides when its windows end", async (test) => {
  const send = await operatorOf(test, scopes);
  const { body: { organization } } = await send("POST /organizations", { name: "C", timezone: "asia/tokyo" });
  assert.equal(organization.timezone, "Asia/Tokyo");
  const path = `PATCH /organizations/${organization.id}`;
  const started = await startOf(test, organization.id);
  const changed = await send(path, { timezone: "Europe/Berlin" });
  assert.deepEqual(changed.body.organization, { ...organization, timezone: "Europe/Berlin" });
  assert.ok(await startOf(test, organization.id) > started);
  const offsets = await rows(test, "SELECT DISTINCT timezone FROM timezone_offsets ORDER BY timezone");
  assert.deepEqual(offsets.map(({ timezone }) => timezone), ["Asia/Tokyo", "Europe/Berlin"]);
  assert.deepEqual(await changesOf(test, organization.id), [
    ["organization.timezone_changed", { from: "Asia/Tokyo", to: "Europe/Berlin" }],
  ]);
  const limits = [{ ...scope, quantity: -1 }];
  await assertSent(send, [
    [path, { timezone: "+01:00" }, "422 validation_failed timezone"],
    [path, { timezone: "Europe/Atlantis" }, "422 validation_failed timezone"],
    [path, { overrides: { apiKeysMax: -1 } }, "422 validation_failed overrides.apiKeysMax"],
    [path, { overrides: { limits } }, "422 validation_failed overrides.limits[0].quantity"],
    [path, { overrides: { price: 1 } }, "422 validation_failed overrides.price"],
  ]);
});

function rows(test: TestApp, sql: string, ...args: string[]): Promise<Record<string, unknown>[]> {
  return test.opened.database.read({ sql, args });
}

/** From which position on usage counts against the limits. */
async function startOf(test: TestApp, organizationId: string): Promise<number> {
  const [row] = await rows(
    test,
    "SELECT limits_seq AS start FROM organizations WHERE id = ?",
    organizationId,
  );
  return Number(row?.["start"]);
}

async function changesOf(test: TestApp, organizationId: string): Promise<unknown[]> {
  const found = await rows(
    test,
    `SELECT action, details FROM audit_events
     WHERE organization_id = ? AND action <> 'organization.created' AND action <> 'organization.renamed' ORDER BY id`,
    organizationId,
  );
  return found.map(({ action, details }) => [action, JSON.parse(String(details))]);
}
