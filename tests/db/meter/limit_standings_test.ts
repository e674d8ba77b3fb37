// The standings of limits, read without recording: only windows that may have had usage before they were counted have to be summed.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { findCredentials } from "../../../db/meter/key_verification.ts";
import { findLimitStandings } from "../../../db/meter/limit_standings.ts";
import { sumLimit } from "../../../db/meter/limit_counters.ts";
import { restartLimits } from "../../../db/meter/usage_limits.ts";
import { hashApiKey } from "../../../domain/keys/api_key.ts";
import { limitClockMarginMs, usageTimestampFutureMaxMs } from "../../../domain/limits.ts";
import { limitWindow } from "../../../domain/meter/limit_window.ts";
import { sumMicros } from "../../../domain/meter/quantity.ts";
import { limitPeriods } from "../../../domain/meter/usage_limit.ts";
import { createTestKey, type TestApp } from "../../support/app/app.ts";
import { addLimit, softCountersAreKnown } from "../../support/meter/limits.ts";
import { onEveryDatabase, recordOne } from "../../support/meter/usage.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** When a limit is counted from, nothing can have been recorded for later than this. */
const settledMs = limitClockMarginMs + usageTimestampFutureMaxMs;

async function personWithKey(test: TestApp, name: string) {
  const person = await test.signUp(name);
  return { ...person, apiKey: (await createTestKey(test, person)).fullKey };
}

/** Returns the usage of each limit, of a minute first; null if it has to be summed. Known usage is checked against a sum. */
async function usedOf(test: TestApp, { organizationId, apiKey }: { organizationId: string; apiKey: string }) {
  const { database } = test.opened;
  const now = test.now();
  const rows = await findLimitStandings(database, { organizationId, now });
  const verified = await findCredentials(database, {
    tokenHashes: [],
    keyHashes: [],
    usage: [[hashApiKey(apiKey), "tiles", "requests"]],
    now,
  });
  assert.deepEqual(verified.limits, [rows]);
  const used = [];
  for (const row of rows) {
    const known = row.used && sumMicros(row.used);
    if (known !== null) {
      const sum = await sumLimit(database, row, limitWindow(row.per, row.timezone, now));
      assert.equal(known, sumMicros(sum), `${row.per} at ${new Date(now).toISOString()}`);
    }
    used.push(known === null ? null : Number(known / 1_000_000n));
  }
  return used;
}

async function recordAndComplete(test: TestApp, apiKey: string, quantity: number): Promise<void> {
  await recordOne(test, apiKey, { quantity });
  await softCountersAreKnown(test);
}

onEveryDatabase(
  "a window without usage is summed only if it may have had some before the limit",
  async (test) => {
    const ada = await personWithKey(test, "Ada");
    const future = new Date(test.now() + usageTimestampFutureMaxMs).toISOString();
    await recordOne(test, ada.apiKey, { quantity: 5 });
    await recordOne(test, ada.apiKey, { quantity: 7, timestamp: future });
    for (const per of limitPeriods) await addLimit(test, {}, { per, quantity: 50 });
    const unknown = [null, null, null, null, null];
    for (let waited = 0; waited < settledMs; waited += minuteMs) {
      assert.deepEqual(await usedOf(test, ada), unknown);
      test.advance(minuteMs);
    }
    test.advance(minuteMs);
    assert.deepEqual(await usedOf(test, ada), [0, null, null, null, null]);

    // An organization that is new has nothing to be summed.
    const bob = await personWithKey(test, "Bob");
    assert.deepEqual(await usedOf(test, bob), [0, 0, 0, 0, 0]);
    await recordAndComplete(test, bob.apiKey, 3);
    assert.deepEqual(await usedOf(test, bob), [3, 3, 3, 3, 3]);

    test.advance(2 * dayMs);
    assert.deepEqual(await usedOf(test, ada), [0, 0, 0, null, null]);
    assert.deepEqual(await usedOf(test, bob), [0, 0, 0, 3, 3]);
    await recordAndComplete(test, ada.apiKey, 2);
    assert.deepEqual(await usedOf(test, ada), [2, 2, 2, 14, 14]);
    test.advance(60 * dayMs);
    assert.deepEqual(await usedOf(test, ada), [0, 0, 0, 0, 14]);
  },
);

onEveryDatabase("windows are summed whose counters were deleted or have become invalid", async (test) => {
  const { database } = test.opened;
  for (const per of limitPeriods) await addLimit(test, {}, { per, quantity: 50 });
  test.advance(settledMs + hourMs);
  const ada = await personWithKey(test, "Ada");
  await recordAndComplete(test, ada.apiKey, 4);

  await database.write([
    sql`DELETE FROM usage_limit_counters WHERE window_number >= 1000000`,
    sql`UPDATE usage_cursor SET limits_swept_until = ${test.now() + 1}`,
  ]);
  assert.deepEqual(await usedOf(test, ada), [null, null, 4, 4, 4]);
  test.advance(hourMs);
  assert.deepEqual(await usedOf(test, ada), [0, 0, 4, 4, 4]);

  await recordAndComplete(test, ada.apiKey, 1);
  assert.deepEqual(await usedOf(test, ada), [1, 1, 5, 5, 5]);
  await database.write([
    sql`UPDATE organizations SET ${restartLimits(test.now())} WHERE id = ${ada.organizationId}`,
  ]);
  assert.deepEqual(await usedOf(test, ada), [null, null, null, null, null]);
  // What is recorded opens the counters again, and completes them.
  await recordAndComplete(test, ada.apiKey, 2);
  assert.deepEqual(await usedOf(test, ada), [3, 3, 7, 7, 7]);
  // A counter that lacks something is not taken for complete.
  await database.write([sql`UPDATE usage_limit_counters SET is_known = 0`]);
  assert.deepEqual(await usedOf(test, ada), [null, null, null, null, null]);
});
