// Times in queries and responses, in time zones.
import assert from "node:assert/strict";
import fc from "../support/runner/fast_check.ts";
import { isoTime, isoTimeIn, parseTime, parseTimestamp, timeFault } from "../../domain/time.ts";
import { anyTime, hourMs, wall, wallTime, zones } from "./clocks.ts";
import { holds } from "./properties.ts";

Deno.test("isoTimeIn() returns the same instant with the zone's offset", () => {
  holds(fc.tuple(anyTime, fc.constantFrom(...zones)), ([ms, timezone]) => {
    const text = isoTimeIn(ms, timezone);
    assert.equal(text, timezone === "UTC" ? isoTime(ms) : wallTime(ms, timezone));
    assert.equal(parseTimestamp(text), ms);
  }, { runs: 600 });
  assert.equal(isoTimeIn(Date.UTC(2026, 8, 30, 22), "Europe/Berlin"), "2026-10-01T00:00:00.000+02:00");
  // Monrovia was 44 minutes and 30 seconds behind, which isn't a valid ISO 8601 offset.
  assert.equal(isoTimeIn(Date.UTC(1960, 0), "Africa/Monrovia"), "1960-01-01T00:00:00.000Z");
});

Deno.test("parseTime() reads a date as the start of the day in the zone", () => {
  const day = fc.integer({ min: Date.UTC(2000, 0) / (24 * hourMs), max: Date.UTC(2040, 0) / (24 * hourMs) });
  holds(fc.tuple(day, fc.constantFrom(...zones)), ([number, timezone]) => {
    const date = isoTime(number * 24 * hourMs).slice(0, 10);
    // Samoa skipped a day; no zone here did.
    const ms = parseTime(date, timezone) ?? NaN;
    assert.equal(wall(ms, timezone).day, date);
    assert.ok(wall(ms - 1, timezone).day < date);
  }, { runs: 400 });
  assert.equal(parseTime("2026-02-30"), null);
  assert.equal(parseTime("2026-2-3"), null);
});

Deno.test("timeFault() explains how to encode an offset whose + was lost in a URL", () => {
  assert.match(timeFault("2026-10-01T00:00:00.000 02:00"), /write \+ as %2B\.$/);
  assert.doesNotMatch(timeFault("yesterday"), /%2B/);
});

Deno.test("parseTimestamp() reads RFC 3339 and ignores digits beyond milliseconds", () => {
  const moment = Date.UTC(2026, 10, 21, 14, 3, 11, 250);
  for (
    const text of [
      "2026-11-21T14:03:11.250Z",
      "2026-11-21t14:03:11.25z",
      "2026-11-21T14:03:11.250999999Z",
      "2026-11-21T19:48:11.250+05:45",
      "2026-11-20T23:03:11.25-15:00",
      "2026-11-21T14:03:11.25-00:00",
    ]
  ) assert.equal(parseTimestamp(text), moment, text);
  assert.equal(parseTimestamp("1969-12-31T23:59:59.999Z"), -1);
});

Deno.test("parseTimestamp() rejects incomplete and impossible times", () => {
  const wrong = [
    "now 2026-11-21 2026-11-21T14:03Z 2026-11-21T14:03:11 1763733791 2026-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z 2026-11-21T24:00:00Z 2026-11-21T14:60:00Z 2026-11-21T14:03:61Z",
    "2026-11-21T14:03:11+0100 2026-11-21T14:03:11+25:00 2026-11-21T14:03:11Z[UTC] +002026-11-21T14:03:11Z",
    "2026-11-21T14:03:11.Z 2026-11-21T14:03:11,5Z 2026-11-21T14:03:11.1234567890Z",
  ].flatMap((texts) => texts.split(" "));
  for (const text of [...wrong, "", "2026-11-21 14:03:11Z", " 2026-11-21T14:03:11Z"]) {
    assert.equal(parseTimestamp(text), null, text);
  }
});

Deno.test("parseTimestamp() inverts isoTime()", () => {
  holds(
    fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) }),
    (ms) => assert.equal(parseTimestamp(isoTime(ms)), ms),
  );
});
