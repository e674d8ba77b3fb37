// Counters of limits are completed with what was recorded before they were opened.
import assert from "node:assert/strict";
import { joinSql, sql } from "../../../db/engine/database.ts";
import { findMissingSums } from "../../../db/meter/limit_counters.ts";
import type { LimitCell } from "../../../db/meter/recorder_limits.ts";
import {
  ahead,
  countedSeq,
  isApplied,
  restartLimits,
  timezoneRows,
  windowNumber,
} from "../../../db/meter/usage_limits.ts";
import { limitCellsPerReportMax, limitMinuteRecordsMax } from "../../../domain/limits.ts";
import { limitWindow } from "../../../domain/meter/limit_window.ts";
import { microsToDecimal, sumMicros } from "../../../domain/meter/quantity.ts";
import { limitPeriods } from "../../../domain/meter/usage_limit.ts";
import { LimitCounters } from "../../../services/meter/limit_counters.ts";
import { createTestKey, type TestApp, testApp } from "../../support/app/app.ts";
import { addLimit, softCountersAreKnown } from "../../support/meter/limits.ts";
import { listAll, onEveryDatabase, recordAll, unlimited, voidOne } from "../../support/meter/usage.ts";

const dayMs = 24 * 3_600_000;

function randomNumbers(seed: number) {
  let state = seed;
  return (below: number) => (state = state * 48271 % 2147483647) % below;
}

async function numberOf({ opened: { database } }: TestApp, organizationId: string): Promise<number> {
  const row = await database.readFirst<{ number: number }>(
    sql`SELECT number FROM organizations WHERE id = ${organizationId}`,
  );
  return row?.number ?? 0;
}

/** Opens counters that lack what was recorded before. @returns Their cells. */
async function openCounters(
  { opened: { database } }: TestApp,
  { organization, timezone, limits, times }: {
    organization: number;
    timezone: string;
    limits: readonly { number: number }[];
    times: readonly number[];
  },
): Promise<LimitCell[]> {
  const at = sql`CAST(t.value AS INTEGER)`;
  const cells = await database.read<LimitCell>(sql`
    SELECT l.number AS usageLimit, ${organization} AS organization, l.product_slug AS productSlug, l.metric, l.per,
      l.lineage, ${timezone} AS timezone, 1 AS openedSeq, ${at} AS at,
      ${windowNumber(sql`l.per`, at, ahead(sql`${timezone}`, at))} AS windowNumber
    FROM json_each(${JSON.stringify(limits.map(({ number }) => number))}) n
    JOIN usage_limits l ON l.number = n.value CROSS JOIN json_each(${JSON.stringify(times)}) t`);
  await database.write([sql`
    INSERT INTO usage_limit_counters (usage_limit, organization, window_number, sum_high, sum_low, sum_micro,
      is_known, opened_seq)
    SELECT value ->> 'usageLimit', value ->> 'organization', value ->> 'windowNumber', 0, 3, 500000, 0, 1
    FROM json_each(${JSON.stringify(cells)}) WHERE true ON CONFLICT DO NOTHING`]);
  return cells;
}

const newCounters = ({ services }: TestApp) =>
  new LimitCounters(services, { onError: (error) => assert.fail(String(error)) });

/** Returns the counters of a limit as decimal texts, by window. */
async function readCounters({ opened: { database } }: TestApp, usageLimit: number) {
  const rows = await database.read<
    Record<"high" | "low" | "micro", string> & { window: number; known: number }
  >(
    sql`SELECT window_number AS window, is_known AS known, CAST(sum_high AS TEXT) AS high,
      CAST(sum_low AS TEXT) AS low, CAST(sum_micro AS TEXT) AS micro
      FROM usage_limit_counters WHERE usage_limit = ${usageLimit}`,
  );
  return new Map(rows.map(({ window, known, ...parts }) => [
    window,
    known === 0 ? "unknown" : microsToDecimal(sumMicros(parts)),
  ]));
}

