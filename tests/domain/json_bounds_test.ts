// Bounds on the shape of input: names, values, fields and parameters are counted before they are parsed.
import assert from "node:assert/strict";
import { jsonValuesMax, objectKeysMax, queryParametersMax } from "../../domain/limits.ts";
import { checkJsonBounds } from "../../domain/json_bounds.ts";
import { AppError } from "../../domain/errors.ts";
import { assertError, createTestKey, testApp } from "../support/app/app.ts";
import fc from "../support/runner/fast_check.ts";

/** @returns Members such as `"n0":1,"n1":1`. */
function members(count: number): string {
  return Array.from({ length: count }, (_, index) => `"n${index}":1`).join(",");
}

function faultOf(text: string): { path: string; message: string } | null {
  try {
    checkJsonBounds(text);
    return null;
  } catch (error) {
    assert(error instanceof AppError);
    return error.details?.[0] ?? { path: "", message: error.message };
  }
}

Deno.test("reports the path of an object with too many names", () => {
  assert.equal(faultOf(`{${members(objectKeysMax)}}`), null);
  const many = `{${members(objectKeysMax + 1)}}`;
  const message = `must have at most ${objectKeysMax} names.`;
  assert.deepEqual(faultOf(many), { path: "", message });
  assert.deepEqual(faultOf(`{"records":[{},{"a":[1,2],"properties":${many}}]}`), {
    path: "records[1].properties",
    message,
  });
  assert.deepEqual(faultOf(`[{"a":{"b\\"}":1}},[],${many}]`), { path: "[2]", message });
  // Names are counted for each object. Text inside strings doesn't count.
  assert.equal(
    faultOf(`[${Array.from({ length: 50 }, () => `{${members(objectKeysMax)}}`).join(",")}]`),
    null,
  );
  assert.equal(faultOf(JSON.stringify({ a: `{${members(500)}}`.repeat(3), b: '\\"' })), null);
});

Deno.test("rejects too many values in total", () => {
  assert.equal(faultOf(`[${"1,".repeat(jsonValuesMax - 1)}1]`), null);
  assert.match(faultOf(`[${"1,".repeat(jsonValuesMax)}1]`)?.message ?? "", /values in total/);
  assert.match(faultOf(`[${"{},".repeat(jsonValuesMax)}{}]`)?.message ?? "", /values in total/);
});

Deno.test("accepts every JSON value within the bounds, and never fails on malformed text", () => {
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 10 }), (value) => {
    assert.equal(faultOf(JSON.stringify(value)), null);
  }));
  fc.assert(fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:\\a1') }), (text) => {
    faultOf(text);
  }));
});

testApp(
  "rejects thousands of names, fields, parameters or faults on every kind of endpoint",
  async (test) => {
    const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
    const headers = { "content-type": "application/json" };
    const send = (path: string, body: string) => test.send(path, { method: "POST", apiKey, body, headers });
    for (
      const [path, body, where] of [
        ["/api/v1/usage", `{${members(85_000)}}`, ""],
        ["/api/v1/usage/batch", `{"records":[{"properties":{${members(80_000)}}}]}`, "records[0].properties"],
        ["/api/auth/sign-in", `{${members(1_000)}}`, ""],
      ] as const
    ) {
      const { error } = await assertError(await send(path, body), 422, "validation_failed");
      assert.deepEqual(error.details, [{
        path: where,
        message: `must have at most ${objectKeysMax} names.`,
      }]);
    }
    const fields = Object.fromEntries(
      Array.from({ length: objectKeysMax + 1 }, (_, index) => [`f${index}`, "x"]),
    );
    const form = await test.send("/sign-in", { form: fields });
    assert.equal(form.status, 422);
    await form.body?.cancel();
    const query = "a=1&".repeat(queryParametersMax) + "b=1";
    for (const path of ["/api/auth/me", "/health/live", "/api/portal/usage"]) {
      await assertError(await test.send(`${path}?${query}`), 414, "uri_too_long");
    }
    const page = await test.send(`/portal/usage?${query}`);
    assert.equal(page.status, 414);
    // A long list of faults and long names in it are truncated.
    const records = Array.from({ length: 1_000 }, () => ({ ["x".repeat(500)]: 1 }));
    const { error } = await assertError(
      await test.send("/api/v1/usage/batch", { apiKey, json: { records } }),
      422,
      "validation_failed",
    );
    assert.equal(error.details?.length, 100);
    assert((error.details ?? []).every(({ path }) => path.length < 120));
  },
);
