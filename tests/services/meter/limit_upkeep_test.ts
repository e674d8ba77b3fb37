// Old counters of limits are deleted, a little at a time, and the offsets of time zones are kept up to date.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { ahead, timezoneRows, windowNumber } from "../../../db/meter/usage_limits.ts";
import { limitSweepRowsMax } from "../../../domain/limits.ts";
import { type LimitPeriod, limitPeriods } from "../../../domain/meter/usage_limit.ts";
import {
  deleteCountersOfRemovedLimits,
  deleteOldCounters,
  refreshTimezones,
} from "../../../services/meter/limit_upkeep.ts";
import type { TestApp } from "../../support/app/app.ts";
import { addLimit } from "../../support/meter/limits.ts";
import { onEveryDatabase } from "../../support/meter/usage.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Inserts a counter and a notice of a limit. */
async function insertCounter(
  { opened: { database } }: TestApp,
  { number, per, at, timezone = "UTC" }: { number: number; per: LimitPeriod; at: number; timezone?: string },
): Promise<void> {
  const window = windowNumber(sql`v.per`, sql`v.at`, ahead(sql`v.timezone`, sql`v.at`));
  const values = sql`(SELECT ${per} AS per, CAST(${at} AS INTEGER) AS at, ${timezone} AS timezone) v`;
  await database.write([
    sql`INSERT INTO usage_limit_counters (usage_limit, organization, window_number, sum_high, sum_low, sum_micro,
      is_known, opened_seq) SELECT ${number}, 1, ${window}, 0, 1, 0, 1, 0 FROM ${values}`,
    sql`INSERT INTO limit_notices (usage_limit, organization, window_number, percent, is_refusal, used, at, noted_at)
      SELECT ${number}, 1, ${window}, 80, 0, '[0,1,0]', ${at}, ${at} FROM ${values}`,
  ]);
}

async function countOf(
  { opened: { database } }: TestApp,
  table: "usage_limit_counters" | "limit_notices",
): Promise<number> {
  const rows = await database.read<{ count: number }>({
    sql: `SELECT count(*) AS count FROM ${table}`,
    args: [],
  });
  return rows[0]?.count ?? 0;
}

onEveryDatabase(
  "counters are deleted when records for their windows are no longer expected",
  async (test) => {
    const { database } = test.opened;
    const zones = ["UTC", "Pacific/Auckland", "Pacific/Honolulu"];
    await database.write(zones.flatMap((zone) => timezoneRows(zone, test.now())));
    const periods: Record<LimitPeriod, readonly [keptMs: number, slackMs: number]> = {
      minute: [2 * dayMs, 60_000],
      hour: [2 * dayMs, 2 * hourMs],
      day: [400 * dayMs, 7 * dayMs],
      month: [400 * dayMs, 40 * dayMs],
      total: [400 * dayMs, 100 * dayMs],
    };
    for (const per of limitPeriods) {
      const [keptMs, slackMs] = periods[per];
      for (const timezone of zones) {
        const { number } = await addLimit(test, {}, { per, metric: timezone.slice(-4) });
        // Its one window is always current, also long after it was noted.
        const ages = per === "total" ? [500 * dayMs] : [0, ...[0, 1, 2].map((n) => keptMs + n * slackMs)];
        for (const age of ages) {
          await insertCounter(test, { number, per, at: test.now() - age, timezone });
        }
      }
    }
    assert.equal(await countOf(test, "usage_limit_counters"), zones.length * 17);
    while (await deleteOldCounters(test.services));
    for (const table of [sql`usage_limit_counters`, sql`limit_notices`]) {
      const left = await database.read<{ per: string; count: number }>(sql`
        SELECT l.per, count(*) AS count FROM ${table} c JOIN usage_limits l ON l.number = c.usage_limit
        GROUP BY 1 ORDER BY 1`);
      assert.deepEqual(left.map(({ per, count }) => [per, count / zones.length]), [
        ["day", 2],
        ["hour", 2],
        ["minute", 2],
        ["month", 2],
        ["total", 1],
      ]);
    }
    const cursor = await database.readFirst<{ until: number }>(
      sql`SELECT limits_swept_until AS until FROM usage_cursor`,
    );
    assert.equal(cursor?.until, test.now() - 2 * dayMs);
    assert.equal(await deleteOldCounters(test.services), false);
  },
);