/** Returns the sums of valid counters, and those of the records in their windows, in millionths. */
async function readWindows({ opened: { database } }: TestApp) {
  const all = await database.read<{ name: string; counted: string | null; recorded: string | null }>(sql`
    WITH sums AS (
      SELECT l.number AS usage_limit, o.number AS organization,
        ${
    windowNumber(sql`l.per`, sql`r.timestamp`, ahead(sql`o.timezone`, sql`r.timestamp`))
  } AS window_number,
        sum(r.quantity_whole * 1000000 + r.quantity_micro) AS micros
      FROM usage_records r JOIN usage_series s ON s.id = r.series JOIN api_keys k ON k.number = s.api_key
      JOIN organizations o ON o.number = r.organization
      JOIN usage_limits l ON ${
    isApplied({
      lineage: sql`k.lineage`,
      series: { productSlug: sql`s.product_slug`, metric: sql`s.metric` },
    })
  }
      WHERE NOT EXISTS (SELECT 1 FROM usage_voids v WHERE v.seq = r.seq) GROUP BY 1, 2, 3)
    SELECT l.per || ' ' || c.usage_limit || ' ' || c.window_number AS name,
      CAST((c.sum_high * 67108864 + c.sum_low) * 1000000 + c.sum_micro AS TEXT) AS counted,
      CAST(coalesce(sums.micros, 0) AS TEXT) AS recorded
    FROM usage_limit_counters c JOIN usage_limits l ON l.number = c.usage_limit
    JOIN organizations o ON o.number = c.organization
    LEFT JOIN sums ON sums.usage_limit = c.usage_limit AND sums.organization = c.organization
      AND sums.window_number = c.window_number
    WHERE c.is_known = 1 AND c.opened_seq >= ${countedSeq} ORDER BY name`);
  return {
    counted: all.map(({ name, counted }) => `${name}: ${counted}`),
    recorded: all.map(({ name, recorded }) => `${name}: ${recorded}`),
  };
}

onEveryDatabase("counters are completed while usage is recorded and voided", async (test) => {
  const random = randomNumbers(41);
  const ada = await test.signUp();
  const { id: apiKeyId, fullKey: apiKey } = await createTestKey(test, ada);
  // The clocks of several servers differ by less.
  test.advance(3_600_000);
  const newRecord = () => ({
    productSlug: `p${random(2)}`,
    metric: "m",
    quantity: random(1_000_000) / 1000,
    timestamp: new Date(test.now() - random(random(2) === 0 ? 120_000 : 30 * dayMs)).toISOString(),
  });
  await recordAll(test, { apiKey, records: Array.from({ length: 150 }, newRecord) });
  const { database } = test.opened;
  await database.write([
    ...timezoneRows("Australia/Lord_Howe", test.now()),
    sql`UPDATE organizations SET timezone = 'Australia/Lord_Howe'`,
  ]);
  const quantity = 1_000_000_000;
  for (const per of limitPeriods) {
    await addLimit(test, {}, { per, quantity, mode: "hard" });
    await addLimit(test, { organizationId: ada.organizationId }, { per, quantity, productSlug: "p1" });
    await addLimit(test, { apiKeyId }, { per, quantity, metric: "m" });
  }
  const voidable = await listAll(test, apiKey);
  for (let round = 0; round < 2; round++) {
    // All counters have to be opened again.
    await database.write([sql`UPDATE organizations SET ${restartLimits(test.now())}`]);
    await Promise.all(Array.from({ length: 24 }, async (_, n) => {
      if (n % 3 === 0) {
        await voidOne(test, { apiKey, id: voidable.pop()?.id ?? "" });
        return;
      }
      const records = Array.from({ length: n % 2 === 0 ? 1 : 10 }, newRecord);
      assert.equal(await recordAll(test, { apiKey, records }), records.length);
    }));
    await softCountersAreKnown(test);
    const { counted, recorded } = await readWindows(test);
    assert.deepEqual(counted, recorded);
    assert.ok(counted.length > 100, `${counted.length}`);
  }
});

