// Moves between both kinds of database, interrupted at many points.
import assert from "node:assert/strict";
import { Connection } from "../../../db/engine/connection.ts";
import { type Database, DatabaseError, type DatabaseReader, sql } from "../../../db/engine/database.ts";
import { checkSchema, migrate } from "../../../db/engine/migrate.ts";
import { moveDatabase, MoveError } from "../../../db/engine/move.ts";
import { raiseFence, removeFence } from "../../../db/engine/move_fence.ts";
import { openEmbedded } from "../../../db/engine/embedded.ts";
import { newWriter } from "../../support/app/reused_threads.ts";
import { embeddedTestDatabase } from "../../support/database/database.ts";
import { fillTables, readEverything } from "../../support/database/random_rows.ts";
import { openRemote } from "../../../db/engine/remote.ts";
import { openServer, sqldMissing, startSqld } from "../../support/database/sqld.ts";
import { repeats } from "../../support/runner/extent.ts";
import { faultRandom } from "../../support/runner/random.ts";

const onProgress = () => {};
/** An odd number, so that writes fail both before and after they are on disk. */
const writesUntilBroken = repeats({ quick: 79, full: 29 });

/** Fails every few writes, before or after they are on disk, as a broken connection does. */
function unreliable(database: Database): Database {
  let writes = 0;
  return {
    ...database,
    read: (statement) => database.read(statement),
    readFirst: (statement) => database.readFirst(statement),
    async write(batch, options) {
      const isBroken = ++writes % writesUntilBroken === 0;
      if (isBroken && writes % 2 === 0) throw new DatabaseError("unavailable", "broken");
      const results = await database.write(batch, options);
      if (isBroken) throw new DatabaseError("unavailable", "broken");
      return results;
    },
  };
}

