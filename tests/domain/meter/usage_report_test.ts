// Tables and stacks of the usage page: nothing is lost, and the largest comes first.
import assert from "node:assert/strict";
import {
  percentChange,
  percentOf,
  reportLines,
  reportStack,
  stackOf,
} from "../../../domain/meter/usage_report.ts";

const million = 1_000_000n;
const sum = (id: string | null, whole: bigint, count = 1) => ({ id, micros: whole * million, count });

Deno.test("reportLines() adds up and compares each, largest first, also those that were used only before", () => {
  const now = [sum("a", 1n), sum("b", 2n, 7), sum("a", 5n, 2)];
  assert.deepEqual(reportLines(now, [sum("b", 4n), sum("c", 1n)]), [
    { id: "a", sum: "6", share: 75, change: null, records: 3 },
    { id: "b", sum: "2", share: 25, change: -50, records: 7 },
    { id: "c", sum: "0", share: 0, change: -100, records: 0 },
  ]);
});

Deno.test("reportLines() rounds shares to one decimal, and has none of a total of zero", () => {
  const shares = reportLines([sum("a", 1n), sum("b", 2n)], []).map(({ share }) => share);
  assert.deepEqual(shares, [66.7, 33.3]);
  assert.equal(reportLines([sum("a", 0n, 3)], [])[0]?.share, null);
});

Deno.test("stackOf() has a series for each named part, one for all others, and for a single other one its own", () => {
  const sums = [{ ...sum("a", 3n), position: 0 }, { ...sum("b", 1n), position: 1 }];
  const totals = [5n * million, 4n * million];
  const lines = reportLines([sum("c", 3n), sum(null, 2n)], []);
  const { series, others, windows } = stackOf(sums, { named: ["a", "b"], others: lines, totals });
  assert.deepEqual(series, ["a", "b"]);
  assert.equal(others, 2);
  assert.deepEqual(windows, [
    { values: [3, 0, 2], sums: ["3", "0", "2"], total: "5" },
    { values: [0, 1, 3], sums: ["0", "1", "3"], total: "4" },
  ]);
  const one = stackOf(sums, { named: ["a", "b"], others: lines.slice(0, 1), totals });
  assert.deepEqual([one.series, one.others], [["a", "b", "c"], 0]);
  const none = stackOf(sums, { named: ["a", "b"], others: [], totals: [3n * million, million] });
  assert.deepEqual(none.windows.map(({ sums }) => sums), [["3", "0"], ["0", "1"]]);
});

Deno.test("stackOf() shows no others below zero, if records arrived between two reads", () => {
  const others = reportLines([sum("b", 1n)], []);
  const { windows } = stackOf([{ ...sum("a", 3n), position: 0 }], {
    named: ["a"],
    others,
    totals: [2n * million],
  });
  assert.deepEqual(windows[0]?.sums, ["3", "0"]);
});

const part = (position: number, part: string, whole: bigint) => ({ position, part, micros: whole * million });

Deno.test("reportStack() has a series for each named part that was used, in their order", () => {
  const stack = reportStack([part(0, "a", 1n), part(0, "b", 5n), part(2, "a", 3n)], {
    windows: 3,
    named: ["a", "unused", "b"],
  });
  assert.deepEqual(stack, {
    series: ["a", "b"],
    others: 0,
    windows: [
      { values: [1, 5], sums: ["1", "5"], total: "6" },
      { values: [0, 0], sums: ["0", "0"], total: "0" },
      { values: [3, 0], sums: ["3", "0"], total: "3" },
    ],
  });
});

Deno.test("reportStack() adds up and counts several other parts, but keeps a single one", () => {
  const sums = [part(0, "a", 1n), part(0, "x", 2n), part(1, "y", 3n), part(0, "x", 4n)];
  const { series, others, windows } = reportStack(sums, { windows: 2, named: ["a"] });
  assert.deepEqual(series, ["a"]);
  assert.equal(others, 2);
  assert.deepEqual(windows.map((window) => window.sums), [["1", "6"], ["0", "3"]]);
  const single = reportStack(sums, { windows: 2, named: ["a", "x"] });
  assert.deepEqual([single.series, single.others], [["a", "x", "y"], 0]);
});

Deno.test("reportStack() has exact sums beyond safe integers", () => {
  const huge = 2n ** 53n + 1n;
  const { windows } = reportStack(
    [part(0, "a", huge), { ...part(0, "b", huge), micros: huge * million + 1n }],
    { windows: 1, named: ["b", "a"] },
  );
  assert.deepEqual(windows[0]?.sums, ["9007199254740993.000001", "9007199254740993"]);
  assert.equal(windows[0]?.total, "18014398509481986.000001");
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
  // Neither is nothing.
  assert.deepEqual([percentChange(10_001n, 10_000n), percentChange(9_999n, 10_000n)], [0.05, -0.05]);
  assert.deepEqual([percentOf(1n, 10_000n), percentOf(0n, 10_000n)], [0.05, 0]);
});
