// Limits per value: each value of a property has a counter and the limit's quantity of its own.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { recheckSomeLimits } from "../../../../services/meter/limit_rechecks.ts";
import { deleteCountersOfRemovedLimits, deleteOldCounters } from "../../../../services/meter/limit_upkeep.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { limitEvents } from "../../../support/meter/limits.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { ofUser, perUser, valueScene, valuesIn } from "../../../support/meter/value_limits.ts";

const dayMs = 24 * 3_600_000;

onEveryDatabase("each value has the limit's quantity, exactly", async (test) => {
  const { record, get } = await valueScene(test, perUser);
  const responses = await Promise.all(Array.from({ length: 24 }, (_, n) => record(1, ofUser(`u${n % 3}`))));
  assert.equal(responses.filter(({ status }) => status === 201).length, 15, test.logged());
  const rejected = await record(1, ofUser("u1"));
  assert.deepEqual([rejected.status, rejected.body.error.code], [429, "limit_exceeded"]);
  const { body: { limits } } = await get("/api/v1/limits?properties.user=u1");
  assert.deepEqual(rejected.body.error.details, [{
    limitId: limits[1].limitId,
    productSlug: null,
    metric: "requests",
    per: "day",
    by: "user",
    value: "u1",
    mode: "hard",
    quantity: 5,
    used: 5,
    held: 0,
    remaining: 0,
    resetsAt: "2026-11-22T00:00:00.000Z",
    countsFrom: limits[1].countsFrom,
  }]);
  assert.deepEqual(limits[1], rejected.body.error.details[0]);
  // Without the property, it counts for `(none)`, like a property that says so.
  assert.deepEqual(valuesIn((await record(2)).body.limits), [["(none)", 2, 0, 3]]);
  assert.deepEqual(valuesIn((await record(2, ofUser("(none)"))).body.limits), [["(none)", 4, 0, 1]]);
  // Values are compared byte by byte.
  assert.deepEqual(valuesIn((await record(5, ofUser("U1"))).body.limits), [["U1", 5, 0, 0]]);
});

onEveryDatabase("a batch is recorded if all of its values fit, and lists the closest ones", async (test) => {
  const { apiKey, values } = await valueScene(test, perUser);
  const send = async (...users: readonly string[]) => {
    const records = users.map((user) => ({
      productSlug: "tiles",
      metric: "requests",
      quantity: 2,
      ...ofUser(user),
    }));
    const response = await test.send("/api/v1/usage/batch", { apiKey, json: { records } });
    return { status: response.status, body: await response.json() };
  };
  const two = await send("a", "b", "a");
  assert.deepEqual([two.status, valuesIn(two.body.limits)], [201, [["a", 4, 0, 1], ["b", 2, 0, 3]]]);
  const rejected = await send("b", "a", "c");
  assert.deepEqual([
    rejected.status,
    rejected.body.error.details.map(({ value }: { value: string }) => value),
  ], [
    429,
    ["a"],
  ]);
  assert.deepEqual(await values(), [["a", 4, 0, 1], ["b", 2, 0, 3]]);
  const many = await send(...Array.from({ length: 12 }, (_, n) => `u${n}`), "u3");
  assert.equal(many.body.limits.length, 11);
  assert.deepEqual(valuesIn(many.body.limits)[0], ["u3", 4, 0, 1]);
  assert.equal((await values()).length, 10);
});

onEveryDatabase("values may have quantities of their own, or no limit", async (test) => {
  const { use, values, setLimits } = await valueScene(test, {
    ...perUser,
    values: [{ value: "big", quantity: 50 }, { value: "free", quantity: null }],
  });
  assert.notEqual(await use("big", 50), null);
  assert.equal(await use("big", 1), null);
  assert.notEqual(await use("free", 1_000), null);
  assert.equal(await use("u", 6), null);
  assert.deepEqual(await values(), [["big", 50, 0, 0]]);
  const [limit] = await setLimits({ ...perUser, quantity: 7, values: [{ value: "free", quantity: 1_001 }] });
  assert.deepEqual([limit?.["by"], limit?.["values"]], ["user", [{ value: "free", quantity: 1_001 }]]);
  assert.deepEqual(await values(), [["big", 50, 0, 0], ["free", 1_000, 0, 1]]);
  assert.notEqual(await use("u", 7), null);
});

