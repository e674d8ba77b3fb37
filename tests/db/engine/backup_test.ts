// Copies of a data file are consistent, even while it is written to.
import assert from "node:assert/strict";
import { BackupStopped, checkBackup, copyDataFile } from "../../../db/engine/backup.ts";
import { Connection } from "../../../db/engine/connection.ts";
import { sql } from "../../../db/engine/database.ts";
import { restoreDataFile } from "../../../db/engine/restore.ts";
import { backupStepPagesMax } from "../../../domain/limits.ts";
import { embeddedTestDatabase } from "../../support/database/database.ts";

const rows = 400;

Deno.test("copyDataFile() copies a consistent state, even when all rows change between steps and the log is checkpointed", async () => {
  const { database, place, dispose } = await embeddedTestDatabase();
  const bytes = Math.ceil(2.5 * backupStepPagesMax * 4096 / rows);
  await database.write([
    sql`CREATE TABLE notes (id INTEGER PRIMARY KEY, version INTEGER, filler BLOB)`,
    sql`WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ${rows})
       INSERT INTO notes SELECT id, 1, randomblob(${bytes}) FROM n`,
  ]);
  const writer = new Connection(place, { readOnly: false });
  let steps = 0;
  const copied = await copyDataFile(place, {
    to: `${place}.copy`,
    isStopped: () => {
      writer.exec(`UPDATE notes SET version = version + 1, filler = randomblob(${bytes})`);
      writer.all(sql`PRAGMA wal_checkpoint(PASSIVE)`);
      steps++;
      return false;
    },
  });
  writer.close();
  assert.ok(steps >= 3, String(steps));
  assert.equal((await Deno.stat(`${place}.copy`)).size, copied);
  checkBackup(`${place}.copy`);
  const copy = new Connection(`${place}.copy`, { readOnly: true });
  assert.deepEqual(copy.all(sql`SELECT version, count(*) AS n FROM notes GROUP BY version`), [{
    version: 1,
    n: rows,
  }]);
  copy.close();
  await assert.rejects(Deno.stat(`${place}.copy-wal`), Deno.errors.NotFound);
  await dispose();
});

Deno.test("copyDataFile() stops between steps and releases the log", async () => {
  const { database, place, dispose } = await embeddedTestDatabase();
  await assert.rejects(
    copyDataFile(place, { to: `${place}.copy`, isStopped: () => true }),
    BackupStopped,
  );
  await database.write([sql`CREATE TABLE notes (text TEXT)`]);
  const writer = new Connection(place, { readOnly: false });
  assert.equal(writer.checkpoint({ busyTimeoutMs: 100 }), true);
  writer.close();
  await dispose();
});

Deno.test("a second restore in the same second never replaces the former database of the first", async () => {
  const { database, place, dispose } = await embeddedTestDatabase();
  await database.write([sql`CREATE TABLE notes (text TEXT)`]);
  await copyDataFile(place, { to: `${place}.copy`, isStopped: () => false });
  await database.write([sql`INSERT INTO notes VALUES ('only in the former database')`]);
  await database.close();
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-restore-" });
  const path = `${folder}/gatehouse.db`;
  await Deno.copyFile(place, path);
  const restore = () =>
    restoreDataFile(path, { backup: Deno.openSync(`${place}.copy`).readable, now: Date.UTC(2026, 10, 22) });
  const { former } = await restore();
  const bytes = await Deno.readFile(former ?? "");
  await assert.rejects(restore(), Deno.errors.AlreadyExists);
  assert.deepEqual(await Deno.readFile(former ?? ""), bytes);
  await Deno.remove(folder, { recursive: true });
  await dispose().catch(() => {});
});
