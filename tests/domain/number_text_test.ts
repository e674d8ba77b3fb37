// Numbers in words: grouped exactly, short on axes.
import assert from "node:assert/strict";
import { holds } from "./properties.ts";
import fc from "../support/runner/fast_check.ts";
import { axisNumber, groupDigits, percentText } from "../../domain/number_text.ts";

for (
  const [value, text] of [
    [0, "0"],
    [999, "999"],
    [1000, "1,000"],
    [-1234567.5, "-1,234,567.5"],
    [0.000001, "0.000001"],
    ["9007199254740991.000001", "9,007,199,254,740,991.000001"],
    ["123456789012345678901234", "123,456,789,012,345,678,901,234"],
    ["1,234", "1,234"],
    ["none", "none"],
    ["", ""],
  ] as const
) {
  Deno.test(`groupDigits(${JSON.stringify(value)}) is "${text}"`, () => {
    assert.equal(groupDigits(value), text);
  });
}

Deno.test("groupDigits() adds commas and nothing else", () => {
  holds(fc.tuple(fc.bigInt({ min: 0n }), fc.nat(999_999)), ([whole, fraction]) => {
    const text = `${whole}.${fraction}`;
    const grouped = groupDigits(text);
    assert.equal(grouped.replaceAll(",", ""), text);
    assert.match(grouped, /^\d{1,3}(,\d{3})*\.\d+$/);
  });
});

for (
  const [value, largest, text] of [
    [0, 20_000, "0"],
    [500, 2_000, "0.5k"],
    [15_000, 20_000, "15k"],
    [15_000, 1_500_000, "0.015M"],
    [2_500_000, 3_000_000, "2.5M"],
    [0.2, 1, "0.2"],
    [750, 999, "750"],
    [9e15, 1e16, "9,000T"],
  ] as const
) {
  Deno.test(`axisNumber(${value}) is "${text}" on an axis up to ${largest}`, () => {
    assert.equal(axisNumber(value, largest), text);
  });
}

for (const [percent, text] of [[12.44, "12.4%"], [-3, "3%"], [1234.5, "1,235%"], [0.04, "0%"]] as const) {
  Deno.test(`percentText(${percent}) is "${text}"`, () => {
    assert.equal(percentText(percent), text);
  });
}
