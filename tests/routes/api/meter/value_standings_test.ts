// Where values stand: in limits that are newer than holds, in responses to repeats, in settlements of several values, and among 10,000 others.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { limitValuesMax } from "../../../../domain/meter/value_limit.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import type { TestApp } from "../../../support/app/app.ts";
import { limitEvents } from "../../../support/meter/limits.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { ofUser, perUser, usageOf, valueScene, valuesIn } from "../../../support/meter/value_limits.ts";

async function standingScene(test: TestApp, ...limits: readonly object[]) {
  const scene = await valueScene(test, ...limits);
  const { fullToken } = await newOperatorToken(test, ["keys:verify"]);
  return {
    ...scene,
    ask: async (usage: object | readonly object[]) => {
      const json = { key: scene.apiKey, usage };
      const response = await test.send("/api/v1/keys/verify", { apiKey: fullToken, json });
      const { code, limits } = await response.json();
      return [code, ...valuesIn(limits)];
    },
    /** All counters of the current windows are used. */
    fill: () =>
      test.opened.database.write([sql`UPDATE usage_value_windows SET counters = ${limitValuesMax}`]),
  };
}

onEveryDatabase("a limit per value has the active holds as soon as it applies", async (test) => {
  const { holdFor, post, ask, values, use, setLimits, change, operator } = await standingScene(test);
  const held = await holdFor("c", 4);
  const assertHeld = async () => {
    assert.deepEqual(await values("?properties.user=c"), [["c", 0, 4, 1]]);
    assert.deepEqual(await values(), [["c", 0, 4, 1]]);
    assert.deepEqual(await ask(usageOf("c", 1)), ["VALID", ["c", 0, 4, 1]]);
    assert.deepEqual(await ask(usageOf("c", 2)), ["USAGE_EXCEEDED", ["c", 0, 4, 1]]);
    assert.deepEqual(await ask(usageOf("d", 5)), ["VALID", ["d", 0, 0, 5]]);
  };
  await setLimits({ ...perUser, per: "month" });
  await assertHeld();
  await setLimits(perUser);
  await assertHeld();
  await setLimits();
  const plan = await operator("POST /plans", { name: "Per user", limits: [perUser] });
  assert.equal((await change({ planId: plan.body.plan.id })).status, 200);
  await assertHeld();
  assert.equal((await change({ timezone: "Asia/Tokyo" })).status, 200);
  await assertHeld();
  // The first usage takes them over.
  assert.equal(await use("c", 2), null);
  assert.notEqual(await use("d", 5), null);
  assert.deepEqual(await values("?properties.user=c"), [["c", 0, 4, 1]]);
  await post(`/${held.body.hold.id}/release`);
  assert.deepEqual(await values("?properties.user=c"), [["c", 0, 0, 5]]);
});

onEveryDatabase("holds made while a limit per value was lifted add to what it has", async (test) => {
  const { holdFor, ask, values, use, setLimits } = await standingScene(test, perUser);
  await use("c", 1);
  await holdFor("c", 1);
  await setLimits({ ...perUser, quantity: null });
  await holdFor("c", 1, { expiresIn: 60 });
  await holdFor("c", 1);
  await setLimits(perUser);
  assert.deepEqual(await values(), [["c", 1, 3, 1]]);
  assert.deepEqual(await ask(usageOf("c", 2)), ["USAGE_EXCEEDED", ["c", 1, 3, 1]]);
  test.advance(61_000);
  assert.deepEqual(await values(), [["c", 1, 2, 2]]);
  assert.deepEqual(await ask(usageOf("c", 2)), ["VALID", ["c", 1, 2, 2]]);
  await use("d", 1);
  assert.deepEqual(await values("?properties.user=c"), [["c", 1, 2, 2]]);
});

