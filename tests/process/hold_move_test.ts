// `gatehouse move` with active holds, to a libSQL server and back to a file: they keep their room, and can still be ended.
import assert from "node:assert/strict";
import { sql } from "../../db/engine/database.ts";
import { signUpForLoad } from "../support/meter/load.ts";
import { changeDataFile } from "../support/operators/operators.ts";
import { runCommand } from "../support/process/command.ts";
import { sendJson } from "../support/process/journey.ts";
import { remoteTest } from "../support/process/remote.ts";
import { inScene, stop } from "../support/process/scene.ts";
import { faultsTimeoutMs } from "../support/runner/random.ts";

const limit = 100;
const recordsOf = (quantity: number) => [{ productSlug: "tiles", metric: "requests", quantity }];

remoteTest(
  "holds stay active when the database moves to a libSQL server and back, and keep working",
  (server) =>
    inScene({ env: { API_KEY_REQUESTS_PER_SECOND: "0" } }, async (scene) => {
      await scene.start();
      const { apiKeys: [apiKey = ""] } = await signUpForLoad(scene.baseUrl);
      await changeDataFile(
        scene.folder,
        sql`INSERT INTO usage_limits (id, plan, product_slug, metric, per, quantity_whole, quantity_micro, mode, created_seq, created_at)
        SELECT 'lim_moved', plan, 'tiles', '', 'total', ${limit}, 0, 'hard', c.seq, 1000 * unixepoch()
        FROM organizations CROSS JOIN usage_cursor c LIMIT 1`,
      );
      const send = async (path: string, json?: unknown) => {
        const options = { apiKey, ...(json === undefined ? {} : { json }) };
        const response = await sendJson(scene.baseUrl, `/api/v1/${path}`, options);
        return { status: response.status, body: await response.json() };
      };
      const hold = async (quantity: number, more: object = {}) =>
        (await send("holds", { records: recordsOf(quantity), expiresIn: 86_400, ...more })).body.hold;
      const standing = async () => {
        const { limits: [{ used, held, remaining }] } = (await send("limits")).body;
        return [used, held, remaining];
      };
      const move = async (from: string, to: string) => {
        await stop(scene.program);
        const { options: { env, folder } } = scene;
        const moved = await runCommand({ folder, env: { ...env, DATABASE_URL: from } }, "move", "--to", to);
        assert.equal(moved.status, 0, moved.stderr);
        await scene.start({ env: { DATABASE_URL: to } });
      };
      const keyed = { idempotencyKey: "moved" };
      const [settled, released, extended, repeated] = [
        await hold(10),
        await hold(20),
        await hold(30, { expiresIn: 600, onExpiry: "record" }),
        await hold(15, keyed),
      ];
      assert.deepEqual(await standing(), [0, 75, 25]);

      await move(`file:${scene.path}`, server.url);
      assert.deepEqual(await standing(), [0, 75, 25]);
      assert.equal((await send("holds", { records: recordsOf(26) })).status, 429);
      const settlement = await send(`holds/${settled.id}/settle`, { records: recordsOf(12) });
      assert.deepEqual([settlement.status, settlement.body.beyond], [201, []]);
      assert.equal((await hold(15, keyed)).id, repeated.id);
      assert.deepEqual(await standing(), [12, 65, 23]);

      await move(server.url, `file:${scene.folder}/back.db`);
      assert.deepEqual(await standing(), [12, 65, 23]);
      const again = await send(`holds/${settled.id}/settle`, { records: recordsOf(12) });
      assert.deepEqual([again.status, again.body.usageRecords], [200, settlement.body.usageRecords]);
      assert.equal((await send(`holds/${released.id}/release`, {})).status, 200);
      const { body: { hold: later } } = await send(`holds/${extended.id}/extend`, { expiresIn: 3_600 });
      assert.ok(later.expiresAt > extended.expiresAt);
      assert.equal((await send(`holds/${repeated.id}/settle`, { records: [] })).status, 201);
      assert.deepEqual(await standing(), [12, 30, 58]);
      assert.equal(
        (await send(`holds/${extended.id}/settle`, { records: recordsOf(90) })).body.beyond[0].quantity,
        2,
      );
      assert.deepEqual(await standing(), [102, 0, 0]);
    }),
  { timeout: faultsTimeoutMs },
);
