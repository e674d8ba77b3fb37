// What a running month is compared with, and what it may amount to.
import { parsePeriodQuery } from "../meter/usage_period.ts";
import type { UsageWindow } from "../meter/usage_window.ts";
import type { AmountParts, Statement } from "./statement.ts";

const dayMs = 86_400_000;

/** Returns the days of the month before that are as many as have passed of the running month. */
export function sameDays({ timezone }: Pick<Statement, "timezone">, now: number): UsageWindow {
  const { period } = parsePeriodQuery({ timezone }, now);
  // Only chosen days can be invalid.
  if (period === null) throw new Error("the running month has no days");
  return period.compared;
}

/**
 * Returns what a month amounts to at its end if usage goes on as it did so far, with three digits.
 *
 * @param sums `amount`: of the whole month so far.
 * @returns Null during its first day, after its end, and without prices.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * const november = { start: "2026-11-01T00:00:00Z", end: "2026-12-01T00:00:00Z" };
 * const sums = { amount: "1100.5", parts: { usage: "1000.5", steady: "100" } };
 * assert.equal(forecastAmount(sums, november, Date.parse("2026-11-11T00:00:00Z")), 3_100);
 * ```
 */
export function forecastAmount(
  { amount, parts }: { amount: string | null; parts: AmountParts | null },
  month: Pick<Statement, "start" | "end">,
  now: number,
): number | null {
  const [start, end] = [Date.parse(month.start), Date.parse(month.end)];
  if (amount === null || now < start + dayMs || now >= end) return null;
  const steady = Number(parts?.steady ?? 0);
  const forecast = steady + (Number(amount) - steady) * (end - start) / (now - start);
  return Number(forecast.toPrecision(3));
}
