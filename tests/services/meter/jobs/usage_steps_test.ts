// The steps in which usage is added up: each rollup is read once, and sums are complete only when all of theirs were read.
import assert from "node:assert/strict";
import { rollupNumber } from "../../../../domain/meter/rollup_unit.ts";
import { usageSteps } from "../../../../services/meter/jobs/usage_steps.ts";

const dayMs = 86_400_000;
const windows = Array.from({ length: 12 }, (_, position) => ({
  position,
  start: position * dayMs,
  end: (position + 1) * dayMs,
}));

for (const groupBy of [[], ["metric"], ["organization"]] as const) {
  for (const series of [1, 9_000, 60_000]) {
    Deno.test(`usageSteps() reads each hour of 3 organizations with ${series} series once, grouped by ${groupBy.join() || "nothing"}`, () => {
      const organizations = [1, 2, 3].map((number) => ({ number, series }));
      const read = new Map<string, number>();
      const yielded = new Set<string>();
      let waiting = new Set<string>();
      for (const step of usageSteps(windows, { organizations, groupBy })) {
        for (const { unit, start, end, position } of step.pieces) {
          assert.equal(unit, "hour");
          for (const organization of step.organizations) {
            const key = groupBy.join() === "organization" ? `${position} ${organization}` : String(position);
            assert.ok(!yielded.has(key), `more of ${key} after it was complete`);
            waiting.add(key);
            for (let hour = rollupNumber("hour", start); hour < rollupNumber("hour", end); hour++) {
              const name = `${organization} ${hour}`;
              read.set(name, (read.get(name) ?? 0) + 1);
            }
          }
        }
        if (!step.isComplete) continue;
        for (const key of waiting) yielded.add(key);
        waiting = new Set();
      }
      assert.equal(waiting.size, 0);
      assert.deepEqual([read.size, Math.max(...read.values())], [3 * 12 * 24, 1]);
    });
  }
}
