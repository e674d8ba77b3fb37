// Rollups of every length stay the sums of the records: while recording and voiding, and after retention.
import { deleteOldUsageRecords } from "../../../services/meter/usage_records.ts";
import { createTestKey } from "../../support/app/app.ts";
import { checkRollupLevels, checkRollups, rowsOf } from "../../support/meter/rollups.ts";
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
