// Prices for a quantity: what is typed, stored and shown again is equal.
import assert from "node:assert/strict";
import fc from "../../support/runner/fast_check.ts";
import { parsePrice } from "../../../domain/billing/price.ts";
import { pricedQuantity, priceFor, shownQuantity, unitPriceOf } from "../../../domain/billing/typed_price.ts";
import { typedDigits } from "../../../domain/number_text.ts";

const units = fc.constantFrom(
  ...[null, "bytes", "B", "Sec", "ms", "GB", "h", "minutes", "requests", "tokens", "m", "k", "5x", "people"],
);
const stored = fc.tuple(fc.integer({ min: 0, max: 10 ** 12 - 1 }), fc.integer({ min: 0, max: 10 ** 12 - 1 }))
  .map(([whole, decimals]) => parsePrice(`${whole}.${String(decimals).padStart(12, "0")}`) ?? "");
const small = fc.tuple(fc.integer({ min: 0, max: 9_999 }), fc.integer({ min: 0, max: 12 }))
  .map(([digits, places]) => decimalOf(digits, places));
const quantities = fc.oneof(
  fc.integer({ min: 1, max: 10 ** 9 }),
  fc.integer({ min: 1, max: 10 ** 9 }).map((micros) => Number(`${micros}e-6`)),
  fc.integer({ min: 0, max: 12 }).map((zeros) => 10 ** zeros),
);

/** Returns `digits` / 10^`places`. */
function decimalOf(digits: number, places: number): string {
  const text = String(digits).padStart(places + 1, "0");
  return parsePrice(places === 0 ? text : `${text.slice(0, -places)}.${text.slice(-places)}`) ?? "";
}

Deno.test("the price that a form shows is stored as it was", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(stored, small), { minLength: 1, maxLength: 3 }),
      units,
      fc.constantFrom(0, 2, 3),
      (prices, unit, places) => {
        const { size, text } = shownQuantity(prices, { unit, places });
        assert.equal(pricedQuantity(text, unit), size, text);
        for (const price of prices) {
          assert.deepEqual(unitPriceOf(typedDigits(priceFor(price, size)), size), { unitPrice: price });
        }
      },
    ),
    { numRuns: 2_000 },
  );
});

Deno.test("a price that can't be stored exactly lies between the two nearest ones that can", () => {
  fc.assert(
    fc.property(fc.oneof(stored, small), quantities, (amount, quantity) => {
      const found = unitPriceOf(amount, quantity);
      if (found === null) return;
      if ("unitPrice" in found) {
        assert.equal(priceFor(found.unitPrice, quantity), amount);
        return;
      }
      const [below, above] = found.nearest.map((nearest) => unitPriceOf(nearest, quantity));
      assert.ok(below && "unitPrice" in below && above && "unitPrice" in above);
      assert.equal(asPicos(above.unitPrice) - asPicos(below.unitPrice), 1n);
      const [low, high] = found.nearest.map(asAttos) as [bigint, bigint];
      assert.ok(low < asAttos(amount) && asAttos(amount) < high);
    }),
    { numRuns: 2_000 },
  );
});

const scaledBy = (places: number) => (price: string) => {
  const [whole = "", decimals = ""] = price.split(".");
  return BigInt(whole + decimals.padEnd(places, "0"));
};
const asPicos = scaledBy(12);
const asAttos = scaledBy(18);

Deno.test("prices are shown for the quantity that people use", () => {
  const cases: readonly [string[], string | null, string][] = [
    [["0.00000000009"], "bytes", "0.09 GB"],
    [["0.0004"], "requests", "0.4 1,000 requests"],
    [["0.000012", "0.000001"], "tokens", "12 1M tokens"],
    [["0.05"], "GB", "0.05 GB"],
    [["0.05"], "requests", "0.05 request"],
    [["0.0005"], "s", "0.03 min"],
    [["0.0000025"], null, "2.5 1M"],
    [["0.123456789012"], "requests", "0.123456789012 request"],
    [["0"], "bytes", "0 byte"],
    [["250"], "people", "250 person"],
  ];
  for (const [prices, unit, shown] of cases) {
    const { size, text } = shownQuantity(prices, { unit, places: 2 });
    assert.equal(`${priceFor(prices[0] ?? "", size)} ${text}`, shown);
  }
});

Deno.test("prices are read for quantities with and without a number", () => {
  const cases: readonly [string, string, string | null, string | null][] = [
    ["0.09", "GB", "bytes", "0.00000000009"],
    ["0.40", "1,000 requests", "requests", "0.0004"],
    ["12", "1M tokens", "tokens", "0.000012"],
    ["3.6", "hour", "s", "0.001"],
    ["1,250.5", "", "seats", "1250.5"],
    ["5", "0.5 GB", "bytes", "0.00000001"],
    ["1", "0", "requests", null],
    ["1", "GB", "requests", null],
    ["-1", "1", "requests", null],
    ["1e3", "1", "requests", null],
    ["1,5", "1", "requests", null],
    ["1000000000000", "1", null, null],
    ["1000000000000", "2", null, "500000000000"],
  ];
  for (const [amount, per, unit, unitPrice] of cases) {
    const quantity = pricedQuantity(per, unit);
    const found = quantity === null ? null : unitPriceOf(amount, quantity);
    assert.deepEqual(found, unitPrice === null ? null : { unitPrice }, `${amount} ${per}`);
  }
});
