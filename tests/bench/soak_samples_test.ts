// Tests that the soak notices growth.
import assert from "node:assert/strict";
import { growth, parseSample } from "../../bench/soak_samples.ts";

/** Returns the sentences of a run of ten minutes in which memory and the log have these sizes. */
function growthOf({ memory, log }: Record<"memory" | "log", (minute: number) => number>): string[] {
  const samples = Array.from({ length: 120 }, (_, n) => {
    const minute = n / 12;
    const text = [
      `process_resident_memory_bytes ${memory(minute) * 1e6}`,
      `gatehouse_database_bytes{file="log"} ${log(minute) * 1e6}`,
      "process_open_fds 50",
    ];
    return parseSample(`${text.join("\n")}\n`, { seconds: minute * 60, output: 0 });
  });
  return growth(samples, { seconds: 600 });
}

Deno.test("memory and a log that grow only in the first two minutes are flat", () => {
  const warmingUp = (minute: number) => 100 * Math.min(1, (1 + minute) / 3);
  assert.deepEqual(growthOf({ memory: warmingUp, log: warmingUp }), []);
});

Deno.test("names what grows after the third minute", () => {
  const [memory, log] = [(minute: number) => 300 + 20 * minute, (minute: number) => minute > 5 ? 90 : 60];
  assert.deepEqual(growthOf({ memory, log: () => 80 }), [
    "memory grew from 350.0 MB in the third minute to at least 433.3 MB in the last third",
  ]);
  assert.match(growthOf({ memory: () => 300, log }).join(), /^log grew from 60\.0 MB .* at least 90\.0 MB/);
});
