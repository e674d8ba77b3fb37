// The sparkline stays inside its box for any numbers.
import assert from "node:assert/strict";
import { holds } from "../../domain/properties.ts";
import fc from "../../support/fast_check.ts";
import { sparklinePath } from "../../../views/components/sparkline.tsx";

Deno.test("sparklinePath() spans its box from bottom to top", () => {
  assert.equal(sparklinePath([0, 5, 10]), "M1.5,22.5L48,12L94.5,1.5");
});

Deno.test("sparklinePath() lies at the bottom when every value is 0", () => {
  assert.equal(sparklinePath([0, 0]), "M1.5,22.5L94.5,22.5");
});

Deno.test("sparklinePath() is empty without values", () => {
  assert.equal(sparklinePath([]), "");
});

Deno.test("sparklinePath() stays inside its box", () => {
  holds(fc.array(fc.nat(), { minLength: 2, maxLength: 40 }), (values) => {
    const numbers = sparklinePath(values).match(/[\d.]+/g)?.map(Number) ?? [];
    assert.equal(numbers.length, 2 * values.length);
    for (const [index, number] of numbers.entries()) {
      assert.ok(number >= 1.5 && number <= (index % 2 ? 22.5 : 94.5));
    }
  });
});
