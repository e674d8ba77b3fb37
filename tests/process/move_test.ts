// `gatehouse move` as its own process: killed in the middle, resumed, and refused where it must be.
import assert from "node:assert/strict";
import { Connection } from "../../db/engine/connection.ts";
import { lockDataFile } from "../../db/engine/data_file.ts";
import { unfinishedMove } from "../../db/engine/migrate.ts";
import { embeddedTestDatabase } from "../support/database/database.ts";
import { fillTables, readEverything } from "../support/database/random_rows.ts";
import { runCommand } from "../support/process/command.ts";
import { programCommand } from "../support/process/program.ts";
import { inScene } from "../support/process/scene.ts";
import { poll } from "../support/runner/poll.ts";
import { faultRandom } from "../support/runner/random.ts";

/** True once a move to this file has begun. */
function hasBegun(path: string): boolean {
  try {
    const connection = new Connection(path, { readOnly: true });
    try {
      return connection.first({ sql: `SELECT 1 FROM ${unfinishedMove}`, args: [] }) !== undefined;
    } finally {
      connection.close();
    }
  } catch {
    return false;
  }
}

/** Writes as a command beside a server does. */
function insertProduct(path: string): void {
  const connection = new Connection(path, { readOnly: false, isGuest: true });
  try {
    connection.exec("PRAGMA busy_timeout = 0");
    connection.exec("INSERT INTO products (slug, name, created_at) VALUES ('more', 'More', 1)");
  } finally {
    connection.close();
  }
}

Deno.test("gatehouse move locks its source and its target and continues after a kill, and no server accepts its target before", () =>
  inScene({ env: { PORT: "0" } }, async ({ folder }) => {
    const filled = await embeddedTestDatabase();
    const [source, target] = [`${folder}/source.db`, `${folder}/target.db`];
    await filled.database.close();
    await Deno.copyFile(filled.place, source);
    await filled.dispose();
    fillTables(source, { rows: 200, random: faultRandom("move") });
    const before = await Deno.readFile(source);
    const run = (place: string, ...args: string[]) =>
      runCommand({ folder, env: { DATABASE_URL: `file:${place}`, PORT: "0" } }, ...args);
    const move = () => run(source, "move", "--to", `file:${target}`);
    const unlock = lockDataFile(source);
    const running = await move();
    unlock?.();
    assert.deepEqual([running.status, running.stderr], [
      75,
      `gatehouse move: a server is running on ${source}; stop it first\n`,
    ]);

    const args = ["move", "--to", `file:${target}`];
    const child = programCommand({ folder, args, env: { DATABASE_URL: `file:${source}` } }, { stdin: "null" })
      .spawn();
    await poll(() => hasBegun(target));
    // It keeps its locks while it is stopped.
    child.kill("SIGSTOP");
    assert.ok(hasBegun(target), "the move ended too soon");
    assert.throws(() => insertProduct(source), { kind: "unavailable" }, "the source can be changed");
    for (const place of [source, target]) {
      const unlock = lockDataFile(place);
      unlock?.();
      assert.equal(unlock, null, `a server can start on ${place}`);
    }
    child.kill("SIGKILL");
    const { code, stdout } = await child.output();
    assert.deepEqual([code, stdout.length], [137, 0]);

    for (const command of ["serve", "migrate"]) {
      const refused = await run(target, command);
      assert.deepEqual([refused.status, refused.stdout], [78, ""]);
      assert.match(
        refused.stderr,
        /a move to this database isn't finished; run the same gatehouse move again/,
      );
    }

    const resumed = await move();
    assert.equal(resumed.status, 0, resumed.stderr);
    assert.match(resumed.stdout, /^Moved \d+ rows of \d+ tables to .*, and compared every row\.\n/);
    assert.deepEqual(await Deno.readFile(source), before);
    assert.deepEqual(readEverything(target), readEverything(source));

    const again = await move();
    assert.deepEqual([again.status, again.stdout], [65, ""]);
    assert.match(again.stderr, /The target isn't empty\./);
    assert.equal((await run(target, "migrate")).stdout, "The database is up to date.\n");
  }));
