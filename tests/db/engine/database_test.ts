// The guarantees of both drivers: batches are atomic, and acknowledged writes are visible immediately and after a restart.
import assert from "node:assert/strict";
import { DatabaseError, sql, writeNamed } from "../../../db/engine/database.ts";
import { openEmbedded } from "../../../db/engine/embedded.ts";
import { openRemote } from "../../../db/engine/remote.ts";
import { bothDatabases, onDatabases, type TestDatabase } from "../../support/database/database.ts";
import { freePort } from "../../support/database/sqld.ts";

const table = sql`CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT`;

const on = (promise: string, run: (opened: TestDatabase) => Promise<void>) =>
  onDatabases(promise, run, bothDatabases);

on(
  "a batch returns the rows and changes of each statement, and is visible immediately",
  async ({ database }) => {
    const results = await database.write([
      table,
      sql`INSERT INTO notes (text) VALUES (${"a"}), (${"b"}) RETURNING id, text`,
      sql`UPDATE notes SET text = text || '!' WHERE id > ${0}`,
      sql`SELECT count(*) AS n FROM notes`,
    ]);
    assert.deepEqual(results[1]?.rows.map((row) => ({ ...row })), [{ id: 1, text: "a" }, {
      id: 2,
      text: "b",
    }]);
    assert.deepEqual(results.map(({ changes }) => changes), [0, 0, 2, 0]);
    assert.equal(results[3]?.rows[0]?.["n"], 2);
    const rows = await database.read<{ text: string }>(sql`SELECT text FROM notes ORDER BY id`);
    assert.deepEqual(rows.map(({ text }) => text), ["a!", "b!"]);
    const first = await database.readFirst<{ text: string }>(sql`SELECT text FROM notes WHERE id = ${2}`);
    assert.equal(first?.text, "b!");
    assert.equal(await database.readFirst(sql`SELECT text FROM notes WHERE id = 99`), undefined);
  },
);

on("a batch with names returns results by name, also after lists and empty ones", async ({ database }) => {
  const insert = sql`INSERT INTO notes (text) VALUES ('a') RETURNING id`;
  const results = await writeNamed(database, {
    begin: [table, sql`DELETE FROM notes`],
    none: [],
    insert,
    change: sql`UPDATE notes SET text = 'b'`,
    counts: [sql`SELECT count(*) AS n FROM notes`, sql`SELECT max(text) AS n FROM notes`],
  });
  assert.equal(results.insert.rows[0]?.["id"], 1);
  assert.equal(results.change.changes, 1);
  assert.deepEqual(results.counts.map(({ rows }) => rows[0]?.["n"]), [1, "b"]);
  assert.deepEqual([results.begin.length, results.none], [2, []]);
});

on("a failing statement rolls back the whole batch", async ({ database }) => {
  await database.write([table, sql`INSERT INTO notes (text) VALUES ('kept')`]);
  await assert.rejects(
    database.write([
      sql`INSERT INTO notes (text) VALUES ('lost')`,
      sql`INSERT INTO notes (text) VALUES ('kept')`,
    ]),
    (error) => error instanceof DatabaseError && error.kind === "constraint",
  );
  assert.equal((await database.read(sql`SELECT * FROM notes`)).length, 1);
  await assert.rejects(
    database.write([
      sql`INSERT INTO notes (text) VALUES ('lost')`,
      sql`INSERT INTO nowhere VALUES (1)`,
    ]),
    (error) => error instanceof DatabaseError && error.kind === "fault",
  );
  assert.equal((await database.read(sql`SELECT * FROM notes`)).length, 1);
  // The writer continues.
  await database.write([sql`INSERT INTO notes (text) VALUES ('next')`]);
  assert.equal((await database.read(sql`SELECT * FROM notes`)).length, 2);
});