onEveryDatabase("a void gives back what was recorded since the counter was opened", async (test) => {
  const { use, values, void: voidRecord, setLimits, change } = await valueScene(test);
  const before = await use("u", 4);
  await setLimits(perUser);
  const counted = await use("u", 3);
  assert.deepEqual(await values(), [["u", 3, 0, 2]]);
  await voidRecord(before);
  assert.deepEqual(await values(), [["u", 3, 0, 2]]);
  // While the limit doesn't apply, nothing counts, and nothing is given back.
  await setLimits({ ...perUser, quantity: null });
  const meanwhile = await use("u", 2);
  await setLimits(perUser);
  assert.deepEqual(await values(), [["u", 3, 0, 2]]);
  await voidRecord(meanwhile);
  assert.deepEqual(await values(), [["u", 3, 0, 2]]);
  // Another time zone adds nothing up again, and a void finds the window of then.
  assert.equal((await change({ timezone: "Asia/Tokyo" })).status, 200);
  assert.notEqual(await use("u", 1), null);
  await voidRecord(counted);
  await voidRecord(counted);
  assert.equal(await use("u", 6), null);
  assert.notEqual(await use("u", 4), null);
});

onEveryDatabase("another plan adds nothing up again", async (test) => {
  const { use, values, operator, change } = await valueScene(test);
  const create = async (name: string, ...limits: readonly object[]) => {
    const { status, body } = await operator("POST /plans", { name, limits });
    assert.equal(status, 201, JSON.stringify(body));
    return body.plan.id;
  };
  const [limited, free] = [await create("Limited", perUser), await create("Free")];
  await change({ planId: limited });
  await use("u", 2);
  await change({ planId: free });
  await use("u", 100);
  assert.deepEqual(await values(), []);
  await change({ planId: limited });
  assert.deepEqual(await values(), [["u", 2, 0, 3]]);
  assert.equal(await use("u", 4), null);
  assert.notEqual(await use("u", 3), null);
});

onEveryDatabase("holds take room of their value", async (test) => {
  const { use, values, holdFor, post, setLimits } = await valueScene(test, perUser);
  const held = await holdFor("a", 4);
  assert.equal(held.status, 201, test.logged());
  assert.deepEqual(valuesIn(held.body.limits), [["a", 0, 4, 1]]);
  assert.equal(await use("a", 2), null);
  assert.notEqual(await use("b", 5), null);
  const rejected = await holdFor("a", 2);
  assert.deepEqual([rejected.status, rejected.body.error.details[0].value], [429, "a"]);
  assert.ok("heldUntil" in rejected.body.error.details[0]);
  const records = [{ productSlug: "tiles", metric: "requests", quantity: 3, ...ofUser("a") }];
  const settled = await post(`/${held.body.hold.id}/settle`, { records });
  assert.equal(settled.status, 201, test.logged());
  assert.deepEqual(valuesIn(settled.body.limits), [["a", 3, 0, 2]]);
  assert.deepEqual(settled.body.beyond, []);
  // A settlement is never rejected, and says by how much it is beyond the limit.
  const more = await holdFor("d", 1);
  const large = [{ productSlug: "tiles", metric: "requests", quantity: 8, ...ofUser("d") }];
  for (const status of [201, 200]) {
    const beyond = await post(`/${more.body.hold.id}/settle`, { records: large });
    assert.equal(beyond.status, status);
    assert.deepEqual(beyond.body.beyond.map(({ quantity }: { quantity: number }) => quantity), [3]);
    assert.deepEqual(valuesIn(beyond.body.limits), [["d", 8, 0, 0]]);
  }
  // What has expired rejects nothing.
  assert.equal((await holdFor("a", 2, { expiresIn: 60 })).status, 201);
  assert.deepEqual(await values("?properties.user=a"), [["a", 3, 2, 0]]);
  test.advance(61_000);
  assert.deepEqual(await values("?properties.user=a"), [["a", 3, 0, 2]]);
  assert.notEqual(await use("a", 2), null);
  // A new limit has the holds that are active.
  const early = await holdFor("c", 4);
  await setLimits({ ...perUser, per: "month" });
  assert.equal(await use("c", 2), null);
  assert.notEqual(await use("c", 1), null);
  await post(`/${early.body.hold.id}/release`);
  assert.deepEqual(await values("?properties.user=c"), [["c", 1, 0, 4]]);
});

