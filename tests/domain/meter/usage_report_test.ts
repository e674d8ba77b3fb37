// The chart, keys and figures of the usage page: nothing is lost, and the largest comes first.
import assert from "node:assert/strict";
import { microsToDecimal } from "../../../domain/meter/quantity.ts";
import {
  percentChange,
  reportChart,
  reportKeys,
  type ReportSum,
  reportTotals,
} from "../../../domain/meter/usage_report.ts";
import fc from "../../support/fast_check.ts";
import { holds } from "../properties.ts";

const million = 1_000_000n;
const sum = (position: number, productSlug: string, whole: bigint): ReportSum => ({
  position,
  productSlug,
  micros: whole * million,
  count: 1,
});

Deno.test("reportChart() stacks the largest product first, in every window", () => {
  const { series, windows } = reportChart([sum(0, "a", 1n), sum(0, "b", 5n), sum(2, "a", 3n)], 3);
  assert.deepEqual(series, ["b", "a"]);
  assert.deepEqual(windows, [
    { values: [5, 1], sums: ["5", "1"], total: "6" },
    { values: [0, 0], sums: ["0", "0"], total: "0" },
    { values: [0, 3], sums: ["0", "3"], total: "3" },
  ]);
});

Deno.test("reportChart() combines the smaller of more than four products in the last series", () => {
  const four = ["a", "b", "c", "d"].map((name, index) => sum(0, name, BigInt(10 - index)));
  assert.deepEqual(reportChart(four, 1).series, ["a", "b", "c", "d"]);
  const { series, windows } = reportChart([...four, sum(0, "others", 1n)], 1);
  assert.deepEqual(series, ["a", "b", "c", "2 others"]);
  assert.deepEqual(windows[0]?.sums, ["10", "9", "8", "8"]);
});

Deno.test("reportChart() has exact sums beyond safe integers", () => {
  const huge = 2n ** 53n + 1n;
  const { windows } = reportChart(
    [sum(0, "a", huge), { ...sum(0, "b", huge), micros: huge * million + 1n }],
    1,
  );
  assert.deepEqual(windows[0]?.sums, ["9007199254740993.000001", "9007199254740993"]);
  assert.equal(windows[0]?.total, "18014398509481986.000001");
});

Deno.test("reportKeys() adds up each key over all windows, largest first", () => {
  const keys = [
    { apiKey: "key_1", micros: million, count: 1 },
    { apiKey: "key_2", micros: 2n * million, count: 7 },
    { apiKey: "key_1", micros: 5n * million, count: 2 },
  ];
  assert.deepEqual(reportKeys(keys, 5), {
    most: [
      { apiKeyId: "key_1", sum: "6", share: 75, count: 3 },
      { apiKeyId: "key_2", sum: "2", share: 25, count: 7 },
    ],
    others: null,
    keys: 2,
  });
});

Deno.test("reportKeys() names one extra key and combines more of them", () => {
  const keys = (count: number) =>
    Array.from({ length: count }, (_one, index) => ({
      apiKey: `key_${index}`,
      micros: million,
      count: count - index,
    }));
  assert.equal(reportKeys(keys(3), 2).most.length, 3);
  const { most, others } = reportKeys(keys(4), 2);
  assert.deepEqual(most.map(({ apiKeyId }) => apiKeyId), ["key_0", "key_1"]);
  assert.deepEqual(others, { sum: "2", share: 50, count: 3, keys: 2 });
});

Deno.test("reportKeys() rounds shares to one decimal", () => {
  const keys = [1n, 2n].map((micros) => ({ apiKey: `key_${micros}`, micros, count: 1 }));
  assert.deepEqual(reportKeys(keys, 5).most.map(({ share }) => share), [66.7, 33.3]);
});

Deno.test("reportKeys() has no shares of a total of zero", () => {
  const { most } = reportKeys([{ apiKey: "key_1", micros: 0n, count: 3 }], 5);
  assert.deepEqual(most, [{ apiKeyId: "key_1", sum: "0", share: null, count: 3 }]);
});

Deno.test("reportKeys() shows usage without a key, but doesn't count it as one", () => {
  const sums = [{ apiKey: null, micros: 2_000_000n, count: 1 }, {
    apiKey: "key_1",
    micros: 1_000_000n,
    count: 1,
  }];
  const { most, keys } = reportKeys(sums, 5);
  assert.deepEqual(most.map(({ apiKeyId, sum }) => [apiKeyId, sum]), [[null, "2"], ["key_1", "1"]]);
  assert.equal(keys, 1);
  const more = [...sums.toReversed(), { apiKey: "key_2", micros: 3_000_000n, count: 1 }, {
    apiKey: "key_3",
    micros: 1n,
    count: 1,
  }];
  assert.equal(reportKeys(more, 1).others?.keys, 2);
});

Deno.test("the chart, the keys and the totals have the same sum", () => {
  const one = fc.record({
    position: fc.nat(4),
    productSlug: fc.constantFrom("a", "b", "c", "d", "e", "f", "g"),
    apiKey: fc.constantFrom("key_1", "key_2", "key_3", "key_4"),
    micros: fc.bigInt({ min: 0n, max: 2n ** 90n }),
    count: fc.nat(1000),
  });
  holds(fc.array(one, { maxLength: 40 }), (sums) => {
    const micros = (text: string) => {
      const [whole = "", fraction = ""] = text.split(".");
      return BigInt(whole) * million + BigInt(fraction.padEnd(6, "0"));
    };
    const all = (texts: readonly string[]) =>
      microsToDecimal(texts.reduce((sum, text) => sum + micros(text), 0n));
    const totals = reportTotals(sums);
    const { windows } = reportChart(sums, 5);
    assert.equal(all(windows.map(({ total }) => total)), totals.sum);
    assert.equal(all(windows.flatMap((window) => window.sums)), totals.sum);
    const { most, others } = reportKeys(sums, 2);
    const rows = others === null ? most : [...most, others];
    assert.equal(all(rows.map((row) => row.sum)), totals.sum);
    assert.equal(rows.reduce((count, row) => count + row.count, 0), totals.count);
    const highest = Math.max(0, ...windows.map((window) => Number(window.total)));
    assert.equal(Number(totals.busiest?.sum ?? 0), highest);
  });
});

Deno.test("percentChange() rounds to one decimal in both directions, and returns null after nothing", () => {
  assert.deepEqual(
    [
      percentChange(9n, 8n),
      percentChange(7n, 8n),
      percentChange(0n, 3n),
      percentChange(3n, 3n),
      percentChange(3n, 0n),
    ],
    [12.5, -12.5, -100, 0, null],
  );
  assert.equal(percentChange(2n, 3n), -33.3);
});
