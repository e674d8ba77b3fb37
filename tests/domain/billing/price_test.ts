// Prices and amounts.
import assert from "node:assert/strict";
import { microsToDecimal } from "../../../domain/meter/quantity.ts";
import { addAmount, amountToDecimal, parsePrice, sumAmounts } from "../../../domain/billing/price.ts";
import { catalogueOrder } from "../../../domain/meter/product.ts";
import fc from "../../support/runner/fast_check.ts";
import { holds } from "../properties.ts";

Deno.test("a price is a decimal with up to 12 digits before and after the point, written in one way", () => {
  const written = { "0": "0", "00.50": "0.5", "12": "12", "0.000000000001": "0.000000000001" };
  for (const [text, price] of Object.entries(written)) assert.equal(parsePrice(text), price, text);
  const largest = "999999999999.999999999999";
  assert.equal(parsePrice(largest), largest);
  for (
    const text of ["", "-1", "+1", "1.", ".5", "1e3", "1,5", " 1", "1000000000000", "0.0000000000001", "٣"]
  ) {
    assert.equal(parsePrice(text), null, text);
  }
});

Deno.test("amounts are exact, and their sum is the amount of the total at one price", () => {
  const amountOf = (micros: bigint, unitPrice: string | null) =>
    amountToDecimal(addAmount(null, { micros, unitPrice }));
  assert.equal(amountOf(1n, "0.000000000001"), "0.000000000000000001");
  assert.equal(amountOf(-2_500_000n, "0.1"), "-0.25");
  assert.equal(
    amountOf(9_007_199_254_740_991_000_001n, "999999999999.5"),
    "9007199254736487400373629504.4999995",
  );
  assert.equal(amountOf(1n, null), null);
  const micros = fc.bigInt({ min: -(10n ** 22n), max: 10n ** 22n });
  const price = fc.bigInt({ min: 0n, max: 10n ** 24n - 1n }).map((units) => {
    const digits = String(units).padStart(13, "0");
    return parsePrice(`${digits.slice(0, -12)}.${digits.slice(-12)}`) ?? "";
  });
  holds(fc.tuple(price, fc.array(micros, { minLength: 1, maxLength: 20 })), ([unitPrice, lines]) => {
    const sum = lines.reduce<bigint | null>((sum, micros) => addAmount(sum, { micros, unitPrice }), null);
    const total = lines.reduce((sum, line) => sum + line);
    assert.equal(amountToDecimal(sum), amountOf(total, unitPrice));
    // Without a price of its own, a line changes nothing; the price of one is the quantity.
    assert.equal(addAmount(sum, { micros: 5n, unitPrice: null }), sum);
    assert.equal(amountOf(total, "1"), microsToDecimal(total));
  });
});

Deno.test("usage is in the order of the catalogue, and by slug where it has none", () => {
  const metric = (slug: string) => ({
    slug,
    name: slug,
    unit: null,
    unitPrice: null,
    dimensions: [],
    shareable: [],
    aggregation: "sum" as const,
    uniqueProperty: null,
  });
  const compare = catalogueOrder([
    { slug: "tiles", metrics: [metric("requests"), metric("bytes")] },
    { slug: "maps", metrics: [] },
  ]);
  const names = ["a x", "a y", "maps b", "tiles a", "tiles bytes", "tiles requests"];
  const sorted = names.map((name) => {
    const [productSlug = "", metric = ""] = name.split(" ");
    return { productSlug, metric };
  }).sort(compare);
  assert.deepEqual(sorted.map(({ productSlug, metric }) => `${productSlug} ${metric}`), [
    "tiles requests",
    "tiles bytes",
    "tiles a",
    "maps b",
    "a x",
    "a y",
  ]);
});

Deno.test("decimal texts of amounts add up exactly", () => {
  const sums = fc.array(fc.option(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n })));
  holds(sums, (sums) => {
    const known = sums.filter((sum) => sum !== null);
    const total = known.length === 0 ? null : known.reduce((a, b) => a + b, 0n);
    assert.equal(sumAmounts(sums.map(amountToDecimal)), amountToDecimal(total));
  });
});
