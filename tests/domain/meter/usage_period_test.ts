// The period of the usage page: whole days of the zone, the previous period of the same kind, and for any URL a period or a
// message at a field.
import assert from "node:assert/strict";
import { rollupQuarterMs } from "../../../domain/limits.ts";
import {
  parsePeriodQuery,
  periodFaults,
  type PeriodQuery,
  type ReportPeriod,
  reportRanges,
} from "../../../domain/meter/usage_period.ts";
import { usageRange, type UsageWindow } from "../../../domain/meter/usage_window.ts";
import { isoTime } from "../../../domain/time.ts";
import fc from "../../support/runner/fast_check.ts";
import { holds } from "../properties.ts";

const now = Date.parse("2026-11-21T14:03:11.250Z");
const zones = [
  "UTC",
  "Europe/Berlin",
  "America/St_Johns",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "America/Santiago",
];

function periodOf(query: PeriodQuery, at = now): ReportPeriod {
  const { period, faults } = parsePeriodQuery(query, at);
  assert.deepEqual(faults, {});
  return period ?? assert.fail("no period");
}

function words({ start, end }: UsageWindow): string {
  return `${isoTime(start).slice(0, 16)} ${isoTime(end).slice(0, 16)}`;
}

/** Queries, the period before, up to where it is compared, and the period itself. */
const comparisons: (readonly [PeriodQuery, before: string, compared: string, shown?: string])[] = [
  [{}, "2026-10-01T00:00 2026-11-01T00:00", "2026-10-21T14:15", "2026-11-01T00:00 2026-12-01T00:00"],
  [
    { range: "24h" },
    "2026-11-19T15:00 2026-11-20T15:00",
    "2026-11-20T14:15",
    "2026-11-20T15:00 2026-11-21T15:00",
  ],
  [
    { range: "24h", timezone: "Asia/Kathmandu" },
    "2026-11-19T14:15 2026-11-20T14:15",
    "2026-11-20T14:15",
    "2026-11-20T14:15 2026-11-21T14:15",
  ],
  [
    { range: "7d", timezone: "America/New_York" },
    "2026-11-08T05:00 2026-11-15T05:00",
    "2026-11-14T14:15",
    "2026-11-15T05:00 2026-11-22T05:00",
  ],
  [
    { range: "90d" },
    "2026-05-26T00:00 2026-08-24T00:00",
    "2026-08-23T14:15",
    "2026-08-24T00:00 2026-11-22T00:00",
  ],
  [
    { range: "last-month", timezone: "Europe/Berlin" },
    "2026-08-31T22:00 2026-09-30T22:00",
    "2026-09-30T22:00",
    "2026-09-30T22:00 2026-10-31T23:00",
  ],
  [
    { range: "custom", from: "2026-10-20", to: "2026-10-29" },
    "2026-10-10T00:00 2026-10-20T00:00",
    "2026-10-20T00:00",
    "2026-10-20T00:00 2026-10-30T00:00",
  ],
  [{ compare: "last-month" }, "2026-10-01T00:00 2026-11-01T00:00", "2026-10-21T14:15"],
  [{ compare: "last-year" }, "2025-11-01T00:00 2025-12-01T00:00", "2025-11-21T14:15"],
  [{ range: "7d", compare: "last-month" }, "2026-10-15T00:00 2026-10-22T00:00", "2026-10-21T14:15"],
  [{ range: "24h", compare: "last-year" }, "2025-11-20T15:00 2025-11-21T15:00", "2025-11-21T14:15"],
  [
    { from: "2026-03-30", to: "2026-03-30", compare: "last-month" },
    "2026-02-28T00:00 2026-03-01T00:00",
    "2026-03-01T00:00",
  ],
  [
    { from: "2026-03-27", to: "2026-04-02", compare: "last-month" },
    "2026-02-27T00:00 2026-03-06T00:00",
    "2026-03-06T00:00",
  ],
  [
    { from: "2026-11-01", to: "2026-11-30", compare: "last-month" },
    "2026-10-01T00:00 2026-11-01T00:00",
    "2026-10-21T14:15",
  ],
  [
    { compare: "custom", compareFrom: "2026-09-01", compareTo: "2026-09-10" },
    "2026-09-01T00:00 2026-09-11T00:00",
    "2026-09-11T00:00",
  ],
];

