// Times in time zones: names of windows are unambiguous, even on days of 23 and 25 hours.
import assert from "node:assert/strict";
import { usageRange, type WindowUnit } from "../../../domain/meter/usage_window.ts";
import { daysWords, exactTimeIn, timezoneNames, windowNames } from "../../../views/text/zone.ts";

const now = Date.parse("2026-11-21T14:05:11Z");

function names(unit: WindowUnit, range: { from: string; to: string; timezone: string }) {
  const { windows } = usageRange({ ...range, window: unit }, now);
  return windowNames(windows, { unit, timezone: range.timezone, now });
}

Deno.test("windowNames() distinguishes a repeated hour from the one before it", () => {
  const hours = names("hour", { from: "2026-10-25", to: "2026-10-26", timezone: "Europe/Berlin" });
  assert.equal(hours.length, 25);
  assert.deepEqual(hours.slice(1, 5).map(({ name }) => name), [
    "Oct 25, 01:00",
    "Oct 25, 02:00 (UTC+02:00)",
    "Oct 25, 02:00 (UTC+01:00)",
    "Oct 25, 03:00",
  ]);
  assert.deepEqual(hours.slice(0, 3).map(({ label }) => label), ["Oct 25", "01:00", "02:00"]);
  assert.deepEqual(hours.map(({ startsDay }) => startsDay).indexOf(true, 1), -1);
});

Deno.test("windowNames() omits a skipped hour, and marks the start of a day that begins at 01:00", () => {
  const spring = names("hour", { from: "2026-03-29", to: "2026-03-30", timezone: "Europe/Berlin" });
  assert.deepEqual(spring.slice(1, 3).map(({ label }) => label), ["01:00", "03:00"]);
  const santiago = names("hour", { from: "2026-09-05", to: "2026-09-07", timezone: "America/Santiago" });
  const first = santiago.findLast(({ name }) => name.startsWith("Sep 6"));
  assert.equal(first?.name, "Sep 6, 23:00");
  assert.deepEqual(santiago.filter(({ startsDay }) => startsDay).map(({ name }) => name), [
    "Sep 5, 00:00",
    "Sep 6, 01:00",
  ]);
});

Deno.test("windowNames() names days by the zone's calendar, with the year if it isn't the current one", () => {
  const days = names("day", { from: "2025-12-31", to: "2026-01-02", timezone: "Pacific/Auckland" });
  assert.deepEqual(days.map(({ name }) => name), ["Wed, Dec 31, 2025", "Thu, Jan 1"]);
});

Deno.test("windowNames() names weeks by their first and last days, and months in full or in part", () => {
  const weeks = names("week", { from: "2026-10-28", to: "2026-11-09", timezone: "Asia/Kathmandu" });
  assert.deepEqual(weeks.map(({ name }) => name), ["October 28 – November 1, 2026", "November 2–8, 2026"]);
  assert.deepEqual(weeks.map(({ label }) => label), ["Oct 28", "Nov 2"]);
  const months = names("month", { from: "2026-09-10", to: "2026-11-01", timezone: "Europe/Berlin" });
  assert.deepEqual(months.map(({ name }) => name), ["September 10–30, 2026", "October 2026"]);
  assert.deepEqual(months.map(({ label }) => label), ["Sep 2026", "Oct 2026"]);
});

Deno.test("daysWords() and exactTimeIn() use the zone's clock", () => {
  const day = { start: Date.parse("2026-11-20T13:00:00Z"), end: Date.parse("2026-11-21T13:00:00Z") };
  assert.equal(daysWords(day, "UTC"), "November 20–21, 2026");
  assert.equal(daysWords(day, "Pacific/Fiji"), "November 21–22, 2026");
  assert.equal(
    daysWords({ start: day.start - 3_600_000, end: day.end - 3_600_000 }, "Pacific/Fiji"),
    "November 21, 2026",
  );
  assert.equal(exactTimeIn(now, "America/New_York"), "Nov 21, 2026, 09:05:11 America/New York");
});

Deno.test("timezoneNames() lists each zone once, by its current name", () => {
  const zones = timezoneNames();
  assert.ok(zones.length > 400 && zones.includes("Asia/Kolkata") && !zones.includes("Asia/Calcutta"));
  assert.deepEqual(zones, [...new Set(zones)].sort());
  for (const timezone of zones) usageRange({ timezone, window: "month" }, now);
});
