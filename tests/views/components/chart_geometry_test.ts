// The chart's geometry: bars stay inside the drawing, heights are proportional, and labels fit.
import assert from "node:assert/strict";
import { holds } from "../../domain/properties.ts";
import fc from "../../support/runner/fast_check.ts";
import { chartGeometry, type ChartWindow, sum } from "../../../views/components/chart_geometry.ts";
import type { Measure } from "../../../views/text/quantity.ts";
import type { WindowUnit } from "../../../domain/meter/usage_window.ts";
import { windowNames } from "../../../views/text/zone.ts";

const [hour, day] = [3_600_000, 86_400_000];
const stepMs: Readonly<Record<WindowUnit, number>> = {
  ...{ hour, "4h": 4 * hour, "6h": 6 * hour },
  ...{ day, week: 7 * day, month: 30 * day },
};
const measure = { name: "Requests", unit: null };
const now = Date.parse("2026-11-21T14:05:11Z");

function windows(by: WindowUnit, start: string, values: readonly (readonly number[])[]): ChartWindow[] {
  const starts = values.map((_one, index) => Date.parse(start) + index * stepMs[by]);
  const names = windowNames(starts.map((ms) => ({ start: ms, end: ms + stepMs[by] })), {
    unit: by,
    timezone: "UTC",
    now,
  });
  return names.map((name, index) => ({ ...name, values: values[index] ?? [] }));
}

function texts(by: WindowUnit, start: string, count: number): { wide: string[]; narrow: string[] } {
  const { labels } = chartGeometry(windows(by, start, Array(count).fill([1])), { by: by, measure });
  return {
    wide: labels.map((label) => label.text),
    narrow: labels.filter((label) => !label.isWideOnly).map((label) => label.text),
  };
}

Deno.test("chartGeometry() draws heights in proportion and stacks them without gaps", () => {
  const { bars, lines } = chartGeometry(
    windows("day", "2026-11-01", [[15_000, 5_000], [0, 10_000], [0, 0]]),
    { by: "day", measure },
  );
  assert.deepEqual(bars.map((bar) => bar.segments), [
    [{ series: 0, y: 25, height: 75 }, { series: 1, y: 0, height: 25 }],
    [{ series: 1, y: 50, height: 50 }],
    [],
  ]);
  assert.deepEqual(lines, [
    { y: 100, text: "0" },
    { y: 75, text: "5k" },
    { y: 50, text: "10k" },
    { y: 25, text: "15k" },
    { y: 0, text: "20k" },
  ]);
});

Deno.test("chartGeometry() keeps every bar inside, left to right, for any numbers", () => {
  const value = fc.oneof(fc.constant(0), fc.nat().map((micros) => micros / 1e6), fc.maxSafeNat());
  const bars = fc.array(fc.tuple(value, value, value, value), { minLength: 1, maxLength: 200 });
  holds(bars, (values) => {
    const geometry = chartGeometry(windows("hour", "2026-11-01", values), { by: "hour", measure });
    assert.equal(geometry.bars.length, values.length);
    let right = 0;
    for (const bar of geometry.bars) {
      assert.ok(bar.x >= right - 0.02 && bar.width > 0 && bar.x + bar.width <= 100.02);
      right = bar.x + bar.width;
      for (const { y, height } of bar.segments) assert.ok(y >= 0 && height >= 0 && y + height <= 100.02);
    }
  });
});

Deno.test("chartGeometry() draws an axis and no bars when every value is 0", () => {
  const { bars, lines } = chartGeometry(windows("day", "2026-11-01", [[0], [0]]), { by: "day", measure });
  assert.deepEqual(bars.map((bar) => bar.segments), [[], []]);
  assert.equal(lines[0]?.text, "0");
});

Deno.test("chartGeometry() accepts an empty list of windows", () => {
  const geometry = chartGeometry([], { by: "day", measure });
  assert.deepEqual([geometry.bars, geometry.labels], [[], []]);
});

