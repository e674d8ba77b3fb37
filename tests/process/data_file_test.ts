// After a clean stop, the data file alone has all data. After a kill, the next start recovers the rest from the log.
import assert from "node:assert/strict";
import { Connection } from "../../db/engine/connection.ts";
import { sql } from "../../db/engine/database.ts";
import { holdLock } from "../support/database/held_lock.ts";
import { assertMonthSum, sendJson, signUpAndRecord } from "../support/process/journey.ts";
import { runHere } from "../support/process/here.ts";
import { killProgram } from "../support/process/program.ts";
import { inScene, onServer, type Scene, stop } from "../support/process/scene.ts";

const namesIn = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
const allOfTheData = ["gatehouse.db", "gatehouse.db.lock"];

/** Asserts that a copy of the data file alone has what was recorded. */
async function isComplete({ folder, path, start }: Scene, fullKey: string): Promise<void> {
  await Deno.copyFile(path, `${folder}/copy.db`);
  const server = await start({ env: { DATABASE_URL: "file:copy.db" } });
  await assertMonthSum(server.baseUrl, { fullKey, sum: 1.6 });
}

Deno.test("commands leave no log behind, and neither does a server after a command ran next to it: its data file has all data", () =>
  inScene({}, async (scene) => {
    const { folder, options, run, start } = scene;
    const runs = async (...args: string[]) => assert.equal((await runHere(options, ...args)).status, 0);
    assert.equal((await run("migrate")).status, 0);
    assert.deepEqual(namesIn(`${folder}/data`), allOfTheData);
    await runs("user", "create", "eve@example.com", "--name", "Eve");
    assert.deepEqual(namesIn(`${folder}/data`), allOfTheData);
    const server = await start();
    const { fullKey } = await signUpAndRecord(server.baseUrl);
    await runs("user", "disable", "eve@example.com");
    await runs("user", "list");
    await stop(server);
    assert.deepEqual(namesIn(`${folder}/data`), allOfTheData);
    await isComplete(scene, fullKey);
  }));

Deno.test("moves the log into the data file even if another process reads it, or reports what is left, which the next start recovers, as after a kill", () =>
  onServer({}, async (scene) => {
    const { folder, program, path, start } = scene;
    const { fullKey } = await signUpAndRecord(program.baseUrl);
    const other = new Connection(path, { readOnly: true, isGuest: true });
    assert.equal(other.all(sql`SELECT * FROM users`).length, 1);
    await stop(program);
    assert.doesNotMatch(program.output(), /gatehouse\.db-wal/);
    await isComplete(scene, fullKey);
    other.close();

    const second = await start();
    await assertMonthSum(second.baseUrl, { fullKey, sum: 1.6 });
    const eve = await signUpAndRecord(second.baseUrl, "eve@example.com");
    const lock = holdLock(path);
    await stop(second);
    const logBytes = () => Deno.statSync(`${path}-wal`).size;
    assert.ok(logBytes() > 0);
    lock.release();
    assert.match(second.output(), /newest data is still in \/.*gatehouse\.db-wal, .*Copy both files/);
    const third = await start();
    await assertMonthSum(third.baseUrl, { fullKey: eve.fullKey, sum: 1.6 });
    await signUpAndRecord(third.baseUrl, "bob@example.com");
    await killProgram(third);
    assert.ok(logBytes() > 0);
    const fourth = await start();
    assert.equal((await sendJson(fourth.baseUrl, "/api/v1/usage", { apiKey: fullKey })).status, 200);
    assert.match((await runHere({ folder }, "user", "list")).stdout, /bob@example\.com/);
    await stop(fourth);
    assert.deepEqual(namesIn(`${folder}/data`), allOfTheData);
  }));

Deno.test("starts again after a kill while it created its data file", () =>
  inScene({}, async ({ folder, start }) => {
    // What such a kill leaves behind: an empty temporary file.
    await Deno.mkdir(`${folder}/data`);
    await Deno.writeFile(`${folder}/data/gatehouse.db.new`, new Uint8Array());
    const program = await start();
    await signUpAndRecord(program.baseUrl);
    await stop(program);
    const database = `"database":"${await Deno.realPath(folder)}/data/gatehouse.db"`;
    assert.match(program.output(), new RegExp(database));
    assert.deepEqual(namesIn(`${folder}/data`), allOfTheData);
  }));
