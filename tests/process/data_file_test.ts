// After a clean stop, the data file alone has all data. After a kill, the next start recovers the rest from the log.
import assert from "node:assert/strict";
import { Connection } from "../../db/engine/connection.ts";
import { sql } from "../../db/engine/database.ts";
import { runCommand } from "../support/process/command.ts";
import { holdLock } from "../support/database/held_lock.ts";
import { assertMonthSum, signUpAndRecord } from "../support/process/journey.ts";
import {
  isReady,
  killProgram,
  type Program,
  type ProgramOptions,
  startProgram,
} from "../support/process/program.ts";

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
  const program = startProgram({ ...options, env: { HTTP_THREADS: "1", ...options.env } });
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

Deno.test("a copy of the data file after a clean stop has all data", () =>
  inFolder(async (folder) => {
    let fullKey = "";
    await withServer({ folder }, async (program) => {
      ({ fullKey } = await signUpAndRecord(program.baseUrl));
      await stop(program);
    });
    assert.deepEqual(namesIn(`${folder}/data`), allOfTheData);
    await Deno.copyFile(`${folder}/data/gatehouse.db`, `${folder}/copy.db`);
    const env = { DATABASE_URL: "file:copy.db" };
    await withServer({ folder, env }, ({ baseUrl }) => assertMonthSum(baseUrl, { fullKey, sum: 1.6 }));
  }));

Deno.test("commands leave no log behind, and neither does a server after a command ran next to it", () =>
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

Deno.test("moves the log into the data file even if another process has the file open", () =>
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
    await withServer({ folder, env }, ({ baseUrl }) => assertMonthSum(baseUrl, { fullKey, sum: 1.6 }));
  }));

Deno.test("reports data left in the log while another process uses the file, and loses nothing", () =>
  inFolder(async (folder) => {
    const path = `${folder}/data/gatehouse.db`;
    let fullKey = "";
    const program = await withServer({ folder }, async (program) => {
      ({ fullKey } = await signUpAndRecord(program.baseUrl));
      const lock = holdLock(path);
      await stop(program);
      assert.ok((await Deno.stat(`${path}-wal`)).size > 0);
      lock.release();
    });
    assert.match(program.output(), /newest data is still in \/.*gatehouse\.db-wal, .*Copy both files/);
    await withServer({ folder }, ({ baseUrl }) => assertMonthSum(baseUrl, { fullKey, sum: 1.6 }));
  }));

Deno.test("recovers the log after a kill, and removes it at the next clean stop", () =>
  inFolder(async (folder) => {
    let fullKey = "";
    await withServer({ folder }, async (program) => {
      ({ fullKey } = await signUpAndRecord(program.baseUrl));
      await killProgram(program);
    });
    assert.ok((await Deno.stat(`${folder}/data/gatehouse.db-wal`)).size > 0);
    await withServer({ folder }, async (program) => {
      await assertMonthSum(program.baseUrl, { fullKey, sum: 1.6 });
      await stop(program);
    });
    assert.deepEqual(namesIn(`${folder}/data`), allOfTheData);
  }));

Deno.test("starts again after a kill while it created its data file", () =>
  inFolder(async (folder) => {
    // What such a kill leaves behind: an empty temporary file.
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