Deno.test("chartGeometry() labels a month every four days, and four of them on a phone", () => {
  const { wide, narrow } = texts("day", "2026-11-01", 30);
  assert.deepEqual(wide, ["Nov 1", "Nov 5", "Nov 9", "Nov 13", "Nov 17", "Nov 21", "Nov 25", "Nov 29"]);
  assert.deepEqual(narrow, ["Nov 1", "Nov 9", "Nov 17", "Nov 25"]);
});

Deno.test("chartGeometry() labels a day by hours and marks the start of the next day", () => {
  const { wide, narrow } = texts("hour", "2026-11-20T15:00:00Z", 24);
  assert.equal(wide.length, 12);
  assert.ok(wide.includes("Nov 21") && wide.includes("16:00"));
  assert.deepEqual(narrow, ["18:00", "Nov 21", "06:00", "12:00"]);
});

Deno.test("chartGeometry() labels a week of hours by its days", () => {
  const { wide, narrow } = texts("hour", "2026-11-14T15:00:00Z", 168);
  assert.deepEqual(wide, ["Nov 15", "Nov 16", "Nov 17", "Nov 18", "Nov 19", "Nov 20", "Nov 21"]);
  assert.deepEqual(narrow, ["Nov 15", "Nov 17", "Nov 19", "Nov 21"]);
});

Deno.test("chartGeometry() never draws more labels than fit", () => {
  for (const by of ["hour", "day", "week", "month"] as const) {
    for (let count = 1; count <= 400; count += count < 60 ? 1 : 7) {
      const { wide, narrow } = texts(by, "2026-11-20T15:00:00Z", count);
      assert.ok(wide.length <= 13 && narrow.length <= 5 && narrow.length <= wide.length, `${count} ${by}s`);
      assert.ok(count < 24 || narrow.length > 0, `${count} ${by}s`);
    }
  }
});

Deno.test("chartGeometry() draws fewer labels if they have years", () => {
  const { wide, narrow } = texts("month", "2024-01-15", 24);
  assert.deepEqual(wide, ["Jan 2024", "Jul 2024", "Jan 2025", "Jul 2025"]);
  assert.deepEqual(narrow, ["Jan 2024", "Jan 2025"]);
});

Deno.test("chartGeometry() reports long numbers on the axis", () => {
  const isLong = (value: number) =>
    chartGeometry(windows("day", "2026-11-01", [[value]]), { by: "day", measure }).hasLongNumbers;
  assert.deepEqual([0, 12_345, 900_000_000].map(isLong), [false, false, false]);
  assert.deepEqual([0.000123, Number.MAX_SAFE_INTEGER].map(isLong), [true, true]);
});

Deno.test("chartGeometry() has three to five round numbers on the axis, and only whole ones for whole values", () => {
  const axis = (value: number, one: Measure = measure) =>
    chartGeometry(windows("day", "2026-11-01", [[value]]), { by: "day", measure: one }).lines.map((
      { text },
    ) => text);
  assert.deepEqual(axis(1), ["0", "1", "2"]);
  assert.deepEqual(axis(3), ["0", "1", "2", "3"]);
  assert.deepEqual(axis(7), ["0", "2", "4", "6", "8"]);
  assert.deepEqual(axis(0.7), ["0", "0.2", "0.4", "0.6", "0.8"]);
  assert.deepEqual(axis(629_395), ["0", "200k", "400k", "600k", "800k"]);
  const bytes = { name: "Data transfer", unit: "bytes" };
  assert.deepEqual(axis(1_300_000_000, bytes), ["0", "500 MB", "1 GB", "1.5 GB"]);
  assert.deepEqual(axis(3, bytes), ["0", "1 B", "2 B", "3 B"]);
  holds(fc.oneof(fc.maxSafeNat(), fc.nat().map((micros) => micros / 1e6)), (value) => {
    const { lines, bars } = chartGeometry(windows("day", "2026-11-01", [[value]]), { by: "day", measure });
    assert.ok(value === 0 || (lines.length >= 3 && lines.length <= 5), lines.map(({ text }) => text).join());
    assert.ok(bars.every(({ segments }) => segments.every(({ height }) => height >= 50)));
  });
});

Deno.test("sum() has no floating-point errors", () => {
  assert.equal(sum([0.1, 0.2]), 0.3);
  assert.equal(sum(Array(10).fill(0.1)), 1);
});
