// Limits that were reached and have room again: after voids, and after limits were changed in any way.
import assert from "node:assert/strict";
import { sql, type Statement } from "../../../db/engine/database.ts";
import { eventBody, type StoredEvent } from "../../../domain/outbox/event.ts";
import { LimitCounters } from "../../../services/meter/limit_counters.ts";
import { recheckSomeLimits } from "../../../services/meter/limit_rechecks.ts";
import { deleteCountersOfRemovedLimits } from "../../../services/meter/limit_upkeep.ts";
import { createTestKey, type TestApp, type TestPerson } from "../../support/app/app.ts";
import { addLimit, limitEvents, softCountersAreKnown } from "../../support/meter/limits.ts";
import { onEveryDatabase, voidOne } from "../../support/meter/usage.ts";
import { asOperator } from "../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { run } from "../../support/people/scene.ts";

const scope = { productSlug: "tiles", metric: "requests" };

async function record(test: TestApp, apiKey: string, quantity: number, status = 201): Promise<string> {
  const response = await test.send("/api/v1/usage", { apiKey, json: { ...scope, quantity } });
  assert.equal(response.status, status, await response.clone().text());
  return (await response.json()).usageRecord?.id;
}

/** Checks changed limits on two servers at the same time, and deletes what removed limits leave. */
async function recheck(test: TestApp): Promise<void> {
  const server = async () => {
    const counters = new LimitCounters(test.services, { onError: (error) => assert.fail(String(error)) });
    while (await recheckSomeLimits(test.services, counters));
  };
  await Promise.all([server(), server()]);
  while (await deleteCountersOfRemovedLimits(test.services));
}

const [approaching, reached, cleared] = ["limit.approaching 80", "limit.reached 100", "limit.cleared 100"];

onEveryDatabase("a void that makes room clears a limit, which can then be reached again", async (test) => {
  const { id: apiKeyId, fullKey: apiKey } = await createTestKey(test, await test.signUp());
  await addLimit(test, {}, { per: "month", quantity: 10, mode: "hard", notifyAt: [100] });
  const { id: limitId } = await addLimit(test, { apiKeyId }, {
    per: "total",
    quantity: 10,
    notifyAt: [50, 90, 100, 110],
  });
  await record(test, apiKey, 6);
  const second = await record(test, apiKey, 4);
  await record(test, apiKey, 1, 429);
  const before = ["limit.approaching 50", "limit.exceeded 100", reached];
  assert.deepEqual((await limitEvents(test)).sort(), before.toSorted());
  await voidOne(test, { apiKey, id: second });
  await voidOne(test, { apiKey, id: second });
  assert.deepEqual((await limitEvents(test)).slice(3), [cleared, cleared]);
  const events = await test.opened.database.read<{ facts: string }>(
    sql`SELECT facts FROM events WHERE type = 'limit.cleared'`,
  );
  const facts = events.map(({ facts }) => JSON.parse(facts)).find(({ limit }) => limit.id === limitId);
  assert.deepEqual([facts.used, facts.percent, facts.limit.apiKey.id], [[0, 6, 0, null], 100, apiKeyId]);
  assert.equal(facts.usedAt, test.now());
  await record(test, apiKey, 4);
  assert.deepEqual((await limitEvents(test)).slice(5).sort(), ["limit.exceeded 100", reached]);
});

/** A person with an organization and a key of it. */
interface Customer extends TestPerson {
  readonly apiKey: string;
  readonly apiKeyId: string;
}

async function newCustomer(test: TestApp): Promise<Customer> {
  const person = await test.signUp();
  const { id: apiKeyId, fullKey: apiKey } = await createTestKey(test, person);
  return { ...person, apiKey, apiKeyId };
}

interface LimitData {
  readonly id: string;
  readonly quantity: number | null;
}
type Send = ReturnType<typeof asOperator>;
type Change = (customer: Customer, send: Send, test: TestApp) => Promise<unknown>;

const monthly = (quantity: number | null) => ({ ...scope, per: "month", mode: "hard", quantity });
const overrides = (limits: readonly object[]) => ({ overrides: { limits } });
const planOf = async (send: Send) =>
  (await send("GET /plans")).body.plans.find(({ isDefault }: { isDefault: boolean }) => isDefault).id;
