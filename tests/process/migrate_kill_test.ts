// Kills an upgrade in the middle of a migration: the migration is rolled back, and the next start applies it.
import assert from "node:assert/strict";
import { Connection } from "../../db/engine/connection.ts";
import { sql } from "../../db/engine/database.ts";
import { openEmbedded } from "../../db/engine/embedded.ts";
import { migrate } from "../../db/engine/migrate.ts";
import { runCommand } from "../support/process/command.ts";
import { replaceModule, writeConfig } from "../support/process/config.ts";
import { signUpAndRecord } from "../support/process/journey.ts";
import { poll } from "../support/runner/poll.ts";
import { killProgram } from "../support/process/program.ts";
import { inScene } from "../support/process/scene.ts";
import { repeats } from "../support/runner/extent.ts";
import { faultRandom, letOthersRun } from "../support/runner/random.ts";

const records = 150_000;

/** Fills a data file with a large table that a later migration rewrites. */
async function makeOldDatabase(path: string): Promise<void> {
  const onFatal = (error: Error) => assert.fail(error);
  const database = await openEmbedded({ path, create: "file", onFatal });
  await migrate(database, { now: 1 });
  await database.write([
    sql`WITH RECURSIVE n (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < ${records})
       INSERT INTO usage_records SELECT seq, 1, 1, seq, seq, seq % 1000, 0, NULL, NULL FROM n`,
    sql`UPDATE usage_cursor SET seq = ${records}`,
  ]);
  await database.close();
}

/** Checks that all records are stored. @returns True if the migration was applied. */
function isMigrated(path: string): boolean {
  const connection = new Connection(path, { readOnly: true });
  try {
    const { count, sum } = connection.first(
      sql`SELECT count(*) AS count, sum(quantity_whole) AS sum FROM usage_records`,
    ) as { count: number; sum: number };
    assert.deepEqual({ count, sum }, { count: records, sum: (records / 1000) * (999 * 1000 / 2) });
    assert.deepEqual(connection.all(sql`PRAGMA integrity_check`), [{ integrity_check: "ok" }]);
    const isApplied = connection.first(sql`SELECT 1 FROM schema_migrations WHERE number = 999`) !== undefined;
    const isNew = connection.first(sql`SELECT 1 FROM sqlite_master WHERE name = 'later'`) !== undefined;
    assert.equal(isNew, isApplied, "the migration is only partly applied");
    return isApplied;
  } finally {
    connection.close();
  }
}

Deno.test("after a kill at any moment of a migration, the next start applies it and nothing is lost", () =>
  inScene({ env: { DATABASE_URL: "file:new.db" } }, async ({ folder, options, begin, start }) => {
    const module = replaceModule({
      importer: "commands/open_database.ts",
      module: "db/engine/migrate.ts",
      replacement: "tests/support/process/later_schema.ts",
    });
    const config = await writeConfig(folder, module);
    const run = () => runCommand({ ...options, config }, "migrate");
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
    const whole = await run();
    assert.equal(whole.status, 0, whole.stderr);
    const wholeMs = performance.now() - startedAt;
    const logBytesMax = (await Deno.stat(old)).size / 2;
    let unfinished = 0;
    for (let round = 0; round < repeats({ quick: 3, full: 12 }); round++) {
      await reset();
      const program = begin({ args: ["migrate"], config });
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
      if (!isMigrated(`${folder}/seen.db`)) unfinished++;
      for (const end of ["", "-wal", "-shm"]) await Deno.remove(`${folder}/seen.db${end}`).catch(() => {});
      const again = await run();
      assert.equal(again.status, 0, again.stderr);
    }
    assert.ok(unfinished > 0, "no kill came before the end of the migration");
    await signUpAndRecord((await start({ config })).baseUrl);
  }));
