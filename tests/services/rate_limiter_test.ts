// The rate limiter behaves as a map of windows would, also when its clock is set back.
import assert from "node:assert/strict";
import { RateLimiter, RateLimitMemory } from "../../services/rate_limiter.ts";
import { holds } from "../domain/properties.ts";
import fc from "../support/runner/fast_check.ts";

const windowMs = 60_000;
const points = 2;

/** A limiter with two points a minute, and a setter for its clock. */
function limiterAt(start: number, windows = new RateLimitMemory().windows(0), hashedNames = false) {
  let now = start;
  const limiter = new RateLimiter({ points, windowMs, clock: () => now, windows, hashedNames });
  return { limiter, setClock: (ms: number) => now = ms };
}

Deno.test("RateLimiter reuses windows that have ended and keeps the others", () => {
  const { limiter, setClock } = limiterAt(0);
  const manyNames = 5_000;
  for (let n = 0; n < manyNames; n++) limiter.take(`ended ${n}`);
  setClock(windowMs / 2);
  for (let n = 0; n < 2; n++) limiter.take("running");
  setClock(windowMs);
  for (let n = 0; n < manyNames; n++) limiter.take(`later ${n}`);
  assert.deepEqual(limiter.take("running"), {
    isAllowed: false,
    remaining: 0,
    resetMs: windowMs / 2,
    endsAt: 1.5 * windowMs,
  });
});

Deno.test("RateLimiter ends the window that ends first among those with the fewest points", () => {
  const { limiter, setClock } = limiterAt(0, undefined, true);
  // Names that share a bucket, whose hashes begin with different digits.
  const nameOf = (n: number) => String(n).padStart(13, "0").padEnd(64, "0");
  const startOf = [20, 30, 10, ...Array.from({ length: 17 }, (_, n) => 40 + n)];
  for (const [n, start] of startOf.entries()) {
    setClock(start);
    limiter.take(nameOf(n));
  }
  limiter.take(nameOf(99));
  const remaining = startOf.map((_, n) => limiter.peek(nameOf(n)).remaining);
  assert.deepEqual(remaining, startOf.map((start) => start === 10 ? points : points - 1));
});

Deno.test("RateLimiter is unused until a point is taken, and again when all windows have ended", () => {
  const { limiter, setClock } = limiterAt(5 * windowMs);
  limiter.peek("ada");
  limiter.giveBack("ada");
  assert(limiter.isUnused);
  limiter.take("ada");
  setClock(5.5 * windowMs);
  limiter.take("bob");
  setClock(6.5 * windowMs - 1);
  assert.equal(limiter.isUnused, false);
  setClock(6.5 * windowMs);
  assert(limiter.isUnused);
});

Deno.test("RateLimiter counts for as long as the process runs in an infinite window", () => {
  let now = 1_000;
  const windows = new RateLimitMemory().windows(0);
  const limiter = new RateLimiter({ points: 1, windowMs: Infinity, clock: () => now, windows });
  assert(limiter.take("ada").isAllowed);
  now = 10 ** 12;
  assert.equal(limiter.take("ada").isAllowed, false);
  assert(limiter.take("bob").isAllowed);
});

/** A limiter with a map and without any bound. */
class Model {
  readonly #windows = new Map<string, { endsAt: number; used: number }>();

  run(action: "take" | "peek" | "giveBack", name: string, now: number) {
    const last = this.#windows.get(name);
    const isRunning = last !== undefined && last.endsAt > now && last.endsAt <= now + windowMs;
    const window = isRunning ? last : { endsAt: now + windowMs, used: 0 };
    const isAllowed = window.used < points;
    if (action === "take" && isAllowed) {
      window.used++;
      this.#windows.set(name, window);
    }
    if (action === "giveBack" && window.used > 0) window.used--;
    const { endsAt, used } = window;
    return { isAllowed, remaining: points - used, resetMs: endsAt - now, endsAt };
  }
}

Deno.test("RateLimiter returns what a map of windows would return", () => {
  const step = fc.record({
    action: fc.constantFrom("take" as const, "take" as const, "peek" as const, "giveBack" as const),
    name: fc.constantFrom("ada", "bob", "cyd", "203.0.113.9", ""),
    // Mostly forward, sometimes back.
    passedMs: fc.integer({ min: -windowMs, max: 2 * windowMs }).map((ms) =>
      ms < 0 ? ms * 2 : Math.trunc(ms / 8)
    ),
  });
  const windows = new RateLimitMemory().windows(0);
  let now = 0;
  holds(fc.array(step, { maxLength: 80 }), (steps) => {
    // All windows of the previous example have ended.
    now += 1_000 * windowMs;
    const { limiter, setClock } = limiterAt(now, windows);
    const model = new Model();
    for (const { action, name, passedMs } of steps) {
      setClock(now += passedMs);
      const expected = model.run(action, name, now);
      const state = limiter[action](name);
      if (action !== "giveBack") assert.deepEqual(state, expected);
    }
  });
});
