// The embedded driver while another process has the lock: it waits in its thread, loses nothing, and continues.
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { DatabaseError, sql } from "../../../db/engine/database.ts";
import { embeddedTestDatabase } from "../../support/database/database.ts";

Deno.test("reports a long lock as unavailable, continues to read, and writes later batches to disk", async () => {
  const { database, place, dispose } = await embeddedTestDatabase();
  await database.write([sql`CREATE TABLE notes (text TEXT)`]);
  const other = new DatabaseSync(place);
  other.exec("BEGIN IMMEDIATE");
  const blocked = [1, 2, 3].map((n) => database.write([sql`INSERT INTO notes VALUES (${`blocked ${n}`})`]));
  // Neither reads nor this thread wait for the lock.
  assert.equal((await database.read(sql`SELECT * FROM notes`)).length, 0);
  for (const result of await Promise.allSettled(blocked)) {
    assert.equal(result.status, "rejected");
    assert(result.reason instanceof DatabaseError && result.reason.kind === "unavailable");
  }
  other.exec("ROLLBACK");
  for (let n = 0; n < 20; n++) await database.write([sql`INSERT INTO notes VALUES (${`after ${n}`})`]);
  // Another connection sees it, so it is in the file.
  assert.deepEqual({ ...other.prepare("SELECT count(*) AS n FROM notes").get() }, { n: 20 });
  other.close();
  await dispose();
});

Deno.test("syncs to disk before it acknowledges: PRAGMA synchronous is FULL", async () => {
  const { database, dispose } = await embeddedTestDatabase();
  const [synchronous] = await database.write([sql`PRAGMA synchronous`]);
  assert.deepEqual(synchronous?.rows.map((row) => row["synchronous"]), [2]);
  await dispose();
});
