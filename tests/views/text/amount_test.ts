// Amounts of money and prices, as people read them.
import assert from "node:assert/strict";
import { amountText, unitPriceText } from "../../../views/text/amount.ts";

Deno.test("amounts have the decimals of their currency, and at least two digits", () => {
  const cases = [
    ["1234.5", "EUR", "€1,234.50", null],
    ["0", "EUR", "€0.00", null],
    ["-0.125", "EUR", "−€0.13", "−0.125"],
    ["9.995", "EUR", "€10.00", "9.995"],
    ["1234567.004999", "USD", "$1,234,567.00", "1,234,567.004999"],
    ["-0.00094936", "EUR", "−€0.00095", "−0.00094936"],
    ["0.0099", "EUR", "€0.0099", null],
    ["1234.5", "JPY", "¥1,235", "1,234.5"],
    ["0.05", "JPY", "¥0.050", null],
    ["1.2345", "KWD", "KWD 1.235", "1.2345"],
  ] as const;
  for (const [amount, currency, text, exact] of cases) {
    assert.deepEqual(amountText(amount, currency), { text, exact }, amount);
  }
});

Deno.test("prices are those of the unit in which a quantity is shown", () => {
  const bytes = { name: "Data transfer", unit: "bytes" };
  const cases = [
    ["0.00000000009", "1940233112900", bytes, "€90.00 per TB", "€0.00000000009 per byte"],
    ["0.00000000009", "-21560000", bytes, "€0.00009 per MB", "€0.00000000009 per byte"],
    ["0.0011", "172800", { name: "Compute time", unit: "seconds" }, "€3.96 per h", "€0.0011 per s"],
    ["0.0004", "9672878.5", { name: "Requests", unit: null }, "€0.0004 per request", null],
    ["1.5", "3", { name: "Editors", unit: "people" }, "€1.50 per person", null],
    ["1.5", "3", { name: "Storage", unit: null }, "€1.50", null],
  ] as const;
  for (const [price, quantity, measure, text, exact] of cases) {
    assert.deepEqual(unitPriceText(price, { quantity, measure, currency: "EUR" }), { text, exact });
  }
});
