// The embedded driver while another process has the lock: it waits in its thread, loses nothing, and continues.
import assert from "node:assert/strict";
import Sqlite from "libsql";
import { Connection } from "../../../db/engine/connection.ts";
import { DatabaseError, sql } from "../../../db/engine/database.ts";
import { writeBatch, type WriterRequest, type WriterResponse } from "../../../db/engine/writer_worker.ts";
import { embeddedTestDatabase } from "../../support/database.ts";

Deno.test("reports a long lock as unavailable, continues to read, and writes later batches to disk", async () => {
  const { database, place, dispose } = await embeddedTestDatabase();
  await database.write([sql`CREATE TABLE notes (text TEXT)`]);
  const other = new Sqlite(place);
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
  assert.deepEqual({ ...other.prepare("SELECT count(*) AS n FROM notes").get() as object, _metadata: 0 }, {
    n: 20,
    _metadata: 0,
  });
  other.close();
  await dispose();
});

Deno.test("syncs to disk before it acknowledges: PRAGMA synchronous is FULL", async () => {
  const { database, dispose } = await embeddedTestDatabase();
  const [synchronous] = await database.write([sql`PRAGMA synchronous`]);
  assert.deepEqual(synchronous?.rows.map((row) => row["synchronous"]), [2]);
  await dispose();
});

Deno.test("writeBatch() rolls back after a failed statement, and stops when the outcome is unknown", async () => {
  const { place, dispose } = await embeddedTestDatabase();
  const connection = new Connection(place, { readOnly: false });
  const failed = writeBatch(connection, [
    sql`CREATE TABLE notes (text TEXT)`,
    sql`INSERT INTO nowhere VALUES (1)`,
  ]);
  assert.equal(failed.type, "failed");
  assert.equal(connection.inTransaction, false);
  // A batch that ends the transaction itself makes COMMIT fail with an unknown outcome.
  assert.equal(writeBatch(connection, [sql`COMMIT`]).type, "fatal");
  connection.close();
  await dispose();
});

Deno.test("after a COMMIT with an unknown outcome, doesn't write the next batch", async () => {
  const { place, dispose } = await embeddedTestDatabase();
  const worker = new Worker(new URL("../../../db/engine/writer_worker.ts", import.meta.url), {
    type: "module",
  });
  const responses: string[] = [];
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  worker.onmessage = ({ data }: MessageEvent<WriterResponse>) => {
    responses.push(data.type);
    if (data.type === "closed") resolve();
  };
  const texts = ["CREATE TABLE notes (text TEXT)", "COMMIT", "INSERT INTO notes VALUES ('at hand')"];
  const requests: readonly WriterRequest[] = [
    { type: "open", path: place },
    { type: "write", texts, batch: [[0, []], [1, []]], round: 0 },
    { type: "write", texts: [], batch: [[2, []]], round: 0 },
    { type: "close" },
  ];
  for (const request of requests) worker.postMessage(request);
  await closed;
  worker.terminate();
  assert.deepEqual(responses, ["opened", "fatal", "closed"]);
  const file = new Sqlite(place);
  assert.deepEqual(file.prepare("SELECT text FROM notes").all(), []);
  file.close();
  await dispose();
});
