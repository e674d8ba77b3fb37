// Requests of the filled portal that are rejected.
import assert from "node:assert/strict";
import { keyOf, type Scene } from "./scene.ts";

const geocoding = { productSlug: "geocoding", metric: "requests", quantity: 1 };

/** Sends requests with a key that are rejected: invalid ones or, with a key or at a time that allows none, valid ones. */
export function rejected(name: string, { count, isValid = false }: { count: number; isValid?: boolean }) {
  return async (scene: Scene) => {
    const { fullKey: apiKey } = keyOf(scene, name);
    for (let n = 0; n < count; n++) {
      const json = isValid ? geocoding : { ...geocoding, quantity: -1 };
      const { status } = await scene.test.send("/api/v1/usage", { apiKey, json });
      assert.ok(status >= 400 && status < 500, `${name}: ${status}`);
    }
  };
}
