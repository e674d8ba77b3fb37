// Usage windows, compared with a slow, naive walk through the range by quarter-hours.
import assert from "node:assert/strict";
import fc from "../../support/runner/fast_check.ts";
import { AppError } from "../../../domain/errors.ts";
import { rollupQuarterMs, usageWindowsMax } from "../../../domain/limits.ts";
import {
  usageRange,
  type UsageRangeInput,
  type UsageWindow,
  type WindowUnit,
  windowUnits,
} from "../../../domain/meter/usage_window.ts";
import { isoTime } from "../../../domain/time.ts";
import { anyTime, hourMs, wall, zones } from "../clocks.ts";
import { holds } from "../properties.ts";

/** The name of the window that contains a time. */
function label(unit: WindowUnit, ms: number, timezone: string): string {
  const { day, hour, offset } = wall(ms, timezone);
  if (unit === "hour") return `${day} ${hour} ${offset}`;
  if (unit === "4h" || unit === "6h") return `${day} ${Math.floor(Number(hour) / Number.parseInt(unit))}`;
  if (unit === "day") return day;
  if (unit === "month") return day.slice(0, 7);
  const date = new Date(`${day}T00:00:00Z`);
  return String(date.valueOf() - (date.getUTCDay() + 6) % 7 * 24 * hourMs);
}

/** Windows computed slowly: a new one begins whenever the next quarter has another name. */
function slowWindows(range: { from: number; to: number; unit: WindowUnit; timezone: string }): UsageWindow[] {
  const windows: { start: number; end: number; name: string }[] = [];
  for (let at = range.from; at < range.to; at += rollupQuarterMs) {
    const name = label(range.unit, at, range.timezone);
    const last = windows.at(-1);
    if (last?.name === name) last.end = at + rollupQuarterMs;
    else windows.push({ start: at, end: at + rollupQuarterMs, name });
  }
  return windows.map(({ start, end }) => ({ start, end }));
}

/** The error code of an invalid range, and the fields in its details. */
function fault(input: UsageRangeInput, now = 0): [string, ...string[]] {
  try {
    usageRange(input, now);
  } catch (error) {
    if (error instanceof AppError) return [error.code, ...(error.details ?? []).map(({ path }) => path)];
    throw error;
  }
  return assert.fail(`was accepted: ${JSON.stringify(input)}`);
}

for (const timezone of zones) {
  Deno.test(`windows in ${timezone} match the wall clock`, () => {
    const quarter = fc.integer({
      min: Date.UTC(2019, 0) / rollupQuarterMs,
      max: Date.UTC(2030, 0) / rollupQuarterMs,
    });
    const lengths: Readonly<Record<WindowUnit, number>> = {
      ...{ "hour": 40, "4h": 80, "6h": 100 },
      ...{ day: 150, week: 600, month: 2_400 },
    };
    const range = fc.tuple(quarter, fc.constantFrom(...windowUnits)).chain(([from, unit]) =>
      fc.integer({ min: 1, max: lengths[unit] }).map((length) => ({
        from: from * rollupQuarterMs,
        unit,
        length,
      }))
    );
    holds(range, ({ from, unit, length }) => {
      const to = from + length * rollupQuarterMs;
      const found = usageRange({ from: isoTime(from), to: isoTime(to), window: unit, timezone }, 0);
      assert.deepEqual(found.windows, slowWindows({ from, to, unit, timezone }));
    }, { runs: 60 });
  });

  Deno.test(`windows in ${timezone} match the wall clock when it changes`, () => {
    const end = Temporal.Instant.from("2027-01-01T00:00:00Z");
    let at = Temporal.Instant.from("2022-01-01T00:00:00Z").toZonedDateTimeISO(timezone);
    for (;;) {
      const next = at.getTimeZoneTransition("next");
      if (next === null || Temporal.Instant.compare(next.toInstant(), end) > 0) break;
      at = next;
      for (const unit of windowUnits) {
        for (const before of [1, 30.25]) {
          const from = at.epochMilliseconds - before * hourMs;
          const to = at.epochMilliseconds + 30.5 * hourMs;
          const found = usageRange({ from: isoTime(from), to: isoTime(to), window: unit, timezone }, 0);
          assert.deepEqual(found.windows, slowWindows({ from, to, unit, timezone }), `${unit}s around ${at}`);
        }
      }
    }
  });
}

Deno.test("a range is widened to full quarter-hours", () => {
  const lengthMax = {
    "hour": 900 * hourMs,
    "4h": 9e8,
    "6h": 9e8,
    day: 900 * 24 * hourMs,
    week: 2e11,
    month: 2e11,
    total: 9e11,
  };
  const input = fc.record({
    from: anyTime,
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    unit: fc.constantFrom(...windowUnits, "total" as const),
    timezone: fc.constantFrom(...zones),
  });
  holds(input, ({ from, share, unit, timezone }) => {
    const to = from + 1 + Math.floor(share ** 8 * lengthMax[unit]);
    const asked = usageRange({ from: isoTime(from), to: isoTime(to), window: unit, timezone }, 0);
    // Rounded down and up to full quarter-hours.
    const start = from - (from % rollupQuarterMs);
    const end = to % rollupQuarterMs === 0 ? to : to - (to % rollupQuarterMs) + rollupQuarterMs;
    assert.deepEqual([asked.from, asked.to], [start, end]);
    const widened = usageRange({ from: isoTime(start), to: isoTime(end), window: unit, timezone }, 0);
    assert.deepEqual(asked, widened);
    if (unit === "total") assert.deepEqual(asked.windows, [{ start, end }]);
  }, { runs: 600 });
});

