// How many threads serve HTTP by default.
import assert from "node:assert/strict";
import { wantedHttpThreads } from "../../../commands/serve/http_threads.ts";
import { accepted } from "../../config_assert.ts";

Deno.test("by default, a data file gets a thread for each core that there is memory for, and a libSQL server gets one", () => {
  assert.equal(wantedHttpThreads(accepted({})), Math.min(navigator.hardwareConcurrency, 8));
  const threads = (cores: number, megabytes: number) =>
    wantedHttpThreads(accepted({}), { cores, memoryBytes: megabytes * 1024 * 1024 });
  assert.deepEqual([1, 2, 4, 8, 16].map((cores) => threads(cores, 4_096)), [1, 2, 4, 8, 8]);
  assert.deepEqual([256, 512, 639, 640, 1_024].map((megabytes) => threads(8, megabytes)), [1, 1, 1, 2, 5]);
  assert.equal(wantedHttpThreads(accepted({ DATABASE_URL: "http://127.0.0.1:8080" })), 1);
  const three = { DATABASE_URL: "http://127.0.0.1:8080", HTTP_THREADS: "3" };
  assert.equal(wantedHttpThreads(accepted(three)), 3);
});
