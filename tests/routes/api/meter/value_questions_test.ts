// Verification of usage of several values, which may be recorded or held: hard and cutoff limits per value judge each value by its own use.
import assert from "node:assert/strict";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import type { TestApp } from "../../../support/app/app.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { perUser, usageOf, valueScene, valuesIn } from "../../../support/meter/value_limits.ts";

async function questionScene(test: TestApp, limit: object) {
  const scene = await valueScene(test, limit);
  const { fullToken } = await newOperatorToken(test, ["keys:verify"]);
  const verifier = asOperator(test, fullToken);
  const ask = async (usage: readonly object[], more: object = {}) => {
    const response = await test.send("/api/v1/keys/verify", {
      apiKey: fullToken,
      json: { key: scene.apiKey, usage, ...more },
    });
    const body = await response.json();
    return { code: body.code as string, values: valuesIn(body.limits), hold: body.hold };
  };
  return { ...scene, ask, verifier };
}

onEveryDatabase(
  "a list fits if the usage of each value fits into its own part of the limit",
  async (test) => {
    const { ask, values } = await questionScene(test, perUser);
    for (const more of [{}, { record: true }, { hold: true }]) {
      assert.equal((await ask([usageOf("u1", 3), usageOf("u1", 3)], more)).code, "USAGE_EXCEEDED");
      assert.equal((await ask([usageOf("u1", 3), usageOf("u2", 6)], more)).code, "USAGE_EXCEEDED");
    }
    assert.deepEqual(await values(), []);
    assert.equal((await ask([usageOf("u1", 4), usageOf("u2", 5)])).code, "VALID");
    const recorded = await ask([usageOf("u1", 3), usageOf("u2", 5)], { record: true });
    assert.deepEqual([recorded.code, recorded.values], ["VALID", [["u1", 3, 0, 2], ["u2", 5, 0, 0]]]);
    const held = await ask([usageOf("u1", 2), usageOf("u3", 5)], { hold: true });
    assert.equal(held.code, "VALID");
    assert.deepEqual(await values("?properties.user=u1"), [["u1", 3, 2, 0]]);
    const exceeded = await ask([usageOf("u1", 1), usageOf("u4", 1)]);
    assert.deepEqual([exceeded.code, exceeded.values], ["USAGE_EXCEEDED", [["u1", 3, 2, 0], [
      "u4",
      0,
      0,
      5,
    ]]]);
  },
);

onEveryDatabase("a cutoff limit per value denies a value with nothing left, and no other", async (test) => {
  const { ask, use, values } = await questionScene(test, { ...perUser, mode: "cutoff" });
  assert.equal((await ask([usageOf("u1", 100)])).code, "VALID");
  assert.equal((await ask([usageOf("u1", 4)], { record: true })).code, "VALID");
  assert.equal((await ask([usageOf("u1", 9), usageOf("u2", 1)], { record: true })).code, "VALID");
  for (const more of [{}, { record: true }, { hold: true }]) {
    assert.equal((await ask([usageOf("u1", 0)], more)).code, "USAGE_EXCEEDED");
    assert.equal((await ask([usageOf("u3", 1), usageOf("u1", 1)], more)).code, "USAGE_EXCEEDED");
  }
  assert.equal((await ask([usageOf("u2", 7)], { hold: true })).code, "VALID");
  // Usage that was served is recorded.
  assert.notEqual(await use("u1", 50), null);
  assert.deepEqual(await values(), [["u1", 63, 0, 0], ["u2", 1, 7, 0]]);
});
