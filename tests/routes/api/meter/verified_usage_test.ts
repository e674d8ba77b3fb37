// Verifying keys with usage: whether it would fit into the hard limits, without recording it.
import assert from "node:assert/strict";
import { assertError, createTestKey, type TestApp } from "../../../support/app/app.ts";
import { addLimit } from "../../../support/meter/limits.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { onEveryDatabase, recordAll, recordOne } from "../../../support/meter/usage.ts";

const tiles = { productSlug: "tiles", metric: "requests" };

/** Returns a key, and a function that asks about usage of it with a new token. */
async function newQuestion(test: TestApp) {
  const person = await test.signUp();
  const { id, fullKey } = await createTestKey(test, person);
  const { fullToken } = await newOperatorToken(test, ["keys:verify"]);
  const send = (usage: unknown, more: Record<string, unknown> = {}) =>
    test.send("/api/v1/keys/verify", { apiKey: fullToken, json: { key: fullKey, usage, ...more } });
  const ask = async (usage: unknown, more: Record<string, unknown> = {}) => {
    const response = await send(usage, more);
    assert.equal(response.status, 200, await response.clone().text());
    return await response.json();
  };
  return { person, id, apiKey: fullKey, send, ask };
}

onEveryDatabase("usage fits as long as every hard limit has room, and asking uses nothing", async (test) => {
  const { person, id, apiKey, ask } = await newQuestion(test);
  const other = await createTestKey(test, person);
  assert.deepEqual((await ask(tiles)).limits, []);
  await addLimit(test, {}, { ...tiles, per: "month", quantity: 10, mode: "hard" });
  await addLimit(test, {}, { per: "day", quantity: 2, mode: "soft" });
  await addLimit(test, {}, { productSlug: "maps", per: "total", quantity: 0, mode: "hard" });
  const budget = await addLimit(test, { apiKeyId: id }, { per: "hour", quantity: 5, mode: "hard" });
  await recordAll(test, { apiKey: other.fullKey, records: [{ ...tiles, quantity: 4.75 }] });
  await recordOne(test, apiKey, { ...tiles, quantity: 1.25 });
  const code = async (quantity?: number) =>
    (await ask({ ...tiles, ...(quantity === undefined ? {} : { quantity }) })).code;
  assert.equal(await code(), "VALID");
  assert.equal(await code(0), "VALID");
  assert.equal(await code(3.75), "VALID");
  assert.equal(await code(3.750001), "USAGE_EXCEEDED");
  assert.equal(await code(3.75), "VALID");
  await recordAll(test, { apiKey: other.fullKey, records: [{ ...tiles, quantity: 1 }] });
  assert.equal(await code(3.000001), "USAGE_EXCEEDED");

  const answer = await ask({ ...tiles, quantity: 4 });
  assert.equal(answer.valid, false);
  assert.equal(answer.apiKey.id, id);
  assert.deepEqual(
    answer.limits.map((limit: Record<string, unknown>) => [limit["per"], limit["used"], limit["remaining"]]),
    [["day", 7, 0], ["month", 7, 3], ["hour", 1.25, 3.75]],
  );
  assert.equal(answer.limits[2].limitId, budget.id);
  assert.equal((await ask({ productSlug: "maps", metric: "loads", quantity: 0 })).code, "VALID");
  assert.equal((await ask({ productSlug: "maps", metric: "loads" })).code, "USAGE_EXCEEDED");
  // The window has its room again when it begins again.
  test.advance(10 * 24 * 3_600_000);
  assert.equal(await code(5), "VALID");
});

onEveryDatabase("questions that share a read each get their own limits", async (test) => {
  const [ada, bob] = [await newQuestion(test), await newQuestion(test)];
  await addLimit(test, { organizationId: ada.person.organizationId }, {
    ...tiles,
    per: "day",
    quantity: 3,
    mode: "hard",
  });
  await addLimit(test, { organizationId: bob.person.organizationId }, {
    per: "total",
    quantity: 1,
    mode: "hard",
  });
  const answers = await Promise.all([
    ada.ask({ ...tiles, quantity: 3 }),
    bob.ask({ ...tiles, quantity: 3 }),
    ada.ask({ productSlug: "maps", metric: "requests", quantity: 9 }),
    bob.ask(undefined),
    ada.ask({ ...tiles, quantity: 4 }),
    ada.ask(tiles, { key: "" }),
    bob.ask({ ...tiles }),
  ]);
  assert.deepEqual(answers.map(({ code, limits }) => [code, limits.length]), [
    ["VALID", 1],
    ["USAGE_EXCEEDED", 1],
    ["VALID", 0],
    ["VALID", 0],
    ["USAGE_EXCEEDED", 1],
    ["NOT_FOUND", 0],
    ["VALID", 1],
  ]);
});

onEveryDatabase("usage that was recorded already always fits", async (test) => {
  const { apiKey, ask } = await newQuestion(test);
  await recordOne(test, apiKey, { ...tiles, quantity: 3, idempotencyKey: "job-1" });
  await addLimit(test, {}, { per: "total", quantity: 3, mode: "hard" });
  const code = async (more: Record<string, unknown>) => (await ask({ ...tiles, quantity: 3, ...more })).code;
  assert.equal(await code({}), "USAGE_EXCEEDED");
  assert.equal(await code({ idempotencyKey: "job-1" }), "VALID");
  assert.equal(await code({ idempotencyKey: "job-2" }), "USAGE_EXCEEDED");
  assert.equal(await code({ idempotencyKey: "job-1", quantity: 2 }), "USAGE_EXCEEDED");
  assert.equal(await code({ idempotencyKey: "job-1", metric: "other" }), "USAGE_EXCEEDED");
  assert.equal(await code({ idempotencyKey: "job-1", properties: {} }), "VALID");
  assert.equal(await code({ idempotencyKey: "job-1", properties: { region: "eu" } }), "USAGE_EXCEEDED");
});

onEveryDatabase("usage in a question is checked like usage to record", async (test) => {
  const { send } = await newQuestion(test);
  for (
    const usage of [
      {},
      null,
      "tiles",
      { ...tiles, quantity: -1 },
      { ...tiles, quantity: 0.0000001 },
      { ...tiles, metric: "a b" },
      { ...tiles, timestamp: "2026-11-21T00:00:00Z" },
      { ...tiles, idempotencyKey: "" },
      { ...tiles, properties: { region: 1 } },
    ]
  ) {
    const { error: { details } } = await assertError(await send(usage), 422, "validation_failed");
    assert.match(details?.[0]?.path ?? "", /^usage/);
  }
});
