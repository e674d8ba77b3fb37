// A storm of holds against one limit: exactly those that fit are made. A kill between holding and settling loses none.
import assert from "node:assert/strict";
import { sql, type Statement } from "../../db/engine/database.ts";
import { openServer } from "../support/database/sqld.ts";
import { signUpForLoad } from "../support/meter/load.ts";
import { changeDataFile } from "../support/operators/operators.ts";
import { sendJson } from "../support/process/journey.ts";
import { remoteTest } from "../support/process/remote.ts";
import { inScene, onServer } from "../support/process/scene.ts";
import { isFull, repeats } from "../support/runner/extent.ts";
import { faultsTimeoutMs } from "../support/runner/random.ts";

/** STORM_HOLDS=10000 for the large one. */
const requests = Number(Deno.env.get("STORM_HOLDS") ?? (isFull ? "3000" : "200"));
const connections = 100;
/** Half of the requests fit. */
const fitting = requests / 2;
const units = 3;
const env = { API_KEY_REQUESTS_PER_SECOND: "0", HTTP_THREADS: isFull ? "4" : "2" };

type Run = (statement: Statement) => Promise<readonly unknown[]> | readonly unknown[];

const records = [{ productSlug: "tiles", metric: "requests", quantity: units }];

/** A limit in total, of which grants are the larger part. */
async function addRoom(run: Run, quantity: number): Promise<void> {
  const own = Math.floor(quantity / 3);
  await run(
    sql`INSERT INTO usage_limits (id, plan, product_slug, metric, per, quantity_whole, quantity_micro, mode, created_seq, created_at)
    SELECT 'lim_storm', plan, 'tiles', '', 'total', CAST(${own} AS INTEGER), 0, 'hard', c.seq, 1000 * unixepoch()
    FROM organizations CROSS JOIN usage_cursor c LIMIT 1`,
  );
  const rest = quantity - own;
  const grants = [Math.floor(rest / 2), rest - Math.floor(rest / 2)];
  await run(
    sql`INSERT INTO usage_grants (id, organization, limit_id, product_slug, metric, quantity_micros, created_at,
      ends_at, reason, idempotency_key)
    SELECT 'gra_' || e.key, o.number, 'lim_storm', 'tiles', '', e.value * 1000000, 0, 9007199254740991, 'Paid.', e.key
    FROM organizations o CROSS JOIN json_each(${JSON.stringify(grants)}) e`,
  );
}

async function standing(
  baseUrl: string,
  apiKey: string,
): Promise<[used: number, held: number, remaining: number]> {
  const { limits } = await (await sendJson(baseUrl, "/api/v1/limits", { apiKey })).json();
  const [{ used, held, remaining }] = limits;
  return [used, held, remaining];
}

/** Sends requests one after another over several connections. */
async function overConnections(count: number, send: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(Array.from({ length: connections }, async () => {
    while (next < count) await send(next++);
  }));
}

