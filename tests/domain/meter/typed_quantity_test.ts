// Quantities as people type them.
import assert from "node:assert/strict";
import fc from "../../support/runner/fast_check.ts";
import { parseTypedQuantity, quantityFault, typedQuantity } from "../../../domain/meter/typed_quantity.ts";
import { quantityText, quantityWords } from "../../../views/text/quantity.ts";

const units = fc.constantFrom(null, "bytes", "B", "s", "seconds", "ms", "GB", "h", "requests", "m", "people");
/** Up to 2^53−1 with up to six decimal places. */
const quantities = fc.oneof(
  fc.maxSafeNat(),
  fc.integer({ min: 0, max: 10 ** 9 }).map((micros) => Number(`${micros}e-6`)),
  fc.tuple(fc.nat(99_999), fc.integer({ min: 0, max: 10 })).map(([n, zeros]) => n * 10 ** zeros),
);

Deno.test("the text of a field is read as the quantity that it shows", () => {
  fc.assert(
    fc.property(quantities, units, (quantity, unit) => {
      assert.equal(parseTypedQuantity(typedQuantity(quantity, unit), unit), quantity);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("quantities as pages show them are read, unless they are rounded", () => {
  const words = (quantity: number, unit: string | null) => {
    const measure = { name: "Usage", unit };
    const { exact, number } = quantityText(quantity, measure);
    return exact === null || /^\d+$/.test(number) ? quantityWords(quantity, measure) : null;
  };
  fc.assert(
    fc.property(quantities, units, (quantity, unit) => {
      const text = words(quantity, unit);
      fc.pre(
        text !== null && !text.includes("PB") && quantityText(quantity, { name: "", unit }).exact === null,
      );
      assert.equal(parseTypedQuantity(text ?? "", unit), quantity);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("units, magnitudes and commas are understood in upper and lower case", () => {
  const cases: readonly [string, string | null, number | null][] = [
    ["5 TB", "bytes", 5e12],
    ["5tb", "B", 5e12],
    [" 1.5 GB ", "bytes", 1.5e9],
    ["500,000", "bytes", 500_000],
    ["5 TB", "GB", 5_000],
    ["5", "GB", 5],
    ["2 h", "seconds", 7_200],
    ["1.5 days", "s", 129_600],
    ["90 min", "h", 1.5],
    ["1 min", "h", null],
    ["15M", "requests", 15e6],
    ["15 m requests", "requests", 15e6],
    ["1 request", "requests", 1],
    ["1.5k", null, 1_500],
    ["2bn", "tokens", 2e9],
    ["3 m", "m", 3],
    ["3M", "m", 3e6],
    ["0.1", null, 0.1],
    ["0.0000001", null, null],
    ["0.0000001M", null, 0.1],
    ["9007199254740991", null, Number.MAX_SAFE_INTEGER],
    ["9007199254740992", null, null],
    ["4503599627370497.3", null, null],
    ["5 Gb", "Gb", 5],
    ...["", "lots", "-1", "1,5", "1.000.000", "1e5", "NaN", "5 TB", "1 2", "9".repeat(100)]
      .map((text): [string, string, null] => [text, "requests", null]),
    ["15M", "s", null],
  ];
  for (const [text, unit, quantity] of cases) {
    assert.equal(parseTypedQuantity(text, unit), quantity, `${text} in ${unit}`);
  }
});

Deno.test("the message names examples that are understood", () => {
  for (const unit of [null, "requests", "bytes", "GB", "s", "ms"]) {
    const [, examples = ""] = /such as (.*?), with/.exec(quantityFault(unit)) ?? [];
    for (const example of examples.split(/, (?=\d+\S* ?\w* or)| or /)) {
      assert.notEqual(parseTypedQuantity(example, unit), null, `${example} in ${unit}`);
    }
  }
});

Deno.test("fields have the largest unit that a quantity fits", () => {
  assert.deepEqual(
    [[5e12, "bytes"], [1.5e9, "B"], [2_410_233_112_900, "bytes"], [7_200, "s"], [90, "s"], [15e6, "requests"]]
      .map(([quantity, unit]) => typedQuantity(Number(quantity), String(unit))),
    ["5 TB", "1.5 GB", "2,410,233,112,900", "2 h", "1.5 min", "15,000,000"],
  );
});
