// Quantities: which ones are accepted, and exact sums, compared with integer arithmetic.
import assert from "node:assert/strict";
import fc from "../../support/runner/fast_check.ts";
import {
  joinQuantity,
  lowBits,
  microsToDecimal,
  microsToNumber,
  parseQuantity,
  type Quantity,
  splitQuantity,
  sumMicros,
  type SumParts,
} from "../../../domain/meter/quantity.ts";
import { holds } from "../properties.ts";

const max = Number.MAX_SAFE_INTEGER;
const wholes = fc.oneof(
  fc.maxSafeNat(),
  fc.nat(1_000),
  fc.constantFrom(0, 1, 2 ** lowBits - 1, 2 ** lowBits, 2 ** 52, max),
);
const micros = fc.oneof(fc.nat(999_999), fc.constantFrom(0, 1, 10, 100_000, 999_999));
/** Parts whose decimal number has at most 15 digits, which is when a double keeps all of them. */
const splittable = fc.record({ whole: fc.nat(999_999_999), micro: micros }, { noNullPrototype: true });

/** @returns The decimal text that the caller sent. */
function decimal({ whole, micro }: Quantity): string {
  return `${whole}.${String(micro).padStart(6, "0")}`;
}

/** Sums quantities like the database: each part separately, in 64-bit integers. */
function addUp(quantities: readonly Quantity[]): SumParts {
  let [high, low, micro] = [0n, 0n, 0n];
  for (const quantity of quantities) {
    high += BigInt(quantity.whole) >> BigInt(lowBits);
    low += BigInt(quantity.whole) & ((1n << BigInt(lowBits)) - 1n);
    micro += BigInt(quantity.micro);
  }
  return { high: String(high), low: String(low), micro: String(micro) };
}

/** The same sum, computed naively. */
function obviousMicros(quantities: readonly Quantity[]): bigint {
  return quantities.reduce((sum, { whole, micro }) => sum + BigInt(whole) * 1_000_000n + BigInt(micro), 0n);
}

Deno.test("splitQuantity() reads a number by its decimal notation", () => {
  holds(splittable, (quantity) => assert.deepEqual(splitQuantity(Number(decimal(quantity))), quantity), {
    runs: 2_000,
  });
  assert.deepEqual(splitQuantity(0.1), { whole: 0, micro: 100_000 });
  assert.deepEqual(splitQuantity(0.000001), { whole: 0, micro: 1 });
  assert.deepEqual(splitQuantity(1.000001), { whole: 1, micro: 1 });
  assert.deepEqual(splitQuantity(4.35), { whole: 4, micro: 350_000 });
  assert.deepEqual(splitQuantity(1e3), { whole: 1_000, micro: 0 });
});

Deno.test("splitQuantity() reads minus zero as zero", () => {
  const zero = splitQuantity(-0);
  assert.ok(Object.is(zero?.whole, 0) && Object.is(zero?.micro, 0));
});

Deno.test("splitQuantity() rejects negative, infinite, too large and too precise numbers", () => {
  const bad = [
    ...[-1, -0.1, -1e-9, NaN, Infinity, -Infinity, max + 1, 1e300, Number.MAX_VALUE],
    ...[1e-7, 9.9e-7, 0.0000001, 1.0000001, 0.1234567, 0.1 + 0.2, Number.MIN_VALUE, 1.5e-6, 123456.1234567],
  ];
  for (const value of bad) assert.equal(splitQuantity(value), null, String(value));
});

Deno.test("splitQuantity() either rejects a number or loses nothing", () => {
  holds(fc.double(), (value) => {
    const quantity = splitQuantity(value);
    if (quantity === null) return;
    assert.ok(Number.isSafeInteger(quantity.whole) && quantity.whole >= 0);
    assert.ok(Number.isInteger(quantity.micro) && quantity.micro >= 0 && quantity.micro < 1_000_000);
    assert.equal(joinQuantity(quantity), value + 0);
  }, { runs: 2_000 });
});

