// Limits per value with 10,000 values by one organization, beside another one.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { limitValuesMax } from "../../../domain/meter/value_limit.ts";
import { createTestKey, startTestApp } from "../../support/app/app.ts";
import { scanFinder, StatementNotes } from "../../support/database/row_scans.ts";
import { addLimit } from "../../support/meter/limits.ts";
import { recordWith, unlimited } from "../../support/meter/usage.ts";
import { ofUser, valuesIn } from "../../support/meter/value_limits.ts";

Deno.test("10,000 values of one organization leave another one's numbers and statements as they were", async () => {
  const notes = new StatementNotes();
  const test = await startTestApp(unlimited, { open: () => notes.open() });
  try {
    const limit = await addLimit(test, {}, { per: "day", quantity: 5, mode: "hard", by: "user" });
    const [noisy = "", quiet = ""] = await Promise.all(
      [1, 2].map(async () => (await createTestKey(test, await test.signUp())).fullKey),
    );
    await test.opened.database.write([
      sql`INSERT INTO usage_limit_exceptions (usage_limit, value, quantity_whole, quantity_micro)
        VALUES (${limit.number}, 'special', 7, 0)`,
    ]);
    const use = async (apiKey: string, user: string, quantity = 1) => {
      const response = await recordWith(test, apiKey, { quantity, ...ofUser(user) });
      const body = await response.json();
      return response.status === 201 ? valuesIn(body.limits) : valuesIn(body.error.details);
    };
    const noted = async () => {
      notes.asked.length = 0;
      notes.noted.clear();
      await notes.during(() => use(quiet, "a"));
      return [...notes.asked];
    };
    await use(quiet, "a");
    const before = await noted();
    for (let at = 0; at < limitValuesMax; at += 1_000) {
      const records = Array.from({ length: 1_000 }, (_, n) => ({
        ...{ productSlug: "tiles", metric: "requests", quantity: 1 },
        ...ofUser(`n${at + n}`),
      }));
      const response = await test.send("/api/v1/usage/batch", { apiKey: noisy, json: { records } });
      assert.equal(response.status, 201, await response.text());
    }
    // Further values share one counter, so nothing too much is admitted.
    assert.deepEqual(await use(noisy, "x", 3), [["(other)", 3, 0, 2]]);
    assert.deepEqual(await use(noisy, "y", 3), [["(other)", 3, 0, 2]]);
    assert.deepEqual(await use(noisy, "z", 2), [["(other)", 5, 0, 0]]);
    assert.deepEqual(await use(noisy, "n7", 4), [["n7", 5, 0, 0]]);
    assert.deepEqual(await use(noisy, "special", 7), [["special", 7, 0, 0]]);
    const count = await test.opened.database.readFirst<{ rows: number }>(
      sql`SELECT count(*) AS rows FROM usage_value_counters`,
    );
    assert.equal(count?.rows, limitValuesMax + 3);
    const list = await (await test.send("/api/v1/limits", { apiKey: noisy })).json();
    assert.deepEqual(valuesIn(list.limits).slice(0, 3).map(([value]) => value), ["(other)", "n7", "special"]);
    assert.equal(list.limits.length, 10);
    // The neighbor's statements are the same, and none reads what the others have.
    assert.deepEqual(await noted(), before);
    const scansOf = await scanFinder(test.opened.database);
    for (const statement of notes.noted.values()) {
      const scans = [...await scansOf(statement)].filter((scan) =>
        /value|exception|limit_notices|usage_limits|usage_holds\b/.test(scan)
      );
      assert.deepEqual(scans.filter((scan) => !/^usage_value_added|autoindex/.test(scan)), [], statement.sql);
    }
    assert.deepEqual(await use(quiet, "a"), [["a", 4, 0, 1]]);
    test.advance(24 * 3_600_000);
    assert.deepEqual(await use(noisy, "y", 3), [["y", 3, 0, 2]]);
  } finally {
    await test.dispose();
  }
});
