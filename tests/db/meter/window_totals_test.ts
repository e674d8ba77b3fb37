// Sums of one window of all organizations, from months and the hours at their edges.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { sumWindow } from "../../../db/meter/window_totals.ts";
import { sumMicros } from "../../../domain/meter/quantity.ts";
import { usageRange } from "../../../domain/meter/usage_window.ts";
import { createTestKey, type TestApp } from "../../support/app/app.ts";
import { checkRollups, rowsOf } from "../../support/meter/rollups.ts";
import { listAll, onEveryDatabase, recordAll, voidOne } from "../../support/meter/usage.ts";

/** Adds up records instead of rollups. */
async function sumOfRecords(test: TestApp, { start, end }: { start: number; end: number }) {
  const rows = await test.opened.database.read<Record<string, string | number>>(sql`
    SELECT s.organization, s.product_slug AS productSlug, s.metric, count(*) AS count,
      CAST(sum(r.quantity_whole * 1000000 + r.quantity_micro) AS TEXT) AS micros
    FROM usage_records r JOIN usage_series s ON s.id = r.series
    WHERE r.timestamp >= ${start} AND r.timestamp < ${end}
      AND NOT EXISTS (SELECT 1 FROM usage_voids v WHERE v.seq = r.seq)
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`);
  return rows.map((row) => ({ ...row }));
}

onEveryDatabase("sums months of any time zone and any other window, exactly", async (test) => {
  let state = 20261122;
  const random = (below: number) => (state = state * 48271 % 2147483647) % below;
  const keys: string[] = [];
  for (const name of ["Ada", "Bob", "Cid"]) {
    const person = await test.signUp(name);
    for (const key of ["A", "B"]) keys.push((await createTestKey(test, person, { name: key })).fullKey);
  }
  for (const apiKey of keys) {
    const records = Array.from({ length: 300 }, () => ({
      productSlug: `p${random(2)}`,
      metric: `m${random(3)}`,
      quantity: random(1_000_000) / 1000,
      timestamp: new Date(test.now() - random(35 * 96) * 900_000).toISOString(),
    }));
    await recordAll(test, { apiKey, records });
  }
  for (const apiKey of [keys[0] ?? "", keys[3] ?? ""]) {
    for (const { id } of (await listAll(test, apiKey)).slice(0, 40)) await voidOne(test, { apiKey, id });
  }
  await checkRollups(rowsOf(test.opened.database));
  const ranges = ["UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns", "Pacific/Auckland"].flatMap(
    (timezone) => [
      { timezone, from: "2026-10-01", to: "2026-11-01" },
      { timezone, from: "2026-11-01", to: "2026-12-01" },
      { timezone, from: "2026-10-01", to: "2026-12-01" },
      { timezone, from: "2026-11-03", to: "2026-11-19" },
      { timezone, from: "2026-11-20T00:15:00Z", to: "2026-11-20T00:30:00Z" },
    ],
  );
  for (const input of ranges) {
    const { windows: [window] } = usageRange({ ...input, window: "total" }, test.now());
    assert.ok(window);
    const sums = [];
    // One organization at a time.
    for (let number = 0; number < 4; number++) {
      sums.push(
        ...await sumWindow(test.opened.database, { window, after: number, through: number + 1 }),
      );
    }
    assert.deepEqual(
      sums.map(({ high, low, micro, ...sum }) => ({
        ...sum,
        micros: String(sumMicros({ high, low, micro })),
      })),
      await sumOfRecords(test, window),
      JSON.stringify(input),
    );
    assert.deepEqual(await sumWindow(test.opened.database, { window, after: 0, through: 3 }), sums);
  }
});