/** Runs the move again until it isn't interrupted. @returns How often it was. */
async function moveWithInterruptions(source: DatabaseReader, target: Database): Promise<number> {
  for (let interruptions = 0;; interruptions++) {
    try {
      await moveDatabase({ source, target, onProgress });
      return interruptions;
    } catch (error) {
      if (!(error instanceof DatabaseError && error.message === "broken")) throw error;
      await assert.rejects(migrate(target, { now: 0 }), /isn't finished/);
      await assert.rejects(checkSchema(target), /isn't finished/);
    }
  }
}

function readFile(path: string): DatabaseReader & { close(): void } {
  const connection = new Connection(path, { readOnly: true });
  return {
    read: <T>(statement: Parameters<Database["read"]>[0]) =>
      Promise.resolve(connection.all(statement) as T[]),
    readFirst: <T>(statement: Parameters<Database["read"]>[0]) =>
      Promise.resolve(connection.first(statement) as T | undefined),
    close: () => connection.close(),
  };
}

Deno.test({
  name: "moves every row of every table to a server and back, with interruptions",
  ignore: sqldMissing() !== null,
  async fn() {
    const { database, place, dispose } = await embeddedTestDatabase();
    const server = await startSqld();
    const remote = openServer(server.url);
    const back = `${place}.back`;
    try {
      fillTables(place, { rows: repeats({ quick: 20, full: 60 }), random: faultRandom("move") });
      const before = readEverything(place);
      const empty = Object.keys(before.content).filter((name) => !before.filled.includes(name));
      // This table rejects every row.
      assert.deepEqual(empty, ["refused_writes", "schema"]);
      const source = readFile(place);
      assert.ok(await moveWithInterruptions(source, unreliable(remote)) >= 2);
      await checkSchema(remote);
      source.close();
      const file = await openEmbedded({ path: back, create: "file", onFatal: fail, newWorker: newWriter });
      assert.ok(await moveWithInterruptions(remote, unreliable(file)) >= 2);
      await file.close();
      assert.deepEqual(readEverything(back), before);
      assert.deepEqual(readEverything(place), before);
    } finally {
      await remote.close();
      await server.stop();
      await database.close();
      await dispose();
    }
  },
});

/** Interrupts a move before its nth write. */
async function interrupt(source: DatabaseReader, target: Database, { at }: { at: number }): Promise<void> {
  let writes = 0;
  const broken: Database = {
    ...target,
    read: (statement) => target.read(statement),
    readFirst: (statement) => target.readFirst(statement),
    write: (batch) => ++writes === at ? Promise.reject(new Error("interrupted")) : target.write(batch),
  };
  await assert.rejects(moveDatabase({ source, target: broken, onProgress }), /interrupted/);
}

Deno.test("rejects another or a changed source, and a target that differs or isn't empty", async () => {
  const [source, target, other] = [
    await embeddedTestDatabase(),
    await embeddedTestDatabase(),
    await embeddedTestDatabase(),
  ];
  const empty = `${target.place}.empty`;
  const file = await openEmbedded({ path: empty, create: "file", onFatal: fail, newWorker: newWriter });
  const move = (from: DatabaseReader, to: Database) => moveDatabase({ source: from, target: to, onProgress });
  const product = (slug: string) =>
    sql`INSERT INTO products (slug, name, created_at) VALUES (${slug}, 'A product', 1)`;
  try {
    await source.database.write([product("one"), product("two")]);
    await assert.rejects(move(source.database, target.database), /^MoveError: The target isn't empty/);
    await interrupt(source.database, file, { at: 3 });
    await assert.rejects(move(other.database, file), /unfinished move of another database/);
    await source.database.write([product("three")]);
    await assert.rejects(move(source.database, file), /has changed since this move began/);
    await source.database.write([sql`DELETE FROM products WHERE slug = 'three'`]);

    // A row that was damaged in the target, and a change that no count shows.
    await interrupt(source.database, file, { at: 40 });
    await file.write([sql`UPDATE products SET name = 'B product' WHERE slug = 'two'`]);
    await assert.rejects(move(source.database, file), (error: Error) => {
      assert.ok(error instanceof MoveError);
      assert.deepEqual(error.lines.slice(0, -1), [
        "products: 2 rows, 2 in the target; they differ in the first rows.",
      ]);
      return true;
    });
    await assert.rejects(checkSchema(file), /isn't finished/);
    await file.write([sql`UPDATE products SET name = 'A product' WHERE slug = 'two'`]);
    let counts = 0;
    const inUse: DatabaseReader = {
      read: (statement) => source.database.read(statement),
      async readFirst(statement) {
        // Once before the move, once when the table is compared, and at the end.
        if (statement.sql.includes('count(*) FROM "products"') && ++counts === 3) {
          await source.database.write([product("three")]);
        }
        return await source.database.readFirst(statement);
      },
    };
    await assert.rejects(move(inUse, file), /has changed during the move/);
    await source.database.write([sql`DELETE FROM products WHERE slug = 'three'`]);
    await move(source.database, file);
    await checkSchema(file);
  } finally {
    await file.close();
    for (const { dispose } of [source, target, other]) await dispose();
  }
});

Deno.test({
  name:
    "a server stays read-only from the beginning of a move until it is canceled, also after interruptions",
  ignore: sqldMissing() !== null,
  async fn() {
    const server = await startSqld();
    const stops: string[] = [];
    const onFatal = ({ message }: DatabaseError) => void stops.push(message);
    const source = openRemote({ url: server.url, authToken: undefined, onFatal });
    const { place, dispose, database } = await embeddedTestDatabase();
    const open = (name: string) =>
      openEmbedded({ path: `${place}.${name}`, create: "file", onFatal: fail, newWorker: newWriter });
    const [target, other] = [await open("target"), await open("other")];
    const move = (to: Database, onProgress = () => {}) =>
      moveDatabase({ source, target: to, makeReadOnly: () => raiseFence(source), onProgress });
    const product = (slug: string) =>
      sql`INSERT INTO products (slug, name, created_at) VALUES (${slug}, 'A product', 1)`;
    const isReadOnly = (error: DatabaseError) =>
      error.kind === "unavailable" && error.message === "gatehouse move has made this database read-only";
    try {
      await migrate(source, { now: 0 });
      await source.write([product("one")]);
      await assert.rejects(move(database), /The target isn't empty/);
      await source.write([product("two")]);

      await assert.rejects(move(onlyReads(target)), /interrupted/);
      assert.deepEqual(stops, []);
      const changes = [product("three"), sql`UPDATE products SET name = 'B'`, sql`DELETE FROM products`];
      for (const change of changes) await assert.rejects(source.write([change]), isReadOnly);
      assert.equal(stops.length, changes.length);
      await assert.rejects(migrate(source, { now: 0 }), /read-only.* gatehouse move --cancel/);
      await assert.rejects(checkSchema(source), /read-only.* gatehouse move --cancel/);

      await move(target);
      assert.ok(await checkSchema(target));
      await target.write([product("three")]);
      await assert.rejects(source.write([product("three")]), isReadOnly);
      let hasCanceled: Promise<boolean> | undefined;
      await assert.rejects(move(other, () => hasCanceled ??= removeFence(source)), /The move was canceled/);
      assert.deepEqual([await hasCanceled, await removeFence(source)], [true, false]);
      await source.write([product("four")]);
      assert.ok(await checkSchema(source));
    } finally {
      for (const one of [source, target, other]) await one.close();
      await server.stop();
      await dispose();
    }
  },
});

function onlyReads(database: Database): Database {
  return {
    ...database,
    read: (statement) => database.read(statement),
    readFirst: (statement) => database.readFirst(statement),
    write: () => Promise.reject(new Error("interrupted")),
  };
}

function fail(error: unknown): never {
  throw error;
}