onEveryDatabase("each window begins empty, and late records count in theirs", async (test) => {
  const { use, values } = await valueScene(test, perUser);
  const yesterday = { timestamp: new Date(test.now() - dayMs).toISOString() };
  assert.notEqual(await use("u", 5, yesterday), null);
  assert.equal(await use("u", 1, yesterday), null);
  assert.deepEqual(await values("?properties.user=u"), [["u", 0, 0, 5]]);
  assert.notEqual(await use("u", 5), null);
  test.advance(dayMs);
  assert.notEqual(await use("u", 5), null);
});

onEveryDatabase(
  "a limit has one event for each window and level, which doesn't name the value",
  async (test) => {
    const { use, person } = await valueScene(test, perUser, {
      ...perUser,
      per: "month",
      mode: "soft",
      quantity: 4,
    });
    await use("secret-a", 4);
    await use("secret-b", 4);
    assert.deepEqual(await limitEvents(test), ["limit.approaching 80", "limit.exceeded 100"]);
    await use("secret-a", 2);
    await use("secret-b", 1);
    assert.deepEqual(await limitEvents(test), [
      "limit.approaching 80",
      "limit.exceeded 100",
      "limit.reached 100 rejected",
    ]);
    const events = JSON.stringify(
      await (await test.send("/api/portal/events", { cookie: person.cookie })).json(),
    );
    assert.doesNotMatch(events, /secret/);
    assert.match(events, /"by":"user"/);
  },
);

onEveryDatabase("what a limit per value can't have is rejected", async (test) => {
  const { change, operator } = await valueScene(test);
  const faults = async (...limits: readonly object[]) => {
    const { status, body } = await change({ overrides: { limits } });
    return [
      status,
      ...body.error?.details.map(({ path }: { path: string }) => path.replace("overrides.", "")) ?? [],
    ];
  };
  assert.deepEqual(await faults({ ...perUser, per: "total" }), [422, "limits[0].per"]);
  assert.deepEqual(await faults({ ...perUser, per: "minute" }), [422, "limits[0].per"]);
  assert.deepEqual(await faults({ ...perUser, by: "" }), [422, "limits[0].by"]);
  assert.deepEqual(await faults({ ...perUser, by: null, values: [] }), [422, "limits[0].values"]);
  const twice = [{ value: "a", quantity: 1 }, { value: "a", quantity: 2 }];
  assert.deepEqual(await faults({ ...perUser, values: twice }), [422, "limits[0].values"]);
  assert.deepEqual(await faults(...["a", "b", "c", "d", "e"].map((by) => ({ ...perUser, by }))), [
    422,
    "limits",
  ]);
  assert.deepEqual(await faults(...["a", "b", "c", "d"].map((by) => ({ ...perUser, by }))), [200]);
  // Those of the plan count, too, unless they are replaced.
  const plan = await operator("POST /plans", { name: "Per user", limits: [perUser] });
  assert.equal(plan.status, 201);
  assert.equal((await change({ planId: plan.body.plan.id })).status, 422);
  const three = ["a", "b", "c"].map((by) => ({ ...perUser, by }));
  assert.deepEqual(await faults(...three), [200]);
  assert.equal((await change({ planId: plan.body.plan.id })).status, 200);
  assert.deepEqual(await faults(...three, { ...perUser, by: "d" }), [422, "limits"]);
  assert.deepEqual(await faults(...three, { ...perUser, quantity: 9 }), [200]);
});

