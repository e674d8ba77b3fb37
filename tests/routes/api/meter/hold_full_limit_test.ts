// A full limit with 10,000 active holds: rejecting a request, and its neighbors, cost no more than with few holds.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { createTestKey, type TestApp } from "../../../support/app/app.ts";
import { holdScene, units } from "../../../support/meter/holds.ts";
import { onEveryDatabase, recordWith } from "../../../support/meter/usage.ts";

/** Makes an active hold into many, as if each had been made alone. */
async function multiply({ opened: { database } }: TestApp, id: string, count: number): Promise<void> {
  const columns = sql`organization, api_key, lineage, held_by, status, records, is_recorded_on_expiry,
    created_at, expires_in, expires_at`;
  await database.write([
    sql`WITH RECURSIVE n(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n < ${count})
      INSERT INTO usage_holds (id, ${columns}) SELECT 'hld_' || n || h.id, ${columns} FROM n
      CROSS JOIN usage_holds h ON h.id = ${id}`,
    sql`UPDATE usage_limit_counters SET held_low = held_low * ${count}
      WHERE organization = (SELECT organization FROM usage_holds WHERE id = ${id})`,
  ]);
}

onEveryDatabase(
  "rejecting at a full limit takes no longer with 10,000 active holds, for the organization and its neighbors",
  async (test) => {
    const scene = await holdScene(test, { per: "day", quantity: 10_000 });
    const send = async (apiKey: string, path: string, json?: unknown) => {
      const response = await test.send(path, { apiKey, ...(json === undefined ? {} : { json }) });
      return { status: response.status, body: await response.json() };
    };
    /** An organization whose limit is full: of all, or all but a few units. */
    const fill = async (apiKey: string, active: number) => {
      const used = 10_000 - active;
      if (used > 0) assert.equal((await recordWith(test, apiKey, { quantity: used })).status, 201);
      const { body } = await scene.post("", { records: units(1), expiresIn: 86_400 }, apiKey);
      await multiply(test, body.hold.id, active);
      const { limits: [limit] } = (await send(apiKey, "/api/v1/limits")).body;
      assert.deepEqual([limit.used, limit.held, limit.remaining], [used, active, 0]);
    };
    const { fullKey: few } = await createTestKey(test, await test.signUp());
    const { fullKey: neighbor } = await createTestKey(test, await test.signUp());
    await fill(few, 10);
    await fill(scene.apiKey, 10_000);
    const rejected = (apiKey: string) => async () => {
      const [held, recorded] = await Promise.all([
        scene.post("", { records: units(1) }, apiKey),
        recordWith(test, apiKey),
      ]);
      assert.deepEqual([held.status, recorded.status], [429, 429]);
      await recorded.body?.cancel();
    };
    const neighborOf = (apiKey: string) => async () => {
      const rejections = Promise.all([rejected(apiKey)(), rejected(apiKey)()]);
      const response = await recordWith(test, neighbor);
      assert.equal(response.status, 201);
      await Promise.all([response.body?.cancel(), rejections]);
    };
    const acts = [
      ["rejections", rejected],
      ["a neighbor's record", neighborOf],
      ["limits", (apiKey: string) => () => send(apiKey, "/api/v1/limits")],
    ] as const;
    for (const [name, act] of acts) {
      // The shortest of many in turn, because other work on the machine only makes them longer.
      const shortest = new Map([[few, Infinity], [scene.apiKey, Infinity]]);
      for (let n = 0; n < 30; n++) {
        for (const [apiKey, before] of shortest) {
          const startedAt = performance.now();
          await act(apiKey)();
          shortest.set(apiKey, Math.min(before, performance.now() - startedAt));
        }
      }
      const [small = 0, large = 0] = shortest.values();
      assert.ok(large < 2 * small, `${name}: ${large} ms instead of ${small} ms`);
    }
  },
);
