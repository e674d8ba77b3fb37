// The permutation that hides counts: the published test vector, both directions, and unrelated neighbors.
import assert from "node:assert/strict";
import fc from "../../support/runner/fast_check.ts";
import { createPermutation } from "../../../domain/meter/permutation.ts";

const key = fc.stringMatching(/^[0-9a-f]{24}$/);
const number = fc.integer({ min: 0, max: 2 ** 48 - 1 });

Deno.test("hide() returns the published result of Speck 48/96", () => {
  const { hide } = createPermutation("1a19181211100a0908020100");
  assert.equal(hide(0x6d2073_696874), "735e10b6445d");
});

Deno.test("reveal() inverts hide() for every key and number", () => {
  fc.assert(fc.property(key, number, (key, number) => {
    const { hide, reveal } = createPermutation(key);
    const hidden = hide(number);
    assert.match(hidden, /^[0-9a-f]{12}$/);
    assert.equal(reveal(hidden), number);
  }));
});

Deno.test("consecutive numbers are far apart, and another key places them differently", () => {
  const [one, other] = ["0123456789abcdef01234567", "0123456789abcdef01234568"].map(createPermutation);
  const distances = new Set<number>();
  for (let n = 1; n < 1_000; n++) {
    distances.add(Number(`0x${one?.hide(n + 1)}`) - Number(`0x${one?.hide(n)}`));
    assert.notEqual(one?.hide(n), other?.hide(n));
  }
  assert.equal(distances.size, 999);
});

Deno.test("rejects a malformed key", () => {
  for (const key of ["", "0123", "g".repeat(24), "A".repeat(24)]) assert.throws(() => createPermutation(key));
});
