// Rollups of every length stay the sums of the records: while recording and voiding, after retention, and when the migration
// computes months and totals from existing quarters.
import assert from "node:assert/strict";
import { type Database, integer, sql } from "../../../db/engine/database.ts";
import { openEmbedded } from "../../../db/engine/embedded.ts";
import { migrate, migrations } from "../../../db/engine/migrate.ts";
import { deleteOldUsageRecords } from "../../../services/meter/usage_records.ts";
import { createTestKey } from "../../support/app/app.ts";
import { checkRollupLevels, checkRollups, rowsOf } from "../../support/meter/rollups.ts";
import { openServer, sqldMissing, startSqld } from "../../support/database/sqld.ts";
import { listAll, onEveryDatabase, recordAll, voidOne } from "../../support/meter/usage.ts";

function randomFrom(seed: number) {
  let state = seed;
  return (below: number) => (state = state * 48271 % 2147483647) % below;
}

onEveryDatabase(
  "all rollups match the records through concurrent records, voids and retention",
  async (test) => {
    const random = randomFrom(13);
    const keys: string[] = [];
    for (const name of ["Ada", "Bob", "Cid"]) {
      keys.push((await createTestKey(test, await test.signUp(name))).fullKey);
    }
    const record = (apiKey: string) =>
      recordAll(test, {
        apiKey,
        records: Array.from({ length: 25 }, () => ({
          productSlug: `p${random(2)}`,
          metric: `m${random(2)}`,
          // Few different quantities, so that voided ones are often extremes, some of them at the edge of 64 bits.
          quantity: [0, 1, 2, 8_999_999_999_999.5, 9_000_000_000_000, Number.MAX_SAFE_INTEGER][random(6)] ??
            0,
          // Many in the same quarters of an hour.
          timestamp: new Date(test.now() - random(2) * random(34 * 24) * 3_600_000).toISOString(),
        })),
      });
    const rows = rowsOf(test.opened.database);
    for (let round = 0; round < 4; round++) {
      const voids = keys.map(async (apiKey) => {
        const counting = (await listAll(test, apiKey)).filter(({ voidedAt }) => voidedAt === null);
        for (let n = 0; n < 6 && counting.length > 0; n++) {
          const [chosen] = counting.splice(random(counting.length), 1);
          await voidOne(test, { apiKey, id: chosen?.id ?? "" });
        }
      });
      await Promise.all([...keys.map(record), ...voids]);
      await checkRollups(rows);
      test.advance(5 * 24 * 3_600_000);
    }
    test.advance(385 * 24 * 3_600_000);
    while (await deleteOldUsageRecords(test.services));
    await Promise.all(keys.map(record));
    await checkRollupLevels(rows);
  },
);

async function backfills(database: Database): Promise<void> {
  await migrate(database, { now: 0, list: migrations.filter(({ number }) => number < 9) });
  const random = randomFrom(9);
  const quarter = Date.parse("2026-08-30") / 900_000;
  const rollups = Array.from({ length: 400 }, (_, n) => {
    const [smallest, largest] =
      [["1", "2500000"], ["-1", "9999999999999999999999"], ["0", "0009100000000000000000"]][
        random(3)
      ] ?? [];
    return [
      n % 12 + 1,
      quarter + n * 17,
      random(4) * 3,
      random(9),
      random(999),
      random(999),
      smallest,
      largest,
    ];
  });
  const asStored = (column: number) =>
    sql`iif(length(value ->> ${integer(column)}) = 22, value ->> ${integer(column)}, CAST(value ->> ${
      integer(column)
    } AS INTEGER))`;
  await database.write([
    sql`INSERT INTO organizations (number, id, name, created_at) VALUES (1, 'org_1', 'A', 0), (2, 'org_2', 'B', 0)`,
    sql`WITH RECURSIVE n (v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < 12)
      INSERT INTO usage_series (id, organization, product_slug, metric, api_key)
      SELECT v, 1 + v % 2, 'p' || (v % 3), 'm' || (v / 7), v FROM n`,
    sql`INSERT INTO usage_rollups SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5,
      ${asStored(6)}, ${asStored(7)} FROM json_each(${JSON.stringify(rollups)})`,
    sql`INSERT INTO usage_rollups_hourly SELECT series, quarter / 4, sum(count), sum(sum_high), sum(sum_low),
      sum(sum_micro), min(smallest), max(largest) FROM usage_rollups WHERE count > 0 GROUP BY 1, 2`,
  ]);
  await migrate(database, { now: 0 });
  await checkRollupLevels(rowsOf(database));
  const [counts] = await rowsOf(database)(
    `SELECT (SELECT count(*) FROM usage_series WHERE organization = 0) AS totals,
      (SELECT sum(series) FROM organizations) AS series, (SELECT count(DISTINCT month) FROM usage_rollups_monthly) AS months`,
  );
  assert.deepEqual({ ...counts }, { totals: 6, series: 12, months: 4 });
}

Deno.test("embedded database: the migration computes months and totals of an older database", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-test-" });
  const onFatal = (error: unknown) => {
    throw error;
  };
  const database = await openEmbedded({ path: `${folder}/gatehouse.db`, create: "file", onFatal });
  await backfills(database);
  await database.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test({
  name: "remote database: the migration computes months and totals of an older database",
  ignore: sqldMissing() !== null,
  fn: async () => {
    const server = await startSqld();
    const database = openServer(server.url);
    await backfills(database);
    await database.close();
    await server.stop();
  },
});
