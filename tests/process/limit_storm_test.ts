// A storm of requests against one limit: 200 connections end with exactly the units that fit, and one event.
import assert from "node:assert/strict";
import { sql, type Statement } from "../../db/engine/database.ts";
import { sendJson } from "../support/process/journey.ts";
import { signUpForLoad } from "../support/meter/load.ts";
import { changeDataFile } from "../support/operators/operators.ts";
import { remoteTest } from "../support/process/remote.ts";
import { inScene, onServer } from "../support/process/scene.ts";
import { isFull } from "../support/runner/extent.ts";
import { openServer } from "../support/database/sqld.ts";

const connections = 200;
/** About seven units a record: STORM_UNITS=70000 for 10,000 records. */
const unitsMax = Number(Deno.env.get("STORM_UNITS") ?? (isFull ? "4000" : "1400"));

/** Sends usage until nothing fits: first several units at a time, then single ones. @returns How many units were accepted. */
async function spend(baseUrl: string, apiKey: string, most: number): Promise<number> {
  let units = 0;
  for (let quantity = most; quantity > 0;) {
    const { status } = await sendJson(baseUrl, "/api/v1/usage", {
      apiKey,
      json: { productSlug: "tiles", metric: "requests", quantity },
    });
    if (status === 201) units += quantity;
    // Full queues reject some; the client tries again.
    else if (status === 429) quantity = quantity > 1 ? 1 : 0;
    else assert.equal(status, 503);
  }
  return units;
}

/** Runs a statement in the database, and returns its rows. */
type Run = (statement: Statement) => Promise<readonly unknown[]> | readonly unknown[];

/** Sends usage of an organization with a limit over all connections. @returns How many units were accepted, and its limits. */
async function stormAgainst(
  targets: readonly string[],
  run: Run,
  { per, units, before = () => Promise.resolve() }: {
    per: string;
    units: number;
    before?: () => Promise<void>;
  },
) {
  const target = (n: number) => targets[n % targets.length] ?? "";
  const { apiKeys } = await signUpForLoad(target(0));
  await run(
    sql`INSERT INTO usage_limits (id, plan, product_slug, metric, per, quantity_whole, quantity_micro,
      mode, created_seq, created_at)
    SELECT 'lim_storm', plan, 'tiles', '', ${per}, CAST(${units} AS INTEGER), 0, 'hard', c.seq,
      1000 * unixepoch()
    FROM organizations CROSS JOIN usage_cursor c LIMIT 1`,
  );
  await before();
  const accepted = await Promise.all(
    Array.from({ length: connections }, (_, n) => spend(target(n), apiKeys[n % 2] ?? "", 1 + n % 13)),
  );
  const read = async (path: string) =>
    await (await sendJson(target(1), path, { apiKey: apiKeys[0] ?? "" })).json();
  const [{ used, quantity, remaining }] = (await read("/api/v1/limits")).limits;
  const [{ sum }] = (await read("/api/v1/usage?window=total")).data;
  const total = accepted.reduce((total, units) => total + units, 0);
  assert.deepEqual([used, sum, remaining], [total, total, 0]);
  return { total, quantity };
}

/** @param targets Base URLs of the instances. */
async function storm(targets: readonly string[], run: Run) {
  const { total } = await stormAgainst(targets, run, { per: "month", units: unitsMax });
  assert.equal(total, unitsMax);
  const events = await run(sql`
    SELECT facts ->> 'percent' AS percent FROM events WHERE type = 'limit.reached'
      AND facts ->> '$.used[1]' = facts ->> '$.limit.whole'`);
  assert.deepEqual(events.map((row) => Object.values(row as object)), [[100]]);
}

/** Grants of which some expire during the storm: they are used first, and each only as long as it lasts. */
async function stormWithGrants(targets: readonly string[], run: Run) {
  const own = Math.floor(unitsMax / 10);
  const { total, quantity } = await stormAgainst(targets, run, {
    per: "total",
    units: own,
    before: () => addGrants(run),
  });
  const used = await run(sql`
    SELECT g.used_micros / 1000000 AS used, g.quantity_micros / 1000000 AS quantity, g.ends_at AS endsAt, g.used_at AS "to"
    FROM usage_grants g ORDER BY g.ends_at, g.number`) as {
    used: number;
    quantity: number;
    endsAt: number;
    to: number | null;
  }[];
  const taken = used.reduce((sum, one) => sum + one.used, 0);
  // Everything that was accepted was taken from a grant or from the limit's own quantity, which is used up.
  assert.equal(total, own + taken);
  for (const { used: units, quantity, endsAt, to } of used) {
    assert(units <= quantity);
    assert(to === null || to < endsAt, "used after it expired");
    // At the end nothing fits: those that last are used up.
    if (endsAt > Date.now()) assert.equal(units, quantity);
  }
  assert(used.some(({ used, quantity }) => used < quantity), "no grant expired with a rest");
  assert.equal(quantity, total);
}

async function addGrants(run: Run): Promise<void> {
  const startedAt = Date.now();
  const grants = Array.from({ length: 20 }, (_, n) => ({
    // A third never expires. The first one that does has more than the storm can use until then.
    endsAt: n % 3 === 0 ? Number.MAX_SAFE_INTEGER : startedAt + 400 + 150 * n,
    quantity: n === 1 ? 1_000_000_000 : Math.floor(unitsMax / 10),
  }));
  await run(
    sql`INSERT INTO usage_grants (id, organization, limit_id, product_slug, metric, quantity_micros, created_at,
      ends_at, reason, idempotency_key)
    SELECT 'gra_' || e.key, o.number, 'lim_storm', 'tiles', '', (e.value ->> 'quantity') * 1000000, ${startedAt},
      e.value ->> 'endsAt', 'Paid.', e.key
    FROM organizations o CROSS JOIN json_each(${
      JSON.stringify(grants)
    }) e WHERE o.id = (SELECT id FROM organizations LIMIT 1)`,
  );
}

const env = { API_KEY_REQUESTS_PER_SECOND: "0", HTTP_THREADS: isFull ? "4" : "2" };

Deno.test("200 connections to several threads use up a limit exactly", () =>
  onServer(
    { env },
    ({ baseUrl, folder }) => storm([baseUrl], (statement) => changeDataFile(folder, statement)),
  ));

for (
  const [name, run] of Object.entries({
    "use up a limit exactly": storm,
    "use up grants exactly while some of them expire": stormWithGrants,
  })
) {
  remoteTest(
    `200 connections to two instances with several threads each ${name}`,
    ({ url }) =>
      inScene({ env: { ...env, DATABASE_URL: url } }, async ({ start }) => {
        const programs = await Promise.all([start(), start()]);
        await run(programs.map(({ baseUrl }) => baseUrl), async (statement) => {
          const database = openServer(url);
          const [result] = await database.write([statement]);
          await database.close();
          return result?.rows ?? [];
        });
      }),
  );
}
