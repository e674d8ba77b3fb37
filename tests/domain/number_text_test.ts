// Numbers in words: grouped exactly, short on axes.
import assert from "node:assert/strict";
import { holds } from "./properties.ts";
import fc from "../support/runner/fast_check.ts";
import { dateFormat, localDecimal, type Locale, locales, negotiatedLocale } from "../../domain/locale.ts";
import { axisNumber, groupDigits, percentText, usedPercentText } from "../../domain/number_text.ts";
import { presentation, presentedIn } from "../../domain/presentation.ts";

const plain = presentation();

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

for (
  const [percent, text] of [
    [0, "0%"],
    [0.04, "<0.1%"],
    [-3, "3%"],
    [12.44, "12.4%"],
    [99.96, "100%"],
    [999.4, "999%"],
    [999.5, "10×"],
    [1_000, "10×"],
    [2_113_460, "21,135×"],
  ] as const
) {
  Deno.test(`percentText(${percent}) is "${text}"`, () => {
    assert.equal(percentText(percent), text);
  });
}

Deno.test("percentText() keeps the decimal place of a column, and usedPercentText() says 100% only of all", () => {
  assert.deepEqual([0, 4, 100].map((one) => percentText(one, { always: true })), ["0.0%", "4.0%", "100%"]);
  assert.deepEqual([0, 0.4, 99.9, 100, 250].map(usedPercentText), ["0%", "<1%", "99%", "100%", "250%"]);
});

Deno.test("numbers are written in the reader's format, with latin digits and without losing any", () => {
  const shown = (locale: Locale) =>
    presentedIn({ ...plain, locale }, () => [
      groupDigits("9672878"),
      groupDigits("-9007199254740993.000001"),
      groupDigits("1.50"),
      percentText(12.4),
      percentText(2_113_460),
    ]);
  assert.deepEqual(shown("de"), [
    "9.672.878",
    "-9.007.199.254.740.993,000001",
    "1,50",
    "12,4\u00a0%",
    "21.135×",
  ]);
  assert.deepEqual(shown("de-CH").slice(0, 2), ["9’672’878", "-9’007’199’254’740’993.000001"]);
  assert.deepEqual(shown("ja"), shown("en-US"));
  assert.equal(shown("en-IN")[0], "96,72,878");
});

for (
  const [header, locale] of [
    [undefined, "en-US"],
    ["", "en-US"],
    ["*", "en-US"],
    ["en", "en-US"],
    ["en-NZ,en;q=0.9", "en-GB"],
    ["de-LI, en;q=0.9", "de"],
    ["tlh, de;q=0.5, fr;q=0.7", "fr"],
    ["de;q=0, ja;q=0.1", "ja"],
    ["zh-Hant-HK", "zh-TW"],
    ["ar-EG", "en-US"],
    ["de-u-nu-arab-ca-buddhist", "de"],
    [`${"x-".repeat(5_000)}, de`, "en-US"],
  ] as const
) {
  Deno.test(`negotiatedLocale(${JSON.stringify(header?.slice(0, 40))}) is ${locale}`, () => {
    assert.equal(negotiatedLocale(header), locale);
  });
}

Deno.test("every locale writes latin digits and Gregorian years", () => {
  for (const locale of locales) {
    assert.match(localDecimal("1234567.5", locale).replaceAll(/\D/g, ""), /^12345675$/);
    assert.match(dateFormat(locale, "shortDate").format(Date.UTC(2026, 10, 20)), /2026/);
  }
});