async function storm(targets: readonly string[], run: Run): Promise<void> {
  const target = (n: number) => targets[n % targets.length] ?? "";
  const { apiKeys } = await signUpForLoad(target(0));
  const apiKey = (n: number) => apiKeys[n % apiKeys.length] ?? "";
  await addRoom(run, fitting * units + 1);
  const ids: string[] = [];
  await overConnections(requests, async (n) => {
    for (;;) {
      const json = { records, idempotencyKey: String(n) };
      const response = await sendJson(target(n), "/api/v1/holds", { apiKey: apiKey(n), json });
      // Full queues reject some, and a slow database says for others too late that they were made; the client tries again.
      if (response.status === 503) continue;
      if (response.ok) ids.push((await response.json()).hold.id);
      else assert.equal(response.status, 429, await response.text());
      return;
    }
  });
  assert.equal(ids.length, fitting);
  assert.deepEqual(await standing(target(1), apiKey(0)), [0, fitting * units, 1]);
  // Each is ended twice at the same time, in two ways: one of them counts.
  let settled = 0;
  await overConnections(fitting, async (n) => {
    const path = `/api/v1/holds/${ids[n]}`;
    const end = async (m: number, act: "settle" | "release") => {
      for (;;) {
        const json = act === "settle" ? { records } : {};
        const { status } = await sendJson(target(m), `${path}/${act}`, { apiKey: apiKey(m), json });
        if (status !== 503) return status;
      }
    };
    const isReleased = n % 2 === 0;
    const [settle, other] = await Promise.all([
      end(n, "settle"),
      end(n + 1, isReleased ? "release" : "settle"),
    ]);
    // A settlement that was retried may be its own repeat.
    if (isReleased) assert.deepEqual([settle, other].filter((status) => status !== 409).length, 1);
    else assert.ok(settle < 300 && other < 300 && settle + other >= 400, `${settle} ${other}`);
    if (settle < 300) settled++;
  });
  const used = settled * units;
  assert.deepEqual(await standing(target(0), apiKey(0)), [used, 0, fitting * units + 1 - used]);
  const { data: [{ sum }] } =
    await (await sendJson(target(0), "/api/v1/usage?window=total", { apiKey: apiKey(0) }))
      .json();
  assert.equal(sum, used);
}

Deno.test("holds over 100 connections to several threads use up a limit and its grants exactly", () =>
  onServer(
    { env },
    ({ baseUrl, folder }) => storm([baseUrl], (statement) => changeDataFile(folder, statement)),
  ));

remoteTest(
  "holds over 100 connections to two servers use up a limit and its grants exactly",
  ({ url }) =>
    inScene({ env: { ...env, DATABASE_URL: url } }, async ({ start }) => {
      const programs = await Promise.all([start(), start()]);
      await storm(programs.map(({ baseUrl }) => baseUrl), async (statement) => {
        const database = openServer(url);
        const [result] = await database.write([statement]);
        await database.close();
        return result?.rows ?? [];
      });
    }),
  { timeout: faultsTimeoutMs },
);

const losesNothing = "a kill between holding and settling loses no unit, and takes none twice";
Deno.test(losesNothing, { timeout: faultsTimeoutMs }, () =>
  // More threads would only take longer to start.
  inScene({ env: { ...env, HTTP_THREADS: "2" } }, async (scene) => {
    const { baseUrl } = await scene.start();
    const { apiKeys: [apiKey = ""] } = await signUpForLoad(baseUrl);
    await addRoom((statement) => changeDataFile(scene.folder, statement), 1_000_000);
    const rounds = repeats({ quick: 2, full: 30 });
    for (let round = 0; round < rounds; round++) {
      const { program } = scene;
      const made = new Map<number, string>();
      const hold = async (n: number) => {
        const json = { records, idempotencyKey: `${round} ${n}` };
        const response = await sendJson(scene.baseUrl, "/api/v1/holds", { apiKey, json });
        assert.ok(response.status < 300, await response.clone().text());
        const { hold: { id } } = await response.json();
        assert.equal(made.get(n) ?? id, id);
        made.set(n, id);
        if (made.size === 20 && program === scene.program) program.kill("SIGKILL");
      };
      const settle = async (n: number) => {
        const path = `/api/v1/holds/${made.get(n)}/settle`;
        const response = await sendJson(scene.baseUrl, path, { apiKey, json: { records } });
        assert.ok(response.status < 300, await response.clone().text());
      };
      const numbers = Array.from({ length: 40 }, (_, n) => n);
      await Promise.allSettled(numbers.map((n) => hold(n).then(() => settle(n))));
      await program.ended();
      await scene.start();
      for (const n of numbers) await hold(n);
      for (const n of numbers) await settle(n);
      assert.equal(new Set(made.values()).size, numbers.length);
      const used = (round + 1) * numbers.length * units;
      assert.deepEqual(await standing(scene.baseUrl, apiKey), [used, 0, 1_000_000 - used]);
    }
  }));