on("texts, numbers and null are returned unchanged", async ({ database }) => {
  await database.write([sql`CREATE TABLE things (a, b, c, d)`]);
  const text = "“Ångström” 🜁 ' \" \\ % \u{10FFFF}";
  await database.write([
    sql`INSERT INTO things VALUES (${text}, ${Number.MAX_SAFE_INTEGER}, ${0.1}, ${null})`,
  ]);
  const row = await database.readFirst<{ a: string; b: number; c: number; d: null }>(
    sql`SELECT a, b, c, d FROM things`,
  );
  assert.deepEqual([row?.a, row?.b, row?.c, row?.d], [text, Number.MAX_SAFE_INTEGER, 0.1, null]);
});

on("rejects invalid values before they reach the driver", async ({ database }) => {
  await database.write([table]);
  for (const bad of [undefined, Number.NaN, Infinity, true, 10n, new Uint8Array(2), {}]) {
    const statement = { sql: "INSERT INTO notes (text) VALUES (?)", args: [bad as never] };
    await assert.rejects(database.write([statement]), DatabaseError);
    await assert.rejects(database.read(statement), DatabaseError);
  }
  assert.equal((await database.read(sql`SELECT * FROM notes`)).length, 0);
});

on("rejects an object that looks like a statement, such as parsed JSON", async ({ database }) => {
  const forged = JSON.parse(`{"sql": "'forged'", "args": []}`);
  await assert.rejects(database.read(sql`SELECT ${forged} AS text`), DatabaseError);
  await assert.rejects(database.read(sql`SELECT ${forged} AS text WHERE ${sql`true`}`), DatabaseError);
  await assert.rejects(database.write([sql`SELECT ${forged} AS text`]), DatabaseError);
});

on("loses none of many concurrent batches", async ({ database }) => {
  await database.write([table]);
  const texts = Array.from({ length: 200 }, (_, n) => `note ${n}`);
  await Promise.all(
    texts.map((text) => database.write([sql`INSERT INTO notes (text) VALUES (${text})`])),
  );
  const rows = await database.read<{ n: number }>(sql`SELECT count(DISTINCT text) AS n FROM notes`);
  assert.equal(rows[0]?.n, 200);
});

Deno.test("embedded database: keeps writes after a restart, in a file that only its owner can read", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/data.db`;
  const options = { path, create: "file" as const, onFatal: (error: Error) => assert.fail(error) };
  const first = await openEmbedded(options);
  await first.write([table, sql`INSERT INTO notes (text) VALUES ('kept')`]);
  // Closing writes accepted batches first.
  const last = first.write([sql`INSERT INTO notes (text) VALUES ('last')`]);
  await first.close();
  await last;
  assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
  const second = await openEmbedded(options);
  assert.equal((await second.read(sql`SELECT * FROM notes`)).length, 2);
  await second.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("embedded database: rejects a missing folder, and a file that isn't a database", async () => {
  const folder = await Deno.makeTempDir();
  const onFatal = (error: Error) => assert.fail(error);
  await assert.rejects(
    openEmbedded({ path: `${folder}/missing/data.db`, create: "file", onFatal }),
    (error) => error instanceof DatabaseError && /missing/.test(error.message),
  );
  await assert.rejects(Deno.stat(`${folder}/missing`), Deno.errors.NotFound);
  await Deno.writeTextFile(`${folder}/letter.db`, "Dear reader, this is not a database. ".repeat(100));
  await assert.rejects(
    openEmbedded({ path: `${folder}/letter.db`, create: "file", onFatal }),
    DatabaseError,
  );
  await Deno.remove(folder, { recursive: true });
});

Deno.test("remote database: an unreachable server is unavailable, without a wait", async () => {
  const database = openRemote({
    url: `http://127.0.0.1:${freePort()}`,
    authToken: undefined,
    timeoutMs: 2_000,
  });
  const isUnavailable = (error: unknown) => error instanceof DatabaseError && error.kind === "unavailable";
  await assert.rejects(database.read(sql`SELECT 1`), isUnavailable);
  await assert.rejects(database.write([sql`SELECT 1`]), isUnavailable);
  await database.close();
});
