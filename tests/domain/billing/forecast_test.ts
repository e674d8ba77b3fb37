// Forecasts of running months.
import assert from "node:assert/strict";
import { forecastAmount, sameDays } from "../../../domain/billing/forecast.ts";

const dayMs = 86_400_000;

Deno.test("a month is forecast from its second day until its end, at the pace so far", () => {
  const month = { start: "2026-11-01T00:00:00.000Z", end: "2026-12-01T00:00:00.000Z" };
  const start = Date.parse(month.start);
  const at = (days: number, amount: string | null = "100", steady: string | null = null) =>
    forecastAmount({ amount, parts: { usage: amount, steady } }, month, start + days * dayMs);
  assert.equal(at(0.99), null);
  assert.equal(at(1), 3_000);
  assert.equal(at(15), 200);
  assert.equal(at(15, "100", "40"), 160);
  assert.equal(at(15, "100", "-40"), 240);
  assert.equal(at(29, "0"), 0);
  assert.equal(at(30), null);
  assert.equal(at(15, null), null);
  assert.equal(at(15, "12345.678"), 24_700);
});

Deno.test("a running month is compared with as many days of the one before, as the clock shows them", () => {
  const days = (now: string, timezone = "UTC") => {
    const { start, end } = sameDays({ timezone }, Date.parse(now));
    return [start, end].map((at) => new Date(at).toISOString().replace(":00.000Z", ""));
  };
  assert.deepEqual(days("2026-11-22T14:30:00Z"), ["2026-10-01T00:00", "2026-10-22T14:45"]);
  // Clocks go back in October, and February is shorter.
  assert.deepEqual(days("2026-11-22T14:30:00Z", "Europe/Berlin"), ["2026-09-30T22:00", "2026-10-22T13:45"]);
  const [, end] = days("2026-03-31T12:00:00Z");
  assert.equal(end, "2026-03-01T00:00");
});
