// The windows of limits, where days and months don't begin at midnight.
import assert from "node:assert/strict";
import { limitWindow } from "../../../domain/meter/limit_window.ts";

Deno.test("windows end at midnight, also if they begin at 01:00 because clocks change at midnight", () => {
  const windows = [
    ["day", "Africa/Cairo", "2026-04-22T22:00:00.000Z", "2026-04-23T22:00:00.000Z"],
    ["day", "Africa/Cairo", "2026-04-23T22:00:00.000Z", "2026-04-24T21:00:00.000Z"],
    ["day", "Africa/Cairo", "2026-04-24T21:00:00.000Z", "2026-04-25T21:00:00.000Z"],
    ["month", "America/Asuncion", "2017-09-01T04:00:00.000Z", "2017-10-01T04:00:00.000Z"],
    ["month", "America/Asuncion", "2017-10-01T04:00:00.000Z", "2017-11-01T03:00:00.000Z"],
  ] as const;
  for (const [per, timezone, start, end] of windows) {
    for (const time of [Date.parse(start), Date.parse(end) - 1]) {
      const window = limitWindow(per, timezone, time);
      const found = [window?.start, window?.end].map((ms) => new Date(ms ?? 0).toISOString());
      assert.deepEqual(found, [start, end], `${timezone} ${new Date(time).toISOString()}`);
    }
  }
});
