// After a clean stop the one data file is all of the data; after a kill the next start finds the rest in the log.
import assert from "node:assert/strict";
import { Connection } from "../../db/engine/connection.ts";
import { sql } from "../../db/engine/database.ts";
import { runCommand } from "../support/command.ts";
import { holdLock } from "../support/held_lock.ts";
import { readsSum, signUpAndRecord } from "../support/journey.ts";
import { isReady, killProgram, type Program, type ProgramOptions, startProgram } from "../support/program.ts";

async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-file-" });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function withServer(
  options: ProgramOptions,
  act: (program: Program) => Promise<void>,
): Promise<Program> {
  const program = startProgram(options);
  try {
    await isReady(program);
    await act(program);
    return program;
  } finally {
    await killProgram(program);
  }
}

async function stop(program: Program): Promise<void> {
  program.kill("SIGTERM");
  assert.equal(await program.ended(), 0, program.output());
}

const namesIn = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
const allOfTheData = ["gatehouse.db", "gatehouse.db.lock"];

Deno.test("a copy of the one data file after a clean stop has everything", () =>
  inFolder(async (folder) => {
    let fullKey = "";
    await withServer({ folder }, async (program) => {
      ({ fullKey } = await signUpAndRecord(program.baseUrl));
      await stop(program);
    });
    assert.deepEqual(namesIn(`${folder}/data`), allOfTheData);
    await Deno.copyFile(`${folder}/data/gatehouse.db`, `${folder}/copy.db`);
    const env = { DATABASE_URL: "file:copy.db" };
    await withServer({ folder, env }, ({ baseUrl }) => readsSum(baseUrl, { fullKey, sum: 1.6 }));
  }));

Deno.test("commands leave no log behind, and neither does a server after one beside it", () =>
  inFolder(async (folder) => {
    const run = async (...args: string[]) => assert.equal((await runCommand({ folder }, ...args)).status, 0);
    await run("migrate");
    assert.deepEqual(namesIn(`${folder}/data`), allOfTheData);
    await run("user", "create", "ada@example.com", "--name", "Ada");
    assert.deepEqual(namesIn(`${folder}/data`), allOfTheData);
    await withServer({ folder }, async (program) => {
      await run("user", "disable", "ada@example.com");
      await run("user", "list");
      await stop(program);
    });
    assert.deepEqual(namesIn(`${folder}/data`), allOfTheData);
  }));

Deno.test("another process that has the file open does not keep the newest data out of it", () =>
  inFolder(async (folder) => {
    const path = `${folder}/data/gatehouse.db`;
    let fullKey = "";
    const program = await withServer({ folder }, async (program) => {
      ({ fullKey } = await signUpAndRecord(program.baseUrl));
      const other = new Connection(path, { readOnly: true, isGuest: true });
      assert.equal(other.all(sql`SELECT * FROM users`).length, 1);
      await stop(program);
      await Deno.copyFile(path, `${folder}/copy.db`);
      other.close();
    });
    assert.doesNotMatch(program.output(), /gatehouse\.db-wal/);
    const env = { DATABASE_URL: "file:copy.db" };
    await withServer({ folder, env }, ({ baseUrl }) => readsSum(baseUrl, { fullKey, sum: 1.6 }));
  }));

Deno.test("a log that another process keeps from being emptied is mentioned, and nothing is lost", () =>
  inFolder(async (folder) => {
    const path = `${folder}/data/gatehouse.db`;
    let fullKey = "";
    const program = await withServer({ folder }, async (program) => {
      ({ fullKey } = await signUpAndRecord(program.baseUrl));
      const lock = await holdLock(path);
      await stop(program);
      assert.ok((await Deno.stat(`${path}-wal`)).size > 0);
      await lock.giveBack();
    });
    assert.match(program.output(), /newest data is still in \/.*gatehouse\.db-wal, .*Copy both files/);
    await withServer({ folder }, ({ baseUrl }) => readsSum(baseUrl, { fullKey, sum: 1.6 }));
  }));

Deno.test("after a kill the next start uses the log, and its clean stop empties it", () =>
  inFolder(async (folder) => {
    let fullKey = "";
    await withServer({ folder }, async (program) => {
      ({ fullKey } = await signUpAndRecord(program.baseUrl));
      await killProgram(program);
    });
    assert.ok((await Deno.stat(`${folder}/data/gatehouse.db-wal`)).size > 0);
    await withServer({ folder }, async (program) => {
      await readsSum(program.baseUrl, { fullKey, sum: 1.6 });
      await stop(program);
    });
    assert.deepEqual(namesIn(`${folder}/data`), allOfTheData);
  }));

Deno.test("killed while it creates its data file, it starts again", () =>
  inFolder(async (folder) => {
    // What is left in the middle: an empty file aside.
    await Deno.mkdir(`${folder}/data`);
    await Deno.writeFile(`${folder}/data/gatehouse.db.new`, new Uint8Array());
    const program = await withServer({ folder }, async (program) => {
      await signUpAndRecord(program.baseUrl);
      await stop(program);
    });
    assert.match(
      program.output(),
      new RegExp(`"database":"${await Deno.realPath(folder)}/data/gatehouse.db"`),
    );
    assert.deepEqual(namesIn(`${folder}/data`), allOfTheData);
  }));