Deno.test("parseQuantity() keeps every digit and accepts what splitQuantity() accepts", () => {
  holds(fc.record({ whole: fc.nat(max - 1), micro: micros }, { noNullPrototype: true }), (quantity) => {
    assert.deepEqual(parseQuantity(decimal(quantity)), quantity);
    assert.deepEqual(parseQuantity(`${decimal(quantity)}000`), quantity);
  });
  holds(fc.double({ min: 0, max, noNaN: true }), (value) => {
    if (!/e/.test(String(value))) assert.deepEqual(parseQuantity(String(value)), splitQuantity(value));
  });
  assert.deepEqual(parseQuantity(String(max)), { whole: max, micro: 0 });
  const rejected = [
    `${max}.000001`,
    "9007199254740992",
    "9007199254740993",
    "1e3",
    "-1",
    "+1",
    "",
    " 1",
    "1.",
    ".5",
  ];
  for (const text of [...rejected, "1.0000001", "0x1", "1,5", "NaN", "١", "1\n"]) {
    assert.equal(parseQuantity(text), null, text);
  }
});

Deno.test("joinQuantity() returns the number that was split", () => {
  holds(fc.oneof(wholes, splittable.map((quantity) => Number(decimal(quantity)))), (value) => {
    assert.equal(joinQuantity(splitQuantity(value) ?? assert.fail(`rejected ${value}`)), value);
  }, { runs: 2_000 });
});

Deno.test("sumMicros() is exact: the sum of the parts is the sum of the quantities", () => {
  holds(fc.array(fc.record({ whole: wholes, micro: micros }), { maxLength: 200 }), (quantities) => {
    assert.equal(sumMicros(addUp(quantities)), obviousMicros(quantities));
  });
});

Deno.test("sumMicros() is exact beyond 64 bits while its parts fit into 64 bits", () => {
  const records = 2n ** 36n;
  const largest = addUp([{ whole: max, micro: 999_999 }]);
  const times = (text: string) => BigInt(text) * records;
  for (const part of [largest.high, largest.low, largest.micro]) assert.ok(times(part) < 2n ** 63n);
  const parts = {
    high: `${times(largest.high)}`,
    low: `${times(largest.low)}`,
    micro: `${times(largest.micro)}`,
  };
  assert.equal(sumMicros(parts), records * obviousMicros([{ whole: max, micro: 999_999 }]));
});

Deno.test("microsToDecimal() is exact and has no trailing zeros", () => {
  assert.equal(microsToDecimal(0n), "0");
  assert.equal(microsToDecimal(1n), "0.000001");
  assert.equal(microsToDecimal(250_000n), "0.25");
  assert.equal(microsToDecimal(1_000_000n), "1");
  assert.equal(microsToDecimal(10_500_000n), "10.5");
  holds(fc.bigInt({ min: 0n, max: 10n ** 40n }), (sum) => {
    const text = microsToDecimal(sum);
    assert.match(text, /^(0|[1-9]\d*)(\.\d{0,5}[1-9])?$/);
    const [whole = "", rest = ""] = text.split(".");
    assert.equal(BigInt(whole) * 1_000_000n + BigInt(rest.padEnd(6, "0")), sum);
  });
});

Deno.test("microsToNumber() is exact for integers up to 2^53 - 1, and the nearest number otherwise", () => {
  holds(wholes, (whole) => assert.equal(microsToNumber(BigInt(whole) * 1_000_000n), whole));
  holds(
    splittable,
    (quantity) => assert.equal(microsToNumber(obviousMicros([quantity])), Number(decimal(quantity))),
  );
  assert.equal(microsToNumber((2n ** 53n + 1n) * 1_000_000n), 2 ** 53);
  assert.equal(microsToNumber((2n ** 53n + 1n) * 1_000_000n + 1n), 2 ** 53 + 2);
});
