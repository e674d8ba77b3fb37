// Verification of a key with a list of usages, which may be recorded or held.
import assert from "node:assert/strict";
import { createTestKey, type TestApp } from "../app/app.ts";
import { asOperator } from "../operators/operator_api.ts";
import { newOperatorToken } from "../operators/operators.ts";
import { run } from "../people/scene.ts";
import { addLimit } from "./limits.ts";

export const requests = { productSlug: "models", metric: "requests", quantity: 1 };
export const tokens = { productSlug: "models", metric: "tokens", quantity: 400 };
export const dollars = { productSlug: "models", metric: "dollars", quantity: 0.02 };

/** A key that may not record, and a token that verifies it. */
export async function verifiedScene(test: TestApp) {
  const person = await test.signUp();
  const { id, fullKey } = await createTestKey(test, person);
  const reader = await createTestKey(test, person);
  await run(test, "UPDATE api_keys SET permissions = '[]' WHERE id = ?", id);
  const { fullToken } = await newOperatorToken(test, ["keys:verify"]);
  const send = (question: object) =>
    test.send("/api/v1/keys/verify", { apiKey: fullToken, json: { key: fullKey, ...question } });
  const ask = async (question: object) => {
    const response = await send(question);
    assert.equal(response.status, 200, await response.clone().text());
    return await response.json();
  };
  const get = async (path: string) => await (await test.send(path, { apiKey: reader.fullKey })).json();
  return {
    person,
    id,
    apiKey: fullKey,
    reader,
    send,
    ask,
    verifier: asOperator(test, fullToken),
    addLimit: (metric: string, quantity: number, more: object = {}) =>
      addLimit(test, {}, { productSlug: "models", metric, per: "day", quantity, mode: "hard", ...more }),
    records: async () => (await get("/api/v1/usage/records")).usageRecords,
    standings: async () =>
      Object.fromEntries((await get("/api/v1/limits")).limits.map((
        { metric, used, held }: Record<string, unknown>,
      ) => [metric ?? "all", [used, held]])),
  };
}
