// Rate limits in memory that threads share: they count together, and the memory stays bounded.
import assert from "node:assert/strict";
import { RateLimiter, RateLimitMemory } from "../../services/rate_limiter.ts";
import type { RateLimitWork } from "../support/process/rate_limit_worker.ts";

const threads = 4;

/** Takes points in four threads at the same time. @returns How many were allowed, by name. */
async function takeInThreads(
  work: { points: number; names: readonly string[]; rounds: number },
): Promise<number[]> {
  const shared = { buffer: new RateLimitMemory().buffer, ready: new SharedArrayBuffer(4), threads };
  const workers = Array.from({ length: threads }, () => {
    return new Worker(import.meta.resolve("../support/process/rate_limit_worker.ts"), { type: "module" });
  });
  try {
    const results = await Promise.all(workers.map((worker) => {
      const { promise, resolve, reject } = Promise.withResolvers<number[]>();
      worker.onmessage = ({ data }: MessageEvent<number[]>) => resolve(data);
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message));
      };
      worker.postMessage({ ...work, ...shared } satisfies RateLimitWork);
      return promise;
    }));
    return work.names.map((_, index) => results.reduce((sum, allowed) => sum + (allowed[index] ?? 0), 0));
  } finally {
    for (const worker of workers) worker.terminate();
  }
}

function limiterOf(memory: RateLimitMemory, options: { points: number; clock?: () => number }) {
  return new RateLimiter({ windowMs: 60_000, clock: () => 1_000, ...options, windows: memory.windows(0) });
}

Deno.test("four threads together get exactly the points of one name", async () => {
  assert.deepEqual(await takeInThreads({ points: 50_000, names: ["ada"], rounds: 50_000 }), [50_000]);
});

Deno.test("four threads together get exactly the points of each of many names", async () => {
  const names = Array.from({ length: 2_000 }, (_, n) => `name ${n}`);
  const allowed = await takeInThreads({ points: 7, names, rounds: 4 });
  assert.deepEqual(allowed, names.map(() => 7));
});

Deno.test("limiters with different numbers don't share points", () => {
  const memory = new RateLimitMemory();
  const options = { points: 1, windowMs: 60_000, clock: () => 1_000 };
  const [first, second] = [0, 39].map((n) => new RateLimiter({ ...options, windows: memory.windows(n) }));
  assert(first?.take("ada").isAllowed);
  assert(second?.take("ada").isAllowed);
  assert.throws(() => memory.windows(48), RangeError);
});

Deno.test("a flood of new names never ends the window of the name with the most points", () => {
  const limiter = limiterOf(new RateLimitMemory(), { points: 3 });
  for (let n = 0; n < 4; n++) limiter.take("guesses");
  for (let n = 0; n < 200_000; n++) assert(limiter.take(`flood ${n}`).isAllowed);
  assert.equal(limiter.take("guesses").isAllowed, false);
});

Deno.test("a name waits for a thread that was terminated while it was counting only once", () => {
  const memory = new RateLimitMemory();
  memory.windows(0).lock("0".repeat(64));
  const limiter = new RateLimiter({
    points: 1,
    windowMs: 60_000,
    clock: () => 1_000,
    windows: memory.windows(0),
    hashedNames: true,
  });
  const take = () => {
    const begin = performance.now();
    const { isAllowed } = limiter.take("0".repeat(64));
    return { isAllowed, ms: performance.now() - begin };
  };
  const [first, second] = [take(), take()];
  assert.deepEqual([first.isAllowed, second.isAllowed], [true, false]);
  assert.ok(second.ms < first.ms / 2, `${second.ms} ms after ${first.ms} ms`);
});