onEveryDatabase("verification has the numbers of the usage's value", async (test) => {
  const { use, apiKey, values } = await valueScene(test, perUser);
  await use("u", 4);
  const { fullToken } = await newOperatorToken(test, ["keys:verify"]);
  const ask = async (user: string, quantity: number, record = false) => {
    const usage = { productSlug: "tiles", metric: "requests", quantity, record, ...ofUser(user) };
    const response = await test.send("/api/v1/keys/verify", {
      apiKey: fullToken,
      json: { key: apiKey, usage },
    });
    const { code, limits } = await response.json();
    return [code, ...valuesIn(limits)];
  };
  assert.deepEqual(await ask("u", 1), ["VALID", ["u", 4, 0, 1]]);
  assert.deepEqual(await ask("u", 2), ["USAGE_EXCEEDED", ["u", 4, 0, 1]]);
  assert.deepEqual(await ask("u", 2, true), ["USAGE_EXCEEDED", ["u", 4, 0, 1]]);
  assert.deepEqual(await ask("v", 2, true), ["VALID", ["v", 2, 0, 3]]);
  assert.deepEqual(await values(), [["u", 4, 0, 1], ["v", 2, 0, 3]]);
});

onEveryDatabase("alerts can be per value, and never reject", async (test) => {
  const { use, person: { cookie } } = await valueScene(test);
  const path = "/api/portal/alerts";
  const create = async (more: object = {}) => {
    const json = { metric: "requests", per: "day", by: "user", quantity: 5, ...more };
    const response = await test.send(path, { cookie, json });
    return { status: response.status, body: await response.json() };
  };
  const { status, body: { alert } } = await create({ values: [{ value: "big", quantity: 100 }] });
  assert.equal(status, 201);
  assert.deepEqual([alert.by, alert.values, alert.used], ["user", [{ value: "big", quantity: 100 }], null]);
  await use("big", 50);
  await use("a", 2);
  assert.deepEqual(await limitEvents(test), []);
  await use("b", 9);
  await use("a", 9);
  assert.deepEqual(await limitEvents(test), ["limit.exceeded 100"]);
  assert.equal((await create({ per: "total" })).status, 422);
  for (const by of ["b", "c", "d"]) assert.equal((await create({ by })).status, 201);
  assert.equal((await create({ by: "e" })).body.error.code, "limit_reached");
  const changed = await test.send(`${path}/${alert.id}`, { method: "PATCH", cookie, json: { quantity: 7 } });
  const { alert: after } = await changed.json();
  assert.deepEqual([after.by, after.quantity, after.values], ["user", 7, [{ value: "big", quantity: 100 }]]);
});

onEveryDatabase("grants don't raise a limit per value, and budgets can't have one", async (test) => {
  const { operator, path, keyId, setLimits, person: { cookie } } = await valueScene(test);
  const [limit] = await setLimits(perUser);
  const grant = { limitId: limit?.id, quantity: 5, reason: "Paid.", idempotencyKey: "a" };
  const { status, body } = await operator(`POST ${path}/grants`, grant);
  assert.deepEqual([status, body.error.code], [422, "limit_per_value"]);
  const json = { budget: [perUser] };
  const response = await test.send(`/api/portal/api-keys/${keyId}`, { method: "PATCH", cookie, json });
  assert.equal(response.status, 422);
});

onEveryDatabase("counters are deleted when their time has passed, and with their limit", async (test) => {
  const { use, setLimits, values } = await valueScene(test, perUser, { ...perUser, per: "hour" });
  const rows = async () => {
    const found = await test.opened.database.read<{ rows: number }>(sql`SELECT count(*) AS rows
      FROM usage_value_counters UNION ALL SELECT count(*) FROM usage_value_windows`);
    return found.map(({ rows }) => rows);
  };
  const sweep = async () => {
    while (await deleteOldCounters(test.services) || await deleteCountersOfRemovedLimits(test.services));
  };
  await use("a", 1);
  await use("b", 1);
  assert.deepEqual(await rows(), [4, 2]);
  test.advance(2 * dayMs);
  await sweep();
  assert.deepEqual(await rows(), [4, 2]);
  // An older record counts against no limit per value.
  test.advance(2 * 3_600_000);
  assert.notEqual(
    await use("a", 4, { timestamp: new Date(test.now() - 2 * dayMs - 2 * 3_600_000).toISOString() }),
    null,
  );
  await sweep();
  assert.deepEqual(await rows(), [2, 1]);
  test.advance(40 * dayMs);
  await sweep();
  assert.deepEqual(await rows(), [0, 0]);
  await use("a", 1);
  await setLimits();
  test.advance(60_000);
  while (await recheckSomeLimits(test.services, { add() {} } as never));
  await sweep();
  assert.deepEqual(await rows(), [0, 0]);
  assert.deepEqual(await values(), []);
});