const setPlan: (limits: readonly object[]) => Change = (limits) => async (_customer, send) =>
  send(`PATCH /plans/${await planOf(send)}`, { limits });
const setOverride: (limits: readonly object[]) => Change = (limits) => ({ organizationId }, send) =>
  send(`PATCH /organizations/${organizationId}`, overrides(limits));
const setBudget: (budget: readonly object[]) => Change = (budget) => ({ cookie, apiKeyId }, _send, test) =>
  test.send(`/api/portal/api-keys/${apiKeyId}`, { method: "PATCH", cookie, json: { budget } });
const changePlan: Change = async ({ organizationId }, send) => {
  const plan = { name: "Other", apiKeysMax: 10, membersMax: 10, usageSeriesMax: 10, limits: [monthly(11)] };
  const { plan: { id: planId } } = (await send("POST /plans", plan)).body;
  return await send(`PATCH /organizations/${organizationId}`, { planId });
};

/** How a limit is set, how it is changed after it was reached, and the quantity of the event if it then has room: null if it doesn't apply anymore. */
const changes: Readonly<
  Record<string, readonly [set: Change, change: Change, cleared: number | null | undefined]>
> = {
  "an override is raised": [setOverride([monthly(10)]), setOverride([monthly(11)]), 11],
  "an override is lowered": [setOverride([monthly(10)]), setOverride([monthly(9)]), undefined],
  "an override is removed": [setOverride([monthly(10)]), setOverride([]), null],
  "an override is lifted": [setOverride([monthly(10)]), setOverride([monthly(null)]), null],
  "another override is added": [
    setOverride([monthly(10)]),
    setOverride([monthly(10), { ...monthly(10), per: "day", metric: "bytes" }]),
    undefined,
  ],
  "a plan's limit is raised": [setPlan([monthly(10)]), setPlan([monthly(20)]), 20],
  "a plan's limit is removed": [setPlan([monthly(10)]), setPlan([]), null],
  "a plan's limit is replaced by an override": [setPlan([monthly(10)]), setOverride([monthly(11)]), null],
  "the plan is changed": [setPlan([monthly(10)]), changePlan, null],
  "an override stays when the plan is changed": [setOverride([monthly(10)]), changePlan, undefined],
  "a budget is raised": [setBudget([monthly(10)]), setBudget([monthly(11)]), 11],
  "a budget is removed": [setBudget([monthly(10)]), setBudget([]), null],
  "the time zone is changed": [
    setOverride([monthly(10)]),
    ({ organizationId }, send) => send(`PATCH /organizations/${organizationId}`, { timezone: "Asia/Tokyo" }),
    undefined,
  ],
};

onEveryDatabase("changed limits are cleared if they have room, exactly once", async (test) => {
  const { fullToken } = await newOperatorToken(test);
  const send = asOperator(test, fullToken);
  for (const [name, [set, change, quantity]] of Object.entries(changes)) {
    const customer = await newCustomer(test);
    await run(test, "DELETE FROM events");
    assert.ok((await set(customer, send, test) as { status: number }).status < 300, name);
    await recheck(test);
    for (const quantity of [8, 2]) await record(test, customer.apiKey, quantity);
    assert.deepEqual(await limitEvents(test), [approaching, reached], name);
    assert.ok((await change(customer, send, test) as { status: number }).status < 300, name);
    await recheck(test);
    assert.deepEqual((await limitEvents(test)).slice(2), quantity === undefined ? [] : [cleared], name);
    const events = await test.opened.database.read<StoredEvent>(sql`
      SELECT id, type, at, facts, webhook FROM events WHERE type LIKE 'limit.%' ORDER BY seq`);
    const data = events.map((event) => JSON.parse(eventBody(event, { isForOperators: false })).data);
    assert.deepEqual(data.map(({ percent }) => percent), [80, 100, undefined].slice(0, data.length), name);
    const limits = data.map(({ limit }) => limit as LimitData);
    assert.deepEqual(new Set(limits.map(({ id }) => id)).size, 1, name);
    assert.deepEqual(limits.map(({ quantity }) => quantity), [10, 10, quantity].slice(0, data.length), name);
    await setOverride([])(customer, send, test);
    await setPlan([])(customer, send, test);
    await recheck(test);
    const rest = await test.opened.database.read(sql`
      SELECT number FROM limit_rechecks UNION ALL SELECT number FROM usage_limits_removed`);
    assert.deepEqual(rest, [], name);
    assert.deepEqual((await limitEvents(test)).slice(2), [cleared], name);
    await run(
      test,
      "DELETE FROM plans WHERE name = 'Other' AND number NOT IN (SELECT plan FROM organizations)",
    );
    await run(test, "UPDATE plans SET name = id WHERE name = 'Other'");
  }
});

