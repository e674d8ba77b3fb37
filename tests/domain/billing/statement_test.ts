// The months of statements, in every time zone.
import assert from "node:assert/strict";
import {
  billingMonth,
  isPeriod,
  lastEndedPeriod,
  scheduledClose,
  shiftPeriod,
} from "../../../domain/billing/statement.ts";
import { rollupQuarterMs } from "../../../domain/limits.ts";
import fc from "../../support/runner/fast_check.ts";
import { holds } from "../properties.ts";

const iso = (ms: number) => new Date(ms).toISOString();

Deno.test("a month begins and ends at midnight in its time zone", () => {
  const { start, end } = billingMonth("2026-10", { timezone: "Europe/Berlin" });
  assert.deepEqual([iso(start), iso(end)], ["2026-09-30T22:00:00.000Z", "2026-10-31T23:00:00.000Z"]);
  const { start: newYear } = billingMonth("2027-01", { timezone: "Asia/Kathmandu" });
  assert.equal(iso(newYear), "2026-12-31T18:15:00.000Z");
});

Deno.test("after a change of the time zone, the next month begins where the last one ended", () => {
  const october = billingMonth("2026-10", { timezone: "Pacific/Auckland" });
  const november = billingMonth("2026-11", { timezone: "America/New_York", before: october });
  assert.equal(november.start, october.end);
  assert.deepEqual([iso(november.start), iso(november.end)], [
    "2026-10-31T11:00:00.000Z",
    "2026-12-01T05:00:00.000Z",
  ]);
});

Deno.test("months of any zones follow each other without gaps, and end with a quarter of an hour", () => {
  const zone = fc.constantFrom(...Intl.supportedValuesOf("timeZone"));
  const zones = fc.array(zone, { minLength: 2, maxLength: 6 });
  holds(fc.tuple(fc.integer({ min: 0, max: 1180 }), zones), ([first, zones]) => {
    let before = billingMonth(shiftPeriod("2000-02", first), { timezone: zones[0] ?? "UTC" });
    assert.ok(isPeriod(before.period));
    for (const timezone of zones) {
      const month = billingMonth(shiftPeriod(before.period, 1), { timezone, before });
      assert.equal(month.start, before.end);
      assert.equal(month.end % rollupQuarterMs, 0);
      const days = (month.end - month.start) / 86_400_000;
      assert.ok(days > 26 && days < 33, `${days} days`);
      assert.equal(lastEndedPeriod(month.end, timezone), month.period);
      assert.equal(lastEndedPeriod(month.end - 1, timezone), before.period);
      before = month;
    }
  });
});

Deno.test("the schedule closes a month on its day of the next one", () => {
  const month = billingMonth("2026-10", { timezone: "Europe/Berlin" });
  assert.equal(iso(scheduledClose(month, 1)), "2026-10-31T23:00:00.000Z");
  assert.equal(iso(scheduledClose(month, 28)), "2026-11-27T23:00:00.000Z");
});

Deno.test("a period is a month of this century", () => {
  for (const text of ["2000-01", "2026-10", "2099-12"]) assert.ok(isPeriod(text), text);
  for (const text of ["1999-12", "2026-00", "2026-13", "2026-1", "2026-10-01", "26-10", " 2026-10"]) {
    assert.ok(!isPeriod(text), text);
  }
});
