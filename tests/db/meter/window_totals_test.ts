// Sums of windows by ranges of organizations. tests/services/console/statement_history_test.ts compares them with the records.
import assert from "node:assert/strict";
import { sumWindows } from "../../../db/meter/window_totals.ts";
import { onEveryDatabase, recordOne } from "../../support/meter/usage.ts";
import { newKeys, newOrganization } from "../../support/people/scene.ts";

onEveryDatabase("each organization is summed in exactly one of the ranges", async (test) => {
  for (const name of ["Ada", "Bob", "Cid"]) {
    const [key] = await newKeys(test, await newOrganization(test, name), 1);
    await recordOne(test, key?.fullKey ?? "");
  }
  const { database } = test.opened;
  const end = Date.UTC(2026, 11, 1);
  // A month, and a window that is read by hours.
  for (const start of [Date.UTC(2026, 10, 1), Date.UTC(2026, 10, 20)]) {
    const window = { start, end };
    const all = await sumWindows(database, [window], { after: 0, through: 3 });
    assert.deepEqual(all.map(({ organization, count }) => [organization, count]), [[1, 1], [2, 1], [3, 1]]);
    const ranges = [[0, 1], [1, 2], [2, 3]].map(([after = 0, through = 0]) =>
      sumWindows(database, [window], { after, through })
    );
    assert.deepEqual((await Promise.all(ranges)).flat(), all);
  }
});