onEveryDatabase("a limit with another mode is cleared, and then reached in this mode", async (test) => {
  const customer = await newCustomer(test);
  const send = asOperator(test, (await newOperatorToken(test)).fullToken);
  const changeTo = async (mode: "hard" | "soft") => {
    await setOverride([{ ...monthly(10), mode, notifyAt: [100] }])(customer, send, test);
    await recheck(test);
  };
  await changeTo("hard");
  await record(test, customer.apiKey, 10);
  await changeTo("soft");
  assert.deepEqual(await limitEvents(test), [reached, cleared]);
  await record(test, customer.apiKey, 1);
  await softCountersAreKnown(test);
  await changeTo("hard");
  assert.deepEqual((await limitEvents(test)).slice(2), ["limit.exceeded 100", cleared]);
  await record(test, customer.apiKey, 1, 429);
  assert.deepEqual((await limitEvents(test)).slice(4), [`${reached} rejected`]);
});

onEveryDatabase(
  "a limit that rejected a request is cleared by a void or a higher limit alone",
  async (test) => {
    const customer = await newCustomer(test);
    const { organizationId, apiKey } = customer;
    const send = asOperator(test, (await newOperatorToken(test)).fullToken);
    const change = async (quantity: number) => {
      await setOverride([monthly(quantity)])(customer, send, test);
      await recheck(test);
    };
    await change(10);
    await record(test, apiKey, 2);
    const last = await record(test, apiKey, 7);
    const isReached = async (count: number) => {
      await record(test, apiKey, 5, 429);
      assert.deepEqual((await limitEvents(test)).slice(count), [`${reached} rejected`]);
    };
    await isReached(1);
    const alerts = `/organizations/${organizationId}/alerts`;
    const { alert } = (await send(`POST ${alerts}`, { ...scope, per: "month", quantity: 1000 })).body;
    await recheck(test);
    assert.equal((await send(`DELETE ${alerts}/${alert.id}`)).status, 204);
    await recheck(test);
    for (const quantity of [9.5, 10]) await change(quantity);
    await record(test, apiKey, 5, 429);
    assert.deepEqual((await limitEvents(test)).slice(2), []);
    await change(10.5);
    assert.deepEqual((await limitEvents(test)).slice(2), [cleared]);
    await isReached(3);
    await voidOne(test, { apiKey, id: last });
    assert.deepEqual((await limitEvents(test)).slice(4), [cleared]);
  },
);

onEveryDatabase(
  "the turn of a window clears nothing, and neither do later changes and voids",
  async (test) => {
    const customer = await newCustomer(test);
    const send = asOperator(test, (await newOperatorToken(test)).fullToken);
    await setOverride([monthly(10)])(customer, send, test);
    const id = await record(test, customer.apiKey, 10);
    test.advance(31 * 24 * 3_600_000);
    for (const quantity of [11, null, 10]) {
      await setOverride([monthly(quantity)])(customer, send, test);
      await recheck(test);
    }
    await voidOne(test, { apiKey: customer.apiKey, id });
    assert.deepEqual(await limitEvents(test), [reached]);
  },
);

