// Where values stand among 10,000 others.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { limitValuesMax } from "../../../../domain/meter/value_limit.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import type { TestApp } from "../../../support/app/app.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { ofUser, perUser, valueScene, valuesIn } from "../../../support/meter/value_limits.ts";

const of = (user: string, quantity: number, more: object = {}) => ({
  productSlug: "tiles",
  metric: "requests",
  quantity,
  ...ofUser(user),
  ...more,
});

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

onEveryDatabase("a lifted value counts against no other when all counters are used", async (test) => {
  const { ask, use, fill } = await standingScene(test, {
    ...perUser,
    values: [{ value: "free", quantity: null }],
  });
  await use("a", 1);
  await fill();
  assert.deepEqual(await ask(of("free", 100)), ["VALID"]);
  assert.deepEqual(await ask([of("free", 100), of("x", 5)]), ["VALID", ["(other)", 0, 0, 5]]);
  assert.deepEqual(await ask([of("x", 3), of("y", 3)]), ["USAGE_EXCEEDED", ["(other)", 0, 0, 5]]);
  assert.deepEqual(await ask([of("a", 4), of("free", 9), of("(other)", 5)]), ["VALID", ["a", 1, 0, 4], [
    "(other)",
    0,
    0,
    5,
  ]]);
});
