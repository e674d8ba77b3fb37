// When a limit will be reached: what is left, at the average rate of the month so far.
import assert from "node:assert/strict";
import { limitReachedAt } from "../../../domain/meter/limit_pace.ts";
import type { LimitStanding } from "../../../domain/meter/usage_limit.ts";

function reachedAt(now: string, used: number, more: Partial<LimitStanding> = {}): string | null {
  const standing: LimitStanding = {
    limitId: "lim_1",
    productSlug: null,
    metric: "requests",
    per: "month",
    mode: "soft",
    quantity: 1_000,
    used,
    held: 0,
    remaining: Math.max(0, 1_000 - used),
    resetsAt: "2026-12-01T00:00:00.000Z",
    ...more,
  };
  const time = limitReachedAt(standing, Date.parse(now));
  return time === null ? null : new Date(time).toISOString();
}

Deno.test("limitReachedAt() continues the average rate of the month so far", () => {
  assert.equal(reachedAt("2026-11-11T00:00:00Z", 500), "2026-11-21T00:00:00.000Z");
  assert.equal(reachedAt("2026-11-11T00:00:00Z", 800), "2026-11-13T12:00:00.000Z");
});

Deno.test("limitReachedAt() knows when the month began in any time zone", () => {
  const in10Days = { "2026-10-31T10:00": "2026-11-30T10:00", "2026-11-01T12:00": "2026-12-01T12:00" };
  for (const [start, resetsAt] of Object.entries(in10Days)) {
    const now = new Date(Date.parse(`${start}Z`) + 10 * 86_400_000).toISOString();
    const reached = new Date(Date.parse(`${start}Z`) + 20 * 86_400_000).toISOString();
    assert.equal(reachedAt(now, 500, { resetsAt: `${resetsAt}:00.000Z` }), reached);
  }
  const february = { resetsAt: "2028-03-01T00:00:00.000Z" };
  assert.equal(reachedAt("2028-02-11T00:00:00Z", 500, february), "2028-02-21T00:00:00.000Z");
});

Deno.test("limitReachedAt() says nothing about limits that are reached, that reset before, or that are not per month", () => {
  assert.equal(reachedAt("2026-11-11T00:00:00Z", 333), null);
  assert.equal(reachedAt("2026-11-11T00:00:00Z", 0), null);
  assert.equal(reachedAt("2026-11-11T00:00:00Z", 1_000), null);
  assert.equal(reachedAt("2026-11-03T23:00:00Z", 500), null);
  assert.equal(reachedAt("2026-11-11T00:00:00Z", 500, { per: "day" }), null);
  assert.equal(reachedAt("2026-11-11T00:00:00Z", 500, { per: "total", resetsAt: null }), null);
});
