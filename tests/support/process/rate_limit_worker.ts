// A thread that takes points from rate limits in shared memory.
import { RateLimiter, RateLimitMemory } from "../../../services/rate_limiter.ts";

/** What a thread does: it takes a point of each name in turn. */
export interface RateLimitWork {
  readonly buffer: SharedArrayBuffer;
  /** Counts the threads that are ready; all begin when it reaches `threads`. */
  readonly ready: SharedArrayBuffer;
  readonly threads: number;
  readonly points: number;
  readonly names: readonly string[];
  readonly rounds: number;
}

const scope = globalThis as unknown as {
  onmessage: ((event: MessageEvent<RateLimitWork>) => void) | null;
  postMessage(allowed: number[]): void;
};

scope.onmessage = ({ data }) => {
  const windows = new RateLimitMemory(data.buffer).windows(0);
  const limiter = new RateLimiter({ points: data.points, windowMs: 3_600_000, clock: Date.now, windows });
  const ready = new Int32Array(data.ready);
  if (Atomics.add(ready, 0, 1) + 1 === data.threads) Atomics.notify(ready, 0);
  for (let count = Atomics.load(ready, 0); count < data.threads; count = Atomics.load(ready, 0)) {
    Atomics.wait(ready, 0, count);
  }
  const allowed = data.names.map(() => 0);
  for (let round = 0; round < data.rounds; round++) {
    for (const [index, name] of data.names.entries()) {
      if (limiter.take(name).isAllowed) allowed[index] = (allowed[index] ?? 0) + 1;
    }
  }
  scope.postMessage(allowed);
};
