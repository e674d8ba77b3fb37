// A database that another thread opened: it reads and writes as the one it is shared from.
import assert from "node:assert/strict";
import { DatabaseError, type SharedDatabase, sql } from "../../../db/engine/database.ts";
import { openEmbedded } from "../../../db/engine/embedded.ts";
import { openShared } from "../../../db/engine/open.ts";
import { bothDatabases, embeddedTestDatabase, onDatabases } from "../../support/database/database.ts";
import { poll } from "../../support/runner/poll.ts";

const onFatal = (error: Error) => assert.fail(error);

onDatabases("another thread writes and reads through a share", async ({ database }) => {
  await database.write([sql`CREATE TABLE notes (text TEXT NOT NULL UNIQUE) STRICT`]);
  const thread = new Worker(new URL("../../support/database/thread.ts", import.meta.url), {
    type: "module",
  });
  const share = database.share();
  const written = new Promise<MessageEvent>((resolve) => thread.onmessage = resolve);
  thread.postMessage({ share, text: "from a thread" }, share.kind === "file" ? [share.port] : []);
  assert.deepEqual((await written).data, { read: ["from a thread"], refused: "constraint" });
  thread.terminate();
  assert.equal((await database.read(sql`SELECT * FROM notes`)).length, 1);
}, bothDatabases);

Deno.test("an unknown outcome is fatal for all threads", async () => {
  const folder = await Deno.makeTempDir();
  const fatal: string[] = [];
  const database = await openEmbedded({
    path: `${folder}/data.db`,
    create: "file",
    onFatal: () => fatal.push("main"),
  });
  const shared = await openShared(database.share(), { onFatal: () => fatal.push("shared") });
  const isFatal = (error: unknown) =>
    error instanceof DatabaseError && error.kind === "unavailable" &&
    /the writer stopped/.test(error.message);
  // A batch that ends the transaction itself.
  await assert.rejects(shared.write([sql`COMMIT`]), isFatal);
  await poll(() => fatal.length === 2);
  assert.deepEqual(fatal.toSorted(), ["main", "shared"]);
  for (const one of [database, shared]) await assert.rejects(one.write([sql`SELECT 1`]), isFatal);
  await shared.close();
  await database.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("an outcome that is unknown while the database closes leaves the log as it is", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/data.db`;
  const database = await openEmbedded({ path, create: "file", onFatal: () => {} });
  await database.write([sql`CREATE TABLE notes (text TEXT)`]);
  const rejected = assert.rejects(database.write([sql`COMMIT`]), /the writer stopped/);
  await database.close();
  await rejected;
  assert((await Deno.stat(`${path}-wal`)).size > 0);
  await Deno.remove(folder, { recursive: true });
});

onDatabases("a value that can't be sent rejects its batch and no later one", async ({ database }) => {
  const insert = (text: unknown) => database.write([sql`INSERT INTO notes VALUES (${text as string})`]);
  await database.write([sql`CREATE TABLE notes (text TEXT)`]);
  await assert.rejects(insert(Promise.resolve("lost")), { name: "DatabaseError", kind: "fault" });
  assert.equal((await database.write([sql`SELECT 'other'`])).length, 1);
  await insert("kept");
  assert.deepEqual(await database.read(sql`SELECT text FROM notes`), [{ text: "kept" }]);
});

Deno.test("writes accepted batches of a share before it closes, and what follows from them", async () => {
  const { database, dispose } = await embeddedTestDatabase();
  await database.write([sql`CREATE TABLE notes (text TEXT)`]);
  const shared = await openShared(database.share(), { onFatal });
  const last = shared.write([sql`INSERT INTO notes VALUES ('first')`])
    .then(() => shared.write([sql`INSERT INTO notes VALUES ('last')`]));
  await shared.close();
  await last;
  await assert.rejects(shared.write([sql`INSERT INTO notes VALUES ('late')`]), DatabaseError);
  assert.equal((await database.read(sql`SELECT * FROM notes`)).length, 2);
  await dispose();
});

Deno.test("fail() rejects what waits and all later writes of a share", async () => {
  const { database, dispose } = await embeddedTestDatabase();
  const shared: SharedDatabase = await openShared(database.share(), { onFatal });
  const waiting = shared.write([sql`SELECT 1`]);
  shared.fail("it crashed");
  const isDead = (error: unknown) =>
    error instanceof DatabaseError && error.kind === "unavailable" && /it crashed/.test(error.message);
  await assert.rejects(waiting, isDead);
  await assert.rejects(shared.write([sql`SELECT 1`]), isDead);
  await shared.close();
  await dispose();
});