onEveryDatabase("a repeat names the limits per value that the first response named", async (test) => {
  const { record, get, apiKey } = await standingScene(test, perUser);
  for (const idempotencyKey of ["now", "late"]) {
    const timestamp = idempotencyKey === "late"
      ? { timestamp: new Date(test.now() - 24 * 3_600_000).toISOString() }
      : {};
    const send = () => record(3, { ...ofUser("u"), idempotencyKey, ...timestamp });
    const [first, repeat] = [await send(), await send()];
    assert.deepEqual([first.status, repeat.status], [201, 200]);
    assert.equal(first.body.limits.length, 2);
    assert.deepEqual(repeat.body.limits, first.body.limits);
  }
  // In a batch, too, and a rejected one counts nothing.
  const batch = async (...records: readonly object[]) => {
    const response = await test.send("/api/v1/usage/batch", { apiKey, json: { records } });
    return { status: response.status, body: await response.json() };
  };
  const known = usageOf("u", 3, { idempotencyKey: "now" });
  const mixed = await batch(known, usageOf("v", 1));
  assert.deepEqual(valuesIn(mixed.body.limits), [["u", 3, 0, 2], ["v", 1, 0, 4]]);
  assert.equal((await batch(known, usageOf("w", 6))).status, 429);
  const { body } = await get("/api/v1/limits?properties.user=u");
  assert.deepEqual(valuesIn(body.limits), [["u", 3, 0, 2]]);
});

onEveryDatabase(
  "a settlement of several values names the excess of their shared counter once",
  async (test) => {
    const { holdFor, post, use, fill } = await standingScene(test, perUser);
    await use("a", 1);
    await fill();
    const { body: { hold } } = await holdFor("x", 1);
    const records = [usageOf("x", 4), usageOf("y", 4), usageOf("a", 5), usageOf("z", 0)];
    for (const status of [201, 200]) {
      const settled = await post(`/${hold.id}/settle`, { records });
      assert.equal(settled.status, status, JSON.stringify(settled.body));
      const quantities = settled.body.beyond.map(({ quantity }: { quantity: number }) => quantity);
      assert.deepEqual(quantities.sort(), [1, 3]);
    }
  },
);

onEveryDatabase("a lifted value counts against no other when all counters are used", async (test) => {
  const { ask, use, fill } = await standingScene(test, {
    ...perUser,
    values: [{ value: "free", quantity: null }],
  });
  await use("a", 1);
  await fill();
  assert.deepEqual(await ask(usageOf("free", 100)), ["VALID"]);
  assert.deepEqual(await ask([usageOf("free", 100), usageOf("x", 5)]), ["VALID", ["(other)", 0, 0, 5]]);
  assert.deepEqual(await ask([usageOf("x", 3), usageOf("y", 3)]), ["USAGE_EXCEEDED", ["(other)", 0, 0, 5]]);
  assert.deepEqual(await ask([usageOf("a", 4), usageOf("free", 9), usageOf("(other)", 5)]), ["VALID", [
    "a",
    1,
    0,
    4,
  ], [
    "(other)",
    0,
    0,
    5,
  ]]);
});

onEveryDatabase("a limit per value is cleared when it is removed, and by nothing else", async (test) => {
  const { use, setLimits, void: voidRecord } = await standingScene(test, { ...perUser, notifyAt: [100] });
  const id = await use("secret-a", 5);
  await use("secret-b", 5);
  const reached = ["limit.reached 100"];
  assert.deepEqual(await limitEvents(test), reached);
  await voidRecord(id);
  await setLimits({ ...perUser, notifyAt: [100], quantity: 6 });
  await use("secret-a", 6);
  assert.deepEqual(await limitEvents(test), reached);
  await setLimits();
  assert.deepEqual(await limitEvents(test), [...reached, "limit.cleared 100"]);
  const events = await test.opened.database.read(sql`SELECT facts FROM events WHERE type LIKE 'limit.%'`);
  assert.doesNotMatch(JSON.stringify(events), /secret/);
});
