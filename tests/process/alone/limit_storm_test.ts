// A storm of requests against one limit: 200 connections end with exactly the units that fit, and one event.
import assert from "node:assert/strict";
import { sql, type Statement } from "../../../db/engine/database.ts";
import { openRemote } from "../../../db/engine/remote.ts";
import { sendJson } from "../../support/process/journey.ts";
import { signUpForLoad } from "../../support/meter/load.ts";
import { changeDataFile } from "../../support/operators/operators.ts";
import { isReady, killProgram, type Program, startProgram } from "../../support/process/program.ts";
import { sqldMissing, startSqld } from "../../support/database/sqld.ts";

const connections = 200;
/** About seven units a record: STORM_UNITS=70000 for 10,000 records. */
const unitsMax = Number(Deno.env.get("STORM_UNITS") ?? "4000");

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

/** @param targets Base URLs of the instances. @param run Runs a statement in the database, and returns its rows. */
async function storm(
  targets: readonly string[],
  run: (statement: Statement) => Promise<readonly unknown[]> | readonly unknown[],
) {
  const target = (n: number) => targets[n % targets.length] ?? "";
  const { apiKeys } = await signUpForLoad(target(0));
  await run(
    sql`INSERT INTO usage_limits (id, plan, product_slug, metric, per, quantity_whole, quantity_micro,
      mode, created_seq, created_at)
    SELECT 'lim_storm', plan, 'tiles', '', 'month', CAST(${unitsMax} AS INTEGER), 0, 'hard', c.seq,
      1000 * unixepoch()
    FROM organizations CROSS JOIN usage_cursor c LIMIT 1`,
  );
  const accepted = await Promise.all(
    Array.from({ length: connections }, (_, n) => spend(target(n), apiKeys[n % 2] ?? "", 1 + n % 13)),
  );
  assert.equal(accepted.reduce((total, units) => total + units, 0), unitsMax);
  const read = async (path: string) =>
    await (await sendJson(target(1), path, { apiKey: apiKeys[0] ?? "" })).json();
  assert.equal((await read("/api/v1/usage?window=total")).data[0].sum, unitsMax);
  const [{ used, remaining }] = (await read("/api/v1/limits")).limits;
  assert.deepEqual([used, remaining], [unitsMax, 0]);
  const events = await run(sql`
    SELECT facts ->> 'percent' AS percent FROM events WHERE type = 'limit.reached'`);
  assert.deepEqual(events.map((row) => Object.values(row as object)), [[100]]);
}

async function withPrograms(
  count: number,
  env: Readonly<Record<string, string>>,
  run: (programs: readonly Program[], folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-storm-" });
  const options = { folder, env: { API_KEY_REQUESTS_PER_SECOND: "0", HTTP_THREADS: "4", ...env } };
  const programs = Array.from({ length: count }, () => startProgram(options));
  try {
    await Promise.all(programs.map(isReady));
    await run(programs, folder);
  } finally {
    await Promise.all(programs.map(killProgram));
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("200 connections to four threads use up a limit exactly", () =>
  withPrograms(
    1,
    {},
    ([program], folder) => storm([program?.baseUrl ?? ""], (statement) => changeDataFile(folder, statement)),
  ));

Deno.test({
  name: "200 connections to two instances with four threads each use up a limit exactly",
  ignore: sqldMissing() !== null,
  async fn() {
    const server = await startSqld();
    try {
      await withPrograms(
        2,
        { DATABASE_URL: server.url },
        (programs) =>
          storm(programs.map(({ baseUrl }) => baseUrl), async (statement) => {
            const database = openRemote({ url: server.url, authToken: undefined });
            const [result] = await database.write([statement]);
            await database.close();
            return result?.rows ?? [];
          }),
      );
    } finally {
      await server.stop();
    }
  },
});