onEveryDatabase("an organization with many windows delays only itself", async (test) => {
  const [ada, bob] = [await test.signUp("Ada"), await test.signUp("Bob")];
  const [many, few] = [await numberOf(test, ada.organizationId), await numberOf(test, bob.organizationId)];
  const limits = [await addLimit(test, {}, { per: "minute" })];
  const open = (organization: number, count: number) =>
    openCounters(test, {
      organization,
      timezone: "UTC",
      limits,
      times: Array.from({ length: count }, (_, n) => test.now() - n * 60_000),
    });
  const cells = [await open(many, 2 * limitCellsPerReportMax), await open(few, 2)];
  const completed: (number | undefined)[] = [];
  const limitCounters = newCounters(test);
  await Promise.all(cells.map(async (ofOrganization) => {
    await limitCounters.complete(ofOrganization);
    completed.push(ofOrganization[0]?.organization);
  }));
  assert.deepEqual(completed, [few, many]);
  const counters = await readCounters(test, limits[0]?.number ?? 0);
  assert.equal([...counters.values()].filter((value) => value === "unknown").length, 0);
});

Deno.test("a request waits for its own counters, although others of its organization keep coming", async () => {
  const cellsOf = (usageLimit: number, count: number) =>
    Array.from(
      { length: count },
      (_, windowNumber) => ({ usageLimit, organization: 1, windowNumber }) as LimitCell,
    );
  let jobs = 0;
  let hasWaited = false;
  const others: Promise<void>[] = [];
  const read = () => {
    if (!hasWaited && jobs < 100) others.push(counters.complete(cellsOf(1_000 + jobs, 150)));
    return Promise.resolve((jobs++, []));
  };
  const counters = new LimitCounters({ reports: { read } } as never, {
    onError: (error) => assert.fail(String(error)),
  });
  others.push(counters.complete(cellsOf(1, 150)));
  await counters.complete(cellsOf(2, 1));
  hasWaited = true;
  assert.ok(jobs < 10, `${jobs} jobs`);
  await Promise.all(others);
});

onEveryDatabase("a counter that is opened again is not completed with its earlier window", async (test) => {
  const { organizationId } = await test.signUp();
  const organization = await numberOf(test, organizationId);
  const limits = [await addLimit(test, { organizationId }, { per: "day" })];
  const { database } = test.opened;
  // The next day in Auckland.
  const times = [Date.UTC(2026, 10, 20, 20)];
  const cells = await openCounters(test, { organization, timezone: "UTC", limits, times });
  const [found] = cells;
  assert.ok(found);
  await database.write([
    ...timezoneRows("Pacific/Auckland", test.now()),
    sql`UPDATE organizations SET timezone = 'Pacific/Auckland', ${restartLimits(test.now())}`,
    sql`UPDATE usage_limit_counters SET opened_seq = (SELECT limits_seq FROM organizations) + 5`,
  ]);
  assert.equal(await findMissingSums(database, found, { start: 0, end: test.now() }), undefined);
  await newCounters(test).complete(cells);
  assert.deepEqual([...(await readCounters(test, found.usageLimit)).values()], ["unknown"]);
});