Deno.test("weeks start on Monday, months end on the 28th to the 31st, and skipped days are no windows", () => {
  const days = (from: string, to: string, window: WindowUnit, timezone = "UTC") =>
    usageRange({ from, to, window, timezone }, 0).windows
      .map(({ start, end }) => (end - start) / (24 * hourMs));
  assert.deepEqual(days("2026-11-04", "2026-11-18", "week"), [5, 7, 2]);
  assert.deepEqual(days("2028-01-31", "2028-04-01", "month"), [1, 29, 31]);
  assert.deepEqual(days("2011-12-28", "2012-01-01", "day", "Pacific/Apia"), [1, 1, 1]);
});

Deno.test("a range defaults to the current month in the time zone, by days", () => {
  // At this instant it is November in New York and December in Tokyo.
  const now = Date.UTC(2026, 10, 30, 20);
  const range = (input: UsageRangeInput) => {
    const { from, to, unit, timezone, windows } = usageRange(input, now);
    return [isoTime(from), isoTime(to), unit, timezone, windows.length];
  };
  assert.deepEqual(range({}), ["2026-11-01T00:00:00.000Z", "2026-12-01T00:00:00.000Z", "day", "UTC", 30]);
  assert.deepEqual(range({ timezone: "America/New_York" }), [
    ...["2026-11-01T04:00:00.000Z", "2026-12-01T05:00:00.000Z", "day", "America/New_York", 30],
  ]);
  assert.deepEqual(range({ timezone: "Asia/Tokyo" }), [
    ...["2026-11-30T15:00:00.000Z", "2026-12-31T15:00:00.000Z", "day", "Asia/Tokyo", 31],
  ]);
  assert.deepEqual(range({ from: "2026-11-28", window: "hour" }).slice(1, 5), [
    "2026-12-01T00:00:00.000Z",
    "hour",
    "UTC",
    72,
  ]);
});

Deno.test("the current month is complete, even if its first hour was skipped", () => {
  // Clocks went from 00:00 to 01:00 on Sunday, 1 October 2023.
  const { from, to, windows } = usageRange({ timezone: "America/Asuncion" }, Date.UTC(2023, 9, 10));
  assert.equal(isoTime(from), "2023-10-01T04:00:00.000Z");
  assert.equal(isoTime(to), "2023-11-01T03:00:00.000Z");
  assert.equal(windows.length, 31);
});

Deno.test("the current month ends with its last day, even if days have no midnight", () => {
  // Clocks went from 00:00 to 01:00 on Friday, 24 April 2026, so that day began at 01:00.
  const now = Date.UTC(2026, 3, 23, 22);
  const timezone = "Africa/Cairo";
  const { from, to } = usageRange({ timezone }, now);
  assert.equal(isoTime(from), "2026-03-31T22:00:00.000Z");
  assert.equal(isoTime(to), "2026-04-30T21:00:00.000Z");
});

Deno.test("a date is the start of that day in the time zone, and a time has an offset", () => {
  const from = (text: string, timezone: string) =>
    isoTime(usageRange({ from: text, to: "2027-01-01", timezone }, 0).from);
  assert.equal(from("2026-11-21", "Asia/Kathmandu"), "2026-11-20T18:15:00.000Z");
  assert.equal(from("2026-11-21T00:00:00+05:45", "America/New_York"), "2026-11-20T18:15:00.000Z");
  // Clocks go from 00:00 to 01:00 on that day.
  assert.equal(from("2026-09-06", "America/Santiago"), "2026-09-06T04:00:00.000Z");
});

Deno.test("a time zone is an IANA name in any case", () => {
  for (
    const [text, name] of [["europe/berlin", "Europe/Berlin"], ["utc", "UTC"], [
      "Etc/GMT+1",
      "Etc/GMT+1",
    ]] as const
  ) {
    assert.equal(usageRange({ timezone: text }, 0).timezone, name);
  }
  for (
    const text of [
      "",
      "+01:00",
      "-05:00",
      "Mars/Olympus",
      "Europe/Berlin ",
      "Z",
      "A",
      "constructor",
      "UTC[u-ca=hebrew]",
    ]
  ) {
    assert.deepEqual(fault({ timezone: text }), ["validation_failed", "timezone"], text);
  }
});

Deno.test("reports two invalid ends together, each by its field", () => {
  assert.deepEqual(fault({ from: "yesterday", to: "2026-02-30" }), ["validation_failed", "from", "to"]);
  assert.deepEqual(fault({ from: "2026-11-01T00:00:00", to: "2026-11-02" }), ["validation_failed", "from"]);
  assert.deepEqual(fault({ from: "2026-11-02", to: "2026-11-02" }), ["validation_failed", "to"]);
  // A range is checked for emptiness before it is widened to quarter-hours.
  const time = "2026-11-02T00:07:00Z";
  assert.deepEqual(fault({ from: time, to: time }), ["validation_failed", "to"]);
  assert.deepEqual(fault({ from: "2026-11-02", to: "2026-11-01" }), ["validation_failed", "to"]);
  assert.deepEqual(fault({ to: "1969-01-01" }), ["validation_failed", "to"]);
});

Deno.test("a range has at most 1,000 windows", () => {
  const from = Date.UTC(2026, 0);
  const range = (count: number) => ({
    from: isoTime(from),
    to: isoTime(from + count * hourMs),
    window: "hour" as const,
  });
  assert.equal(usageRange(range(usageWindowsMax), 0).windows.length, usageWindowsMax);
  assert.deepEqual(fault(range(usageWindowsMax + 0.25)), ["range_too_long"]);
  assert.deepEqual(fault({ from: "0001-01-01", to: "9999-12-31", window: "hour" }), ["range_too_long"]);
});