onEveryDatabase("a limit that is removed while upkeep deletes what others left is cleared", async (test) => {
  const customer = await newCustomer(test);
  const send = asOperator(test, (await newOperatorToken(test)).fullToken);
  await setOverride([monthly(10)])(customer, send, test);
  await setOverride([monthly(10), { ...monthly(5), metric: "other" }])(customer, send, test);
  await record(test, customer.apiKey, 10);
  await setOverride([monthly(10)])(customer, send, test);
  await run(test, "DELETE FROM limit_rechecks");
  const { database } = test.opened;
  const readFirst: typeof database.readFirst = async <Row>(statement: Statement) => {
    const row = await database.readFirst<Row>(statement);
    await setOverride([])(customer, send, test);
    return row;
  };
  await deleteCountersOfRemovedLimits({
    database: { ...database, write: database.write.bind(database), readFirst },
  });
  await recheck(test);
  assert.deepEqual(await limitEvents(test), [reached, cleared]);
});

onEveryDatabase("all organizations of a changed plan are checked, and all limits of one", async (test) => {
  const send = asOperator(test, (await newOperatorToken(test)).fullToken);
  await run(
    test,
    `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1100)
     INSERT INTO organizations (id, name, created_at) SELECT format('org_%032d', n), format('Customer %d', n), 0 FROM n`,
  );
  const customers = [await newCustomer(test), await newCustomer(test), await newCustomer(test)];
  await send(`PATCH /plans/${await planOf(send)}`, { limits: [monthly(10), { ...monthly(30), per: "day" }] });
  for (const [at, { apiKey }] of customers.entries()) await record(test, apiKey, 10 - at % 2);
  const { organizationId = "" } = customers[0] ?? {};
  await run(
    test,
    `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 150)
     INSERT INTO usage_limits (id, alert_of, product_slug, metric, per, quantity_whole, quantity_micro, mode, created_seq, created_at)
     SELECT format('lim_%032d', n), o.number, '', '', 'total', 11, 0, 'soft', 0, 0
     FROM n CROSS JOIN organizations o ON o.id = ?`,
    organizationId,
  );
  await run(
    test,
    `INSERT INTO limit_notices SELECT l.number, l.alert_of, 0, 100, 0, '[0,11,0]', ?, ?, ?, 11, 0, '', 0 FROM usage_limits l
     WHERE l.alert_of IS NOT NULL`,
    ...[test.now(), test.now(), test.now()],
  );
  await run(test, "DELETE FROM events");
  await send(`PATCH /plans/${await planOf(send)}`, { limits: [monthly(20)] });
  await recheck(test);
  const counts = await test.opened.database.read<{ count: number }>(sql`
    SELECT count(*) AS count, count(DISTINCT facts ->> '$.limit.id') AS limits FROM events
    WHERE type = 'limit.cleared' GROUP BY organization ORDER BY organization`);
  assert.deepEqual(counts.map((row) => ({ ...row })), [{ count: 151, limits: 151 }, { count: 1, limits: 1 }]);
});

onEveryDatabase(
  "a check that fails is done again after others, and one of a deleted organization ends",
  async (test) => {
    const customer = await newCustomer(test);
    const send = asOperator(test, (await newOperatorToken(test)).fullToken);
    await setOverride([monthly(10)])(customer, send, test);
    await recheck(test);
    await record(test, customer.apiKey, 10);
    await run(test, "UPDATE usage_limits SET quantity_whole = 11");
    await run(test, "UPDATE organizations SET limits_seq = limits_seq + 1");
    const insert = "INSERT INTO limit_rechecks (organization) SELECT number FROM organizations WHERE id = ?";
    await run(test, insert, customer.organizationId);
    await run(test, insert, (await newCustomer(test)).organizationId);
    const failing = { complete: () => Promise.reject(new Error("Full.")) };
    await assert.rejects(recheckSomeLimits(test.services, failing), /Full/);
    assert.deepEqual((await limitEvents(test)).slice(1), []);
    assert.equal(await recheckSomeLimits(test.services, failing), true);
    assert.equal((await test.opened.database.read(sql`SELECT 1 FROM limit_rechecks`)).length, 1);
    await recheck(test);
    assert.deepEqual((await limitEvents(test)).slice(1), [cleared]);
    await record(test, customer.apiKey, 1);
    await run(test, "DELETE FROM usage_limits");
    await run(test, insert, customer.organizationId);
    await run(test, "UPDATE organizations SET deleted_at = 1 WHERE id = ?", customer.organizationId);
    await recheck(test);
    assert.deepEqual((await limitEvents(test)).slice(2), [reached]);
  },
);
