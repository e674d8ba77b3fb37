// Keys that another system issued, and their import.
import assert from "node:assert/strict";
import { hash, randomBytes } from "node:crypto";
import type { TestApp } from "../app/app.ts";
import { asOperator } from "./operator_api.ts";
import { newOperatorToken } from "./operators.ts";

/** A record that {@linkcode importScene} sends. */
export const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };
/** A key as Unkey issues it. */
export const newKey = () => `acme_${randomBytes(16).toString("base64url")}`;
/** The hash by which a key is imported. */
export const hex = (key: string) => hash("sha256", key, "hex");

/** Sends imports of keys as an operator, and requests with them. */
export async function importScene(test: TestApp) {
  const { fullToken } = await newOperatorToken(test);
  const send = asOperator(test, fullToken);
  const entry = (key: string, more: Record<string, unknown> = {}) => ({
    name: "Production",
    sha256: hex(key),
    prefix: key.slice(0, 9),
    ...more,
  });
  return {
    send,
    entry,
    async importKeys(keys: readonly unknown[]) {
      const { status, body } = await send("POST /api-keys/import", { keys });
      assert.equal(status, 201, JSON.stringify(body));
      return body;
    },
    async verify(key: string, more: Record<string, unknown> = {}) {
      return await (await test.send("/api/v1/keys/verify", { apiKey: fullToken, json: { key, ...more } }))
        .json();
    },
    record: (apiKey: string) => test.send("/api/v1/usage", { apiKey, json: usage }),
  };
}
