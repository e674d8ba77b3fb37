// Kills an upgrade in the middle of a migration: the migration is rolled back, and the next start applies it.
import assert from "node:assert/strict";
import { Connection } from "../../db/engine/connection.ts";
import { sql } from "../../db/engine/database.ts";
import { openEmbedded } from "../../db/engine/embedded.ts";
import { migrate, migrations } from "../../db/engine/migrate.ts";
import { signUpAndRecord } from "../support/process/journey.ts";
import { poll } from "../support/runner/poll.ts";
import { killProgram } from "../support/process/program.ts";
import { inScene } from "../support/process/scene.ts";
import { repeats } from "../support/runner/extent.ts";
import { faultRandom, letOthersRun } from "../support/runner/random.ts";

const records = 150_000;

/** Fills a data file of the first version with large tables that later migrations rewrite. */
async function makeOldDatabase(path: string): Promise<void> {
  const onFatal = (error: Error) => assert.fail(error);
  const database = await openEmbedded({ path, create: "file", onFatal });
  await migrate(database, { now: 1, list: migrations.slice(0, 1) });
  await database.write([
    sql`WITH RECURSIVE n (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < ${records})
       INSERT INTO usage_records SELECT seq, randomblob(16), 1, 1, seq, seq, seq % 1000, 0, NULL, NULL FROM n`,
    sql`UPDATE usage_cursor SET seq = ${records}`,
  ]);
  await database.close();
}

/** Checks that all records are stored. @returns The number of applied migrations. */
function stateOf(path: string): number {
  const connection = new Connection(path, { readOnly: true });
  try {
    const { count, sum } = connection.first(
      sql`SELECT count(*) AS count, sum(quantity_whole) AS sum FROM usage_records`,
    ) as { count: number; sum: number };
    assert.deepEqual({ count, sum }, { count: records, sum: (records / 1000) * (999 * 1000 / 2) });
    assert.deepEqual(connection.all(sql`PRAGMA integrity_check`), [{ integrity_check: "ok" }]);
    const { n } = connection.first(sql`SELECT count(*) AS n FROM schema_migrations`) as { n: number };
    const isNew = connection.first(sql`SELECT 1 FROM sqlite_master WHERE name = 'usage_voids'`) !== undefined;
    assert.equal(isNew, n > 1, "the second migration is only partly applied");
    return n;
  } finally {
    connection.close();
  }
}

Deno.test("after a kill at any moment of a migration, the next start applies it and nothing is lost", () =>
  inScene({ env: { DATABASE_URL: "file:new.db" } }, async ({ folder, begin, start, run }) => {
    const random = faultRandom("migrate_kill_test.ts");
    const old = `${folder}/old.db`;
    const path = `${folder}/new.db`;
    const reset = async () => {
      for (const end of ["-wal", "-shm"]) await Deno.remove(`${path}${end}`).catch(() => {});
      await Deno.copyFile(old, path);
    };
    await makeOldDatabase(old);
    await reset();
    const startedAt = performance.now();
    assert.equal((await run("migrate")).status, 0);
    const wholeMs = performance.now() - startedAt;
    const logBytesMax = (await Deno.stat(old)).size / 2;
    let unfinished = 0;
    for (let round = 0; round < repeats({ quick: 3, full: 12 }); round++) {
      await reset();
      const program = begin({ args: ["migrate"] });
      let hasEnded = false;
      const ended = program.ended().then(() => hasEnded = true);
      if (round % 2 === 0) await letOthersRun(random.between(0, Math.ceil(wholeMs)));
      else {
        // Kill it while it writes the commit.
        const bytes = random.between(1, logBytesMax);
        await poll(async () =>
          hasEnded || (await Deno.stat(`${path}-wal`).catch(() => ({ size: 0 }))).size >= bytes
        );
      }
      await killProgram(program);
      await ended;
      // A copy, because a connection of this process would change the log for the next start.
      for (const end of ["", "-wal"]) {
        await Deno.copyFile(`${path}${end}`, `${folder}/seen.db${end}`).catch(() => {});
      }
      if (stateOf(`${folder}/seen.db`) < migrations.length) unfinished++;
      for (const end of ["", "-wal", "-shm"]) await Deno.remove(`${folder}/seen.db${end}`).catch(() => {});
      const again = await run("migrate");
      assert.equal(again.status, 0, again.stderr);
    }
    assert.ok(unfinished > 0, "no kill came before the end of the migration");
    await signUpAndRecord((await start()).baseUrl);
  }));
