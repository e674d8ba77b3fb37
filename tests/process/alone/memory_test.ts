// The largest requests, many at the same time, with the flags of V8 that the binary has: the server survives within its memory,
// and a neighbor's records are accepted. bench/memory.ts measures more kinds of requests.
import assert from "node:assert/strict";
import denoJson from "../../../deno.json" with { type: "json" };
import {
  batches,
  besideNeighbor,
  type MemoryLoad,
  memoryOf,
  memoryScene,
  unfinishedBodies,
} from "../../support/process/memory_loads.ts";
import { heapFlags } from "../../support/process/permissions.ts";
import { onServer } from "../../support/process/scene.ts";
import { repeats } from "../../support/runner/extent.ts";

const megabytesMax = 512;
const ms = repeats({ quick: 300, full: 2_000 });
const env = { HTTP_THREADS: "1", LOG_LEVEL: "error", API_KEY_REQUESTS_PER_SECOND: "0" };

const loads: Readonly<Record<string, MemoryLoad>> = {
  "batches of 1 MiB on 128 connections": batches,
  "1,500 unfinished bodies": unfinishedBodies,
};

for (const [name, load] of Object.entries(loads)) {
  Deno.test(`survives ${name} within ${megabytesMax} MB`, () =>
    onServer({ env }, async ({ program, folder }) => {
      const scene = await memoryScene(program, folder);
      const { statuses } = await besideNeighbor(scene, load(scene, { ms }));
      const { most } = await memoryOf(program);
      assert((statuses.get(201) ?? 0) > 0 && statuses.size === 1, JSON.stringify([...statuses]));
      assert(most < megabytesMax, `${most} MB`);
      Deno.stdout.writeSync(new TextEncoder().encode(`${name}: ${most} MB\n`));
      const ready = await fetch(`${program.baseUrl}/health/ready`);
      await ready.body?.cancel();
      assert.equal(ready.status, 200);
    }));
}

Deno.test("the tasks that start the program bound the heap as the binary does", () => {
  for (const task of [denoJson.tasks.start, denoJson.tasks.dev]) {
    assert.match(task, new RegExp(`--v8-flags=\\S*${heapFlags.join(",")} `));
  }
});
