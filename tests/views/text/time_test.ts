// Times in words, the same on every machine.
import assert from "node:assert/strict";
import type { Locale } from "../../../domain/locale.ts";
import { presentation, presentedIn } from "../../../domain/presentation.ts";
import { dateRangeWords, exactTime, relativeTime, shortDate } from "../../../views/text/time.ts";

const now = Date.parse("2026-11-21T14:05:11.250Z");

for (
  const [at, words] of [
    ["2026-11-21T14:05:11.250Z", "Just now"],
    ["2026-11-21T14:04:11.251Z", "Just now"],
    ["2026-11-21T14:04:11.250Z", "1 minute ago"],
    ["2026-11-21T14:03:00Z", "2 minutes ago"],
    ["2026-11-21T13:05:11.250Z", "1 hour ago"],
    ["2026-11-21T00:00:00Z", "14 hours ago"],
    ["2026-11-20T23:59:59Z", "Yesterday"],
    ["2026-11-20T00:00:00Z", "Yesterday"],
    ["2026-11-19T23:59:59Z", "2 days ago"],
    ["2026-11-15T00:00:00Z", "6 days ago"],
    ["2026-11-14T23:59:59Z", "Nov 14"],
    ["2026-09-03T10:00:00Z", "Sep 3"],
    ["2025-12-31T23:59:59Z", "Dec 31, 2025"],
    ["2026-11-21T14:05:40Z", "in less than a minute"],
    ["2026-11-21T15:05:11.249Z", "in 59 minutes"],
    ["2026-11-21T15:05:11.250Z", "in 1 hour"],
    ["2026-11-22T15:00:00Z", "in 24 hours"],
    ["2026-11-23T14:05:11.249Z", "in 47 hours"],
    ["2026-11-23T14:05:11.250Z", "in 2 days"],
    ["2026-11-28T14:05:11.249Z", "in 7 days"],
    ["2026-11-28T00:00:00Z", "in 7 days"],
    ["2026-11-27T23:59:59Z", "in 6 days"],
    ["2026-12-21T15:00:00Z", "in 30 days"],
    ["2026-12-23T00:00:00Z", "Dec 23"],
    ["2027-02-19T14:00:00Z", "Feb 19, 2027"],
  ] as const
) {
  Deno.test(`relativeTime() returns "${words}" for ${at}`, () => {
    assert.equal(relativeTime(Date.parse(at), now), words);
  });
}

Deno.test("relativeTime() returns hours for the previous evening shortly after midnight", () => {
  const night = Date.parse("2026-11-21T01:00:00Z");
  assert.equal(relativeTime(Date.parse("2026-11-20T22:00:00Z"), night), "3 hours ago");
});

Deno.test("exactTime() includes seconds and the time zone", () => {
  assert.equal(exactTime(Date.parse("2026-11-21T14:03:11.999Z")), "Nov 21, 2026, 14:03:11 UTC");
});

Deno.test("shortDate() omits only the current year", () => {
  assert.equal(shortDate(Date.parse("2026-01-01T00:00:00Z"), now), "Jan 1");
  assert.equal(shortDate(Date.parse("2027-01-01T00:00:00Z"), now), "Jan 1, 2027");
});

for (
  const [start, end, words] of [
    ["2026-11-01", "2026-12-01", "November 1–30, 2026"],
    ["2026-11-21", "2026-11-22", "November 21, 2026"],
    ["2026-11-20T15:00:00Z", "2026-11-21T15:00:00Z", "November 20–21, 2026"],
    ["2026-08-24", "2026-11-22", "August 24 – November 21, 2026"],
    ["2025-12-30", "2026-01-03", "December 30, 2025 – January 2, 2026"],
    ["2026-11-21", "2026-11-21", "November 21, 2026"],
  ] as const
) {
  Deno.test(`dateRangeWords() returns "${words}" for ${start} to ${end}`, () => {
    assert.equal(dateRangeWords({ start: Date.parse(start), end: Date.parse(end) }), words);
  });
}

Deno.test("dates are written in the reader's format and time zone", () => {
  const at = Date.parse("2026-11-20T22:30:00Z");
  const range = { start: Date.parse("2026-11-01"), end: Date.parse("2026-12-01") };
  const shown = (locale: Locale, timezone = "UTC") =>
    presentedIn({ ...presentation(), locale, timezone }, () => [
      shortDate(at, now),
      exactTime(at),
      dateRangeWords(range, { now, form: "short" }),
      relativeTime(at, now),
    ]);
  assert.deepEqual(shown("en-US"), ["Nov 20", "Nov 20, 2026, 22:30:00 UTC", "Nov 1–30", "Yesterday"]);
  assert.deepEqual(shown("en-US", "Asia/Tokyo").slice(0, 2), ["Nov 21", "Nov 21, 2026, 07:30:00 Asia/Tokyo"]);
  assert.equal(shown("en-US", "Asia/Tokyo")[3], "15 hours ago");
  assert.deepEqual(shown("en-GB").slice(0, 1), ["20 Nov"]);
  assert.deepEqual(shown("de").slice(0, 3), ["20. Nov.", "20. Nov. 2026, 22:30:00 UTC", "1.–30. Nov."]);
  assert.deepEqual(shown("ja").slice(0, 2), ["11月20日", "2026年11月20日, 22:30:00 UTC"]);
});
