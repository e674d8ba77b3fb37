// The sparkline stays inside its box for any numbers.
import assert from "node:assert/strict";
import { holds } from "../../domain/properties.ts";
import fc from "../../support/runner/fast_check.ts";
import { Sparkline, sparklinePoints } from "../../../views/components/sparkline.tsx";

Deno.test("sparklinePoints() go from zero at the bottom to the highest value at the top", () => {
  assert.deepEqual(sparklinePoints([5, 5, 10]), [{ x: 1.5, y: 12 }, { x: 42, y: 12 }, { x: 82.5, y: 1.5 }]);
});

Deno.test("sparklinePoints() stay inside the box", () => {
  holds(fc.array(fc.nat(), { minLength: 2, maxLength: 40 }), (values) => {
    const points = sparklinePoints(values);
    assert.equal(points.length, values.length);
    for (const { x, y } of points) assert.ok(x >= 1.5 && x <= 82.5 && y >= 1.5 && y <= 22.5);
  });
});

Deno.test("Sparkline() dots the way to today, and is flat and gray without usage", () => {
  assert.match(String(Sparkline({ values: [5, 10, 5] })), /<path class="today" d="M42 1.5L82.5 12"/);
  assert.match(String(Sparkline({ values: [0, 0, 0] })), /<svg[^>]*><path class="none" d="M0 22.5H84"/);
});
