// What a restore finds in a database whose file is intact, but whose sums don't match.
import assert from "node:assert/strict";
import { sql, type Statement } from "../../../db/engine/database.ts";
import { weight } from "../../../db/meter/sum_digests.ts";
import { deleteOldUsageRecords } from "../../../services/meter/usage_records.ts";
import { testApp } from "../../support/app/app.ts";
import { addLimit, softCountersAreKnown } from "../../support/meter/limits.ts";
import { checkOwnSums, differingSums } from "../../support/meter/own_sums.ts";
import { asBilling, customer } from "../../support/meter/statements.ts";
import { voidOne } from "../../support/meter/usage.ts";

testApp("names the usage, the limit or the month whose sums don't match", async (test) => {
  const { database } = test.opened;
  const ada = await customer(test, "Ada");
  const bob = await customer(test, "Bob");
  const { id: limit } = await addLimit(test, {}, { per: "month", quantity: 100 });
  const { id: total } = await addLimit(test, ada, { per: "total", quantity: 100 });
  for (
    const timestamp of ["2026-10-20T12:00:00.000Z", "2026-10-20T12:20:00.000Z", "2026-11-20T12:00:00.000Z"]
  ) {
    await ada.record(timestamp, { quantity: 0.000_001 });
    await bob.record(timestamp, { quantity: 2 ** 53 - 1 });
  }
  const { id } = await ada.record("2026-10-20T12:00:00.000Z", { quantity: 5 });
  await voidOne(test, { apiKey: ada.apiKey, id });
  await softCountersAreKnown(test);
  const { close } = await asBilling(test);
  await close("2026-10");
  await checkOwnSums(database);
  // Digests of whole tables are the same, so nothing is compared sum by sum.
  const checked: string[] = [];
  const readFirst = (statement: Statement) => {
    checked.push(statement.sql);
    return database.readFirst<never>(statement);
  };
  await checkOwnSums({ ...database, read: (statement) => database.read(statement), readFirst });
  assert.ok(checked.some((text) => /digest/.test(text)));
  assert.deepEqual(checked.filter((text) => /HAVING/.test(text)), []);

  const ofAda = sql`(SELECT number FROM organizations WHERE id = ${ada.organizationId})`;
  const series = sql`(SELECT id FROM usage_series WHERE organization = ${ofAda})`;
  const { name } = await database.readFirst<{ name: string }>(
    sql`SELECT 'tiles/requests of ' || ${ada.organizationId} || ' (series ' || ${series} || ')' AS name`,
  ) ?? assert.fail();
  const noon = Date.parse("2026-10-20T12:00:00Z");
  const quarter = sql`UPDATE usage_rollups SET sum_micro = sum_micro + 1
    WHERE series = ${series} AND quarter = ${noon / 900_000}`;
  const hour = sql`UPDATE usage_rollups_hourly SET count = count + 1
    WHERE series = ${series} AND hour = ${noon / 3_600_000}`;
  const month = sql`UPDATE usage_rollups_monthly SET sum_low = sum_low + 1
    WHERE series = ${series} AND month = ${(2026 - 1970) * 12 + 9}`;
  const counter = (id: string) =>
    sql`UPDATE usage_limit_counters SET sum_high = sum_high + 1
      WHERE usage_limit = (SELECT number FROM usage_limits WHERE id = ${id}) AND organization = ${ofAda}
        AND window_number IN (0, ${(2026 - 1970) * 12 + 10})`;
  const line =
    sql`UPDATE statement_lines SET sum_micro = sum_micro + 1 WHERE organization_id = ${ada.organizationId}`;
  const records =
    `${name}: the records of the 15 minutes from 2026-10-20T12:00:00.000Z don't match their sum`;
  const later = records.replace("12:00:00", "12:15:00");
  const hours = `${name}: the sum of the hour from 2026-10-20T12:00:00.000Z isn't that of its quarters`;
  const months = `${name}: the sum of 2026-10 isn't that of its hours`;
  const statement =
    `tiles/requests of ${ada.organizationId}: the lines of statements for 2026-10 don't match the usage`;
  const ofLimit = (id: string, when: string) =>
    `the limit ${id} of ${ada.organizationId}: its counter${when} doesn't match the usage`;
  const october = " in the month from 2026-10-01T00:00:00.000Z";
  const cases: [Statement, string[]][] = [
    [
      sql`DELETE FROM usage_records WHERE organization = ${ofAda} AND timestamp = ${noon + 20 * 60_000}`,
      [later],
    ],
    [quarter, [records, hours]],
    // Together, they are right.
    [
      sql`UPDATE usage_rollups SET sum_micro = iif(quarter = ${noon / 900_000}, 2, 0) WHERE series = ${series}
      AND quarter IN (${noon / 900_000}, ${noon / 900_000 + 1})`,
      [records],
    ],
    [
      sql`UPDATE usage_records SET organization = (SELECT number FROM organizations WHERE id = ${bob.organizationId})
      WHERE organization = ${ofAda} AND timestamp = ${noon + 20 * 60_000}`,
      [later],
    ],
    [hour, [hours]],
    // Counters and statements are compared with the months.
    [month, [months, ofLimit(limit, october), statement]],
    [sql`DELETE FROM usage_rollups_monthly WHERE series = ${series}`, [
      months,
      ofLimit(limit, october),
      statement,
    ]],
    [counter(limit), [ofLimit(limit, " in the month from 2026-11-01T00:00:00.000Z")]],
    [counter(total), [ofLimit(total, "")]],
    [line, [statement]],
  ];
  await database.write([sql`DROP TRIGGER statement_lines_updated`]);
  const kept = [
    "usage_records",
    "usage_rollups",
    "usage_rollups_hourly",
    "usage_rollups_monthly",
    "usage_limit_counters",
    "statement_lines",
  ];
  for (const table of kept) {
    await database.write([{ sql: `CREATE TABLE kept_${table} AS SELECT * FROM ${table}`, args: [] }]);
  }
  for (const [breakIt, expected] of cases) {
    const [{ changes } = assert.fail()] = await database.write([breakIt]);
    assert.notEqual(changes, 0, breakIt.sql);
    assert.deepEqual(await differingSums(database), expected, breakIt.sql);
    for (const table of kept) {
      const text = table === "statement_lines"
        ? `UPDATE ${table} SET sum_micro = k.sum_micro FROM kept_${table} k WHERE k.organization_id = ${table}.organization_id`
        : `INSERT OR REPLACE INTO ${table} SELECT * FROM kept_${table}`;
      await database.write([{ sql: text, args: [] }]);
    }
    await checkOwnSums(database);
  }
});