for (const [query, before, compared, shown] of comparisons) {
  Deno.test(`parsePeriodQuery() compares ${JSON.stringify(query)} with ${before}`, () => {
    const period = periodOf(query);
    if (shown !== undefined) assert.equal(words(period), shown);
    assert.equal(words(period.before), before);
    assert.equal(words(period.compared), `${before.slice(0, 16)} ${compared}`);
  });
}

Deno.test("parsePeriodQuery() compares full months with the same number of months, not of days", () => {
  const { before } = periodOf({ from: "2026-03-01", to: "2026-03-31" });
  assert.equal(words(before), "2026-02-01T00:00 2026-03-01T00:00");
  const quarter = periodOf({ from: "2026-07-01", to: "2026-09-30" });
  assert.equal(words(quarter.before), "2026-04-01T00:00 2026-07-01T00:00");
});

Deno.test("parsePeriodQuery() compares by clock time when clocks changed in between", () => {
  const at = Date.parse("2026-10-25T14:03:00Z");
  const { compared } = periodOf({ range: "7d", timezone: "Europe/Berlin" }, at);
  // 15:15 in Berlin, in winter time and, a week earlier, in summer time.
  assert.equal(isoTime(compared.end), "2026-10-18T13:15:00.000Z");
});

Deno.test("parsePeriodQuery() defaults to windows that are neither few nor many", () => {
  const unit = (query: PeriodQuery) => parsePeriodQuery(query, now).unit;
  assert.deepEqual(reportRanges.slice(0, 6).map((range) => unit({ range })), [
    "hour",
    "hour",
    "day",
    "day",
    "day",
    "day",
  ]);
  assert.equal(unit({ from: "2026-11-20", to: "2026-11-21" }), "hour");
  assert.equal(unit({ from: "2026-11-19", to: "2026-11-21" }), "day");
  assert.equal(unit({ from: "2025-12-01", to: "2026-11-21" }), "week");
  assert.equal(unit({ from: "2020-01-01", to: "2026-11-21" }), "month");
  assert.equal(unit({ range: "90d", window: "week" }), "week");
  assert.equal(unit({ range: "90d", window: "minute" }), "day");
});

Deno.test("parsePeriodQuery() has longer windows and fewer choices where there would be too many bars", () => {
  const read = (query: PeriodQuery) => parsePeriodQuery(query, now);
  assert.equal(read({ range: "7d", window: "hour" }).unit, "hour");
  assert.equal(read({ range: "month", window: "hour" }).unit, "4h");
  assert.equal(read({ from: "2026-10-01", to: "2026-11-10", window: "hour" }).unit, "6h");
  assert.equal(read({ range: "90d", window: "hour" }).unit, "day");
  assert.equal(read({ from: "2025-01-01", to: "2026-11-10", window: "hour" }).unit, "week");
  assert.deepEqual(read({ range: "90d" }).units, ["day", "week", "month"]);
  assert.equal(read({ from: "2002-01-01", to: "2026-11-10", window: "hour" }).unit, "month");
});

Deno.test("parsePeriodQuery() compares today with yesterday until the same time", () => {
  const { start, end, before, compared } = periodOf({ range: "today", timezone: "Europe/Berlin" });
  assert.equal(words({ start, end }), "2026-11-20T23:00 2026-11-21T23:00");
  assert.equal(words(before), "2026-11-19T23:00 2026-11-20T23:00");
  assert.equal(words(compared), "2026-11-19T23:00 2026-11-20T14:15");
});

Deno.test("parsePeriodQuery() defaults custom days to the month up to today, in the zone", () => {
  const at = Date.parse("2026-11-21T23:30:00Z");
  const { days } = parsePeriodQuery({ range: "custom", timezone: "Europe/Berlin" }, at);
  assert.deepEqual(days, { from: "2026-11-01", to: "2026-11-22" });
});

