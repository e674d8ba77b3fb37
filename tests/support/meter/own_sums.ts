// Compares all sums that a database stores more than once, as restoring does.
import assert from "node:assert/strict";
import { compareStatements } from "../../../db/billing/mod.ts";
import type { DatabaseReader } from "../../../db/engine/database.ts";
import { compareCounters, compareRecords, compareRollups } from "../../../db/meter/mod.ts";

/** Returns the first difference of each comparison that finds one. */
export async function differingSums(database: DatabaseReader): Promise<string[]> {
  const found: (string | null)[] = [];
  for (const compare of [compareRecords, compareRollups, compareCounters, compareStatements]) {
    let last = 0;
    found.push(
      await compare(database, (share) => {
        assert.ok(share >= last && share <= 1, `${last}, ${share}`);
        last = share;
      }),
    );
  }
  return found.filter((problem) => problem !== null);
}

export async function checkOwnSums(database: DatabaseReader): Promise<void> {
  assert.deepEqual(await differingSums(database), []);
}