testApp("compares the records that retention has left", async (test) => {
  const { database } = test.opened;
  const ada = await customer(test, "Ada");
  const day = 24 * 3_600_000;
  const at = (time: number) => new Date(time).toISOString();
  const [first, second] = [at(test.now()), at(test.now() + 30 * day)];
  await ada.record(first, { quantity: 3 });
  test.advance(30 * day);
  await ada.record(first, { quantity: 5 });
  await ada.record(second, { quantity: 7 });
  await ada.record(second, { quantity: 9 });
  const quantities = async () =>
    (await database.read<{ n: number }>(sql`SELECT quantity_whole AS n FROM usage_records`)).map(({ n }) =>
      n
    );
  test.advance(380 * day);
  while (await deleteOldUsageRecords(test.services));
  assert.deepEqual(await quantities(), [5, 7, 9]);
  await checkOwnSums(database);
  // More records than their sum has, or other ones.
  for (const change of [sql`count = 0`, sql`sum_low = sum_low + 1`]) {
    await database.write([sql`UPDATE usage_rollups SET ${change}`]);
    assert.match((await differingSums(database)).join(), /the records of the 15 minutes from/);
  }
  // Retention has left nothing.
  await database.write([sql`DELETE FROM usage_records`]);
  assert.doesNotMatch((await differingSums(database)).join(), /the records/);
});

testApp("a digest counts a sum at every place", async ({ opened: { database } }) => {
  const row = await database.readFirst<{ missed: number }>(sql`
    WITH places(place) AS (SELECT 1 UNION ALL SELECT place + 1 FROM places WHERE place < 100000)
    SELECT count(*) AS missed FROM (
      SELECT place FROM places UNION ALL SELECT 2147483629 - place AS place FROM places
    ) WHERE ${weight} = 0`);
  assert.equal(row?.missed, 0);
});