onEveryDatabase("the counters and notices of a removed limit are deleted in steps", async (test) => {
  const { database } = test.opened;
  // One limit has more counters than a step deletes, the next one more notices.
  const removed = await addLimit(test, {}, { per: "total" });
  const noticed = await addLimit(test, {}, { per: "month" });
  const other = await addLimit(test, {}, { per: "day" });
  await insertCounter(test, { ...removed, at: test.now() });
  await insertCounter(test, { ...other, at: test.now() });
  const more = JSON.stringify(Array.from({ length: limitSweepRowsMax + 1 }, (_, n) => n + 2));
  await database.write([
    sql`INSERT INTO usage_limit_counters (usage_limit, organization, window_number, sum_high, sum_low, sum_micro,
        is_known, opened_seq)
      SELECT ${removed.number}, e.value, 0, 0, 0, 0, 1, 0 FROM json_each(${more}) e`,
    sql`INSERT INTO limit_notices (usage_limit, organization, window_number, percent, is_refusal, used, at, noted_at)
      SELECT ${noticed.number}, e.value, 0, 80, 0, '[0,1,0]', 0, 0 FROM json_each(${more}) e`,
  ]);
  assert.equal(await deleteCountersOfRemovedLimits(test.services), false);
  await database.write([sql`DELETE FROM usage_limits WHERE number <> ${other.number}`]);
  assert.equal(await deleteCountersOfRemovedLimits(test.services), true);
  assert.equal(await countOf(test, "usage_limit_counters"), 3);
  for (let steps = 0; await deleteCountersOfRemovedLimits(test.services); steps++) assert.ok(steps < 10);
  assert.equal(await countOf(test, "usage_limit_counters"), 1);
  assert.equal(await countOf(test, "limit_notices"), 1);
});

onEveryDatabase("the offsets of time zones reach years ahead of each refresh", async (test) => {
  const { database } = test.opened;
  for (const zone of ["America/New_York", "Europe/Berlin", "Pacific/Auckland"]) {
    await database.write(timezoneRows(zone, test.now()));
  }
  const read = async (zone = "Europe/Berlin") => {
    const rows = await database.read<{ since: number; ahead: number }>(
      sql`SELECT since, ahead FROM timezone_offsets WHERE timezone = ${zone} ORDER BY since`,
    );
    return rows.map(({ since, ahead }) => [new Date(since).toISOString(), ahead / hourMs]);
  };
  const before = await read();
  assert.deepEqual(before.slice(0, 3), [
    ["2025-07-09T14:03:11.250Z", 2],
    ["2025-10-26T01:00:00.000Z", 1],
    ["2026-03-29T01:00:00.000Z", 2],
  ]);
  assert.deepEqual(before.at(-1), ["2031-10-26T01:00:00.000Z", 1]);
  test.advance(365 * dayMs);
  await refreshTimezones(test.services);
  const after = await read();
  assert.deepEqual(after.slice(0, 2), [["2026-07-09T14:03:11.250Z", 2], ["2026-10-25T01:00:00.000Z", 1]]);
  assert.deepEqual(after.at(-1), ["2032-10-31T01:00:00.000Z", 1]);
  assert.deepEqual((await read("America/New_York")).at(-1), ["2032-11-07T06:00:00.000Z", -5]);
  assert.deepEqual((await read("Pacific/Auckland")).at(-1), ["2032-09-25T14:00:00.000Z", 13]);
});
