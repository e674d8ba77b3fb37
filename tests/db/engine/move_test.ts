import assert from "node:assert/strict";
import { Connection } from "../../../db/engine/connection.ts";
import { type Database, DatabaseError, type DatabaseReader, sql } from "../../../db/engine/database.ts";
import { checkSchema, migrate } from "../../../db/engine/migrate.ts";
import { moveDatabase, MoveError } from "../../../db/engine/move.ts";
import { openEmbedded } from "../../../db/engine/embedded.ts";
import { openRemote } from "../../../db/engine/remote.ts";
import { newWriter } from "../../support/app/reused_threads.ts";
import { embeddedTestDatabase } from "../../support/database/database.ts";
import { fillTables, readEverything } from "../../support/database/random_rows.ts";
import { sqldMissing, startSqld } from "../../support/database/sqld.ts";
import { faultRandom } from "../../support/runner/random.ts";

const onProgress = () => {};

/** Fails every few writes, before or after they are on disk, as a broken connection does. */
function unreliable(database: Database): Database {
  let writes = 0;
  return {
    ...database,
    read: (statement) => database.read(statement),
    readFirst: (statement) => database.readFirst(statement),
    async write(batch, options) {
      const isBroken = ++writes % 29 === 0;
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
    const remote = openRemote({ url: server.url, authToken: undefined });
    const back = `${place}.back`;
    try {
      fillTables(place, { rows: 60, random: faultRandom("move") });
      const before = readEverything(place);
      const empty = Object.keys(before.content).filter((name) => !before.filled.includes(name));
      // This table rejects every row.
      assert.deepEqual(empty, ["refused_writes", "schema"]);
      const source = readFile(place);
      assert.ok(await moveWithInterruptions(source, unreliable(remote)) > 2);
      await checkSchema(remote);
      source.close();
      const file = await openEmbedded({ path: back, create: "file", onFatal: fail, newWorker: newWriter });
      assert.ok(await moveWithInterruptions(remote, unreliable(file)) > 2);
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

function fail(error: unknown): never {
  throw error;
}
