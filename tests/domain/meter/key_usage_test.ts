// The last 30 days, also where clocks are changed at midnight.
import assert from "node:assert/strict";
import { keyUsagePeriod } from "../../../domain/meter/key_usage.ts";
import { isoTime } from "../../../domain/time.ts";

Deno.test("keyUsagePeriod() has 30 whole days, if a day begins at 1:00", () => {
  const days = (now: string, timezone: string) => {
    const { start, end } = keyUsagePeriod(Date.parse(now), timezone);
    return [isoTime(start), isoTime(end)];
  };
  assert.deepEqual(days("2026-11-21T14:03:11Z", "UTC"), [
    "2026-10-23T00:00:00.000Z",
    "2026-11-22T00:00:00.000Z",
  ]);
  // On September 6, clocks go from 0:00 to 1:00 in Chile.
  const [before, after, first] = ["2026-08-08T04:00", "2026-09-07T03:00", "2026-09-06T04:00"];
  assert.deepEqual(days("2026-09-06T15:00:00Z", "America/Santiago"), [
    `${before}:00.000Z`,
    `${after}:00.000Z`,
  ]);
  assert.equal(days("2026-10-05T15:00:00Z", "America/Santiago")[0], `${first}:00.000Z`);
});