testApp("in a minute with too many records to add up, limits count what follows", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  await recordAll(test, { apiKey, records: [{ productSlug: "p", metric: "m", quantity: 1 }] });
  // The first minute has exactly as many as can be added up.
  const minute = 60_000;
  const [first, second] = [test.now() - 10 * minute, test.now() - 20 * minute];
  await test.opened.database.write([
    sql`WITH RECURSIVE numbers (n) AS (
          SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n <= ${2 * limitMinuteRecordsMax})
        INSERT INTO usage_records (seq, organization, series, timestamp, recorded_at, quantity_whole, quantity_micro)
        SELECT r.seq + n, r.organization, r.series, iif(n <= ${limitMinuteRecordsMax}, ${first}, ${second}),
          r.recorded_at, 1, 0
        FROM usage_records r CROSS JOIN numbers`,
    sql`UPDATE usage_cursor SET seq = (SELECT max(seq) FROM usage_records)`,
  ]);
  const soft = await addLimit(test, {}, { per: "minute", metric: "m", quantity: 5 });
  const hard = await addLimit(test, {}, {
    per: "minute",
    quantity: limitMinuteRecordsMax + 1,
    mode: "hard",
  });
  const record = async (...records: readonly { time: number; quantity?: number }[]) => {
    const json = {
      records: records.map(({ time, quantity = 1 }) => ({
        productSlug: "p",
        metric: "m",
        quantity,
        timestamp: new Date(time).toISOString(),
      })),
    };
    return (await test.send("/api/v1/usage/batch", { apiKey, json })).status;
  };
  const used = async (limit: { number: number }, time: number) =>
    (await readCounters(test, limit.number)).get(Math.floor(time / minute));
  assert.equal(await record({ time: first, quantity: 2 }), 429);
  assert.equal(await record({ time: first }), 201);
  assert.equal(await record({ time: first }), 429);
  assert.equal(await used(hard, first), String(limitMinuteRecordsMax + 1));
  assert.equal(await record({ time: second, quantity: 2 }), 201);
  const others = Array.from({ length: 9 }, () => ({ time: test.now() }));
  assert.equal(await record({ time: second }, ...others), 201);
  assert.equal(await used(hard, second), "3");
  assert.equal(await record({ time: second, quantity: limitMinuteRecordsMax - 1 }), 429);
  assert.equal(await record({ time: second, quantity: limitMinuteRecordsMax - 2 }), 201);
  await softCountersAreKnown(test);
  // With the record that didn't wait for the sum, the first minute has too many as well.
  assert.equal(await used(soft, first), "1");
  assert.equal(await used(soft, second), String(limitMinuteRecordsMax + 1));
}, unlimited);

onEveryDatabase("times have the same window number if they are in the same window", async (test) => {
  const random = randomNumbers(7);
  const { database } = test.opened;
  const zones = ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Chatham", "Africa/Casablanca"];
  await database.write(zones.flatMap((zone) => timezoneRows(zone, test.now())));
  for (const timezone of zones) {
    // Around each change of clocks, and at random.
    const changes = await database.read<{ since: number }>(
      sql`SELECT since FROM timezone_offsets WHERE timezone = ${timezone}`,
    );
    const times = [
      ...changes.slice(1).flatMap(({ since }) =>
        [-3_600_001, -1, 0, 1_800_000, 3_600_000].map((ms) => since + ms)
      ),
      ...Array.from({ length: 40 }, () => test.now() - 400 * dayMs + random(2_000_000_000) * 30),
    ].sort((a, b) => a - b);
    const each = joinSql(
      limitPeriods.map((per) => windowNumber(sql`${per}`, sql`v.at`, ahead(sql`${timezone}`, sql`v.at`))),
      ", ",
    );
    const rows = await database.read<{ numbers: string }>(sql`
      SELECT json_array(${each}) AS numbers
      FROM (SELECT value AS at FROM json_each(${JSON.stringify(times)})) v ORDER BY v.at`);
    for (const [index, per] of limitPeriods.entries()) {
      const windows = times.map((time) => String(limitWindow(per, timezone, time)?.start));
      const found = rows.map(({ numbers }) => String(JSON.parse(numbers)[index]));
      assert.deepEqual(
        found.map((number, at) => at > 0 && number === found[at - 1]),
        windows.map((start, at) => at > 0 && start === windows[at - 1]),
        `${timezone} ${per}`,
      );
    }
  }
});
