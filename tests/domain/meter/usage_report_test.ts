// Stacks of charts: nothing is lost, and the largest comes first.
import assert from "node:assert/strict";
import { percentChange, reportStack } from "../../../domain/meter/usage_report.ts";

const million = 1_000_000n;

const part = (position: number, part: string, whole: bigint) => ({ position, part, micros: whole * million });

Deno.test("reportStack() has a series for each named part that was used, in their order", () => {
  const stack = reportStack([part(0, "a", 1n), part(0, "b", 5n), part(2, "a", 3n)], {
    windows: 3,
    named: ["a", "unused", "b"],
  });
  assert.deepEqual(stack, {
    series: ["a", "b"],
    others: null,
    windows: [
      { values: [1, 5], sums: ["1", "5"], total: "6" },
      { values: [0, 0], sums: ["0", "0"], total: "0" },
      { values: [3, 0], sums: ["3", "0"], total: "3" },
    ],
  });
});

Deno.test("reportStack() adds up several other parts and names them, largest first, but keeps a single one", () => {
  const sums = [part(0, "a", 1n), part(0, "x", 2n), part(1, "y", 3n), part(0, "x", 4n)];
  const { series, others, windows } = reportStack(sums, { windows: 2, named: ["a"] });
  assert.deepEqual(series, ["a"]);
  assert.deepEqual(others, { count: 2, largest: [{ part: "x", sum: "6" }, { part: "y", sum: "3" }] });
  assert.deepEqual(windows.map((window) => window.sums), [["1", "6"], ["0", "3"]]);
  const single = reportStack(sums, { windows: 2, named: ["a", "x"] });
  assert.deepEqual([single.series, single.others], [["a", "x", "y"], null]);
});

Deno.test("reportStack() names at most 50 of the others, and counts all", () => {
  const sums = Array.from({ length: 60 }, (_, index) => part(0, `p${index}`, BigInt(index)));
  const { others } = reportStack(sums, { windows: 1, named: [] });
  assert.deepEqual([others?.count, others?.largest.length, others?.largest[0]?.part], [60, 50, "p59"]);
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
});