for (
  const [query, faults] of [
    [{ from: "2026-11-10" }, { to: periodFaults.dayMissing }],
    [{ to: "2026-11-10" }, { from: periodFaults.dayMissing }],
    [{ from: "2026-02-30", to: "soon" }, {
      from: periodFaults.dayForm,
      to: periodFaults.dayForm,
    }],
    [{ from: "2026-11-10T00:00:00Z", to: "2026-11-11" }, { from: periodFaults.dayForm }],
    [{ from: "2026-11-11", to: "2026-11-10" }, { to: periodFaults.dayOrder }],
    [{ from: "2001-11-21", to: "2026-11-21" }, { to: "Choose at most 25 years." }],
    [{ from: "1890-01-01", to: "2026-11-10" }, { from: "Choose a date from 2000 to 2099." }],
  ] as const
) {
  Deno.test(`parsePeriodQuery() reports the invalid field of ${JSON.stringify(query)}`, () => {
    const choice = parsePeriodQuery(query, now);
    assert.deepEqual(choice.faults, faults);
    assert.equal(choice.period, null);
    const typed: PeriodQuery = query;
    assert.deepEqual(choice.days, { from: typed.from ?? "", to: typed.to ?? "" });
  });
}

for (
  const [query, faults] of [
    [{ compare: "custom" }, { compare: periodFaults.comparedDays }],
    [{ compare: "custom", compareFrom: "2026-11-10" }, { compareTo: periodFaults.dayMissing }],
    [
      { compare: "custom", compareFrom: "2026-11-10", compareTo: "2026-11-09" },
      { compareTo: periodFaults.dayOrder },
    ],
    [{ range: "x", window: "x", compare: "x" }, {
      range: periodFaults.range,
      window: periodFaults.window,
      compare: periodFaults.compare,
    }],
  ] as const
) {
  Deno.test(`parsePeriodQuery() reports ${Object.keys(faults)} of ${JSON.stringify(query)} and compares with the previous period`, () => {
    const choice = parsePeriodQuery(query, now);
    assert.deepEqual(choice.faults, faults);
    assert.deepEqual(choice.period, parsePeriodQuery({}, now).period);
  });
}

Deno.test("parsePeriodQuery() falls back to UTC and reports it", () => {
  for (const timezone of ["Mars/Olympus", "+02:00", "\0", "Europe/Berlin\n"]) {
    const choice = parsePeriodQuery({ range: "7d", timezone }, now);
    assert.equal(choice.timezone, "UTC");
    assert.equal(choice.faults.timezone, periodFaults.timezone);
    assert.notEqual(choice.period, null);
  }
  assert.equal(parsePeriodQuery({ timezone: "europe/berlin" }, now).timezone, "Europe/Berlin");
});

Deno.test("parsePeriodQuery() returns a valid choice for any URL at any time", () => {
  const day = fc.date({
    min: new Date("1999-06-01"),
    max: new Date("2100-06-01"),
    noInvalidDate: true,
  }).map((date) => isoTime(date.getTime()).slice(0, 10));
  const text = fc.option(fc.oneof(day, fc.string({ unit: "binary", maxLength: 12 })), { nil: undefined });
  const query = fc.record({
    range: fc.option(fc.oneof(fc.constantFrom(...reportRanges), fc.string()), { nil: undefined }),
    from: text,
    to: text,
    window: fc.option(fc.constantFrom("hour", "day", "week", "month", "?"), { nil: undefined }),
    compare: fc.option(fc.constantFrom("last-month", "last-year", "custom", "?"), { nil: undefined }),
    compareFrom: text,
    compareTo: text,
    timezone: fc.option(fc.oneof(fc.constantFrom(...zones), fc.string({ unit: "binary" })), {
      nil: undefined,
    }),
  });
  const at = fc.integer({ min: Date.parse("2000-03-01"), max: Date.parse("2099-11-01") });
  holds(fc.tuple(query, at), ([query, at]) => {
    const { period, faults, timezone, unit, compare } = parsePeriodQuery(query, at);
    if (period === null) return assert.ok(faults.from !== undefined || faults.to !== undefined);
    const { start, end, before, compared } = period;
    assert.ok(before.start < before.end && start < end);
    if (compare === "previous") assert.equal(before.end, start);
    assert.ok(compared.start === before.start && compared.end > compared.start && compared.end <= before.end);
    for (const ms of [start, end, before.start, compared.end]) {
      assert.equal(Math.abs(ms % rollupQuarterMs), 0);
    }
    for (const { start, end } of compare === "custom" ? [period] : [period, compared]) {
      const input = { from: isoTime(start), to: isoTime(end), timezone };
      usageRange({ ...input, window: "month" }, at);
      if (unit === period.defaultUnit) usageRange({ ...input, window: unit }, at);
    }
  });
});
