// The rate limiter when its clock is set back, and when it deletes old names.
import assert from "node:assert/strict";
import { RateLimiter } from "../../services/rate_limiter.ts";

const windowMs = 60_000;

/** A limiter with two points a minute, and a setter for its clock. */
function limiterAt(start: number) {
  let now = start;
  const limiter = new RateLimiter({ points: 2, windowMs, clock: () => now });
  return { limiter, setClock: (ms: number) => now = ms };
}

Deno.test("RateLimiter starts a new window when the clock is set back", () => {
  const { limiter, setClock } = limiterAt(10 * windowMs);
  for (let n = 0; n < 3; n++) limiter.take("ada");
  assert.equal(limiter.peek("ada").isAllowed, false);
  setClock(windowMs);
  assert.deepEqual(limiter.peek("ada"), { isAllowed: true, remaining: 2, resetMs: windowMs });
  assert.deepEqual(limiter.take("ada"), { isAllowed: true, remaining: 1, resetMs: windowMs });
});

Deno.test("RateLimiter never waits longer than a window when the clock is set back by less than one", () => {
  const { limiter, setClock } = limiterAt(10 * windowMs);
  for (let n = 0; n < 3; n++) limiter.take("ada");
  setClock(10 * windowMs - 1);
  assert(limiter.peek("ada").resetMs <= windowMs);
  assert(limiter.take("ada").resetMs <= windowMs);
});

Deno.test("RateLimiter deletes windows that have ended and keeps the others", () => {
  const { limiter, setClock } = limiterAt(0);
  const manyNames = 30_000;
  for (let n = 0; n < manyNames; n++) limiter.take(`ended ${n}`);
  setClock(windowMs / 2);
  for (let n = 0; n < 2; n++) limiter.take("running");
  setClock(windowMs);
  for (let n = 0; n < manyNames; n++) limiter.take(`later ${n}`);
  assert(limiter.size <= manyNames + 1, `${limiter.size} names`);
  assert.deepEqual(limiter.take("running"), { isAllowed: false, remaining: 0, resetMs: windowMs / 2 });
});
