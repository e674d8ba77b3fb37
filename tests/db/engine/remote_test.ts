// The remote driver when the libSQL server ends a long transaction, or is locked.
import assert from "node:assert/strict";
import { LibsqlError } from "@libsql/client/http";
import { DatabaseError, sql, type Statement } from "../../../db/engine/database.ts";
import { untilUnlocked } from "../../../db/engine/remote.ts";
import { letOthersRun } from "../../support/runner/random.ts";
import { openServer, sqldMissing, startSqld } from "../../support/database/sqld.ts";

/** A slow count: about a second for every 5 million. */
function slow(count: number): Statement {
  return sql`WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${count}) SELECT count(*) AS n FROM c`;
}

Deno.test({
  name: "a transaction that the server ends is unavailable, leaves nothing, and doesn't end the program",
  ignore: sqldMissing() !== null,
  async fn() {
    const server = await startSqld();
    // Slow on the server, but not in the driver.
    const database = openServer(server.url);
    const other = openServer(server.url);
    await database.write([sql`CREATE TABLE notes (text TEXT)`]);
    await other.read(sql`SELECT 1`);
    const startedAt = performance.now();
    await database.read(slow(1_000_000));
    const perMs = 1_000_000 / (performance.now() - startedAt);
    // The server lets a transaction keep the lock for 5 s while another one waits.
    const ended = database.write([
      sql`INSERT INTO notes VALUES ('ended')`,
      // The server ends a transaction only between statements, so there are many, enough even for a slow machine.
      ...Array<Statement>(100).fill(slow(Math.round(200 * perMs))),
      sql`INSERT INTO notes VALUES ('ended too')`,
    ]);
    await letOthersRun(500);
    const waited = other.write([sql`INSERT INTO notes VALUES ('waited')`]);
    await assert.rejects(ended, (error) => error instanceof DatabaseError && error.kind === "unavailable");
    await waited;
    const rows = await database.read<{ text: string }>(sql`SELECT text FROM notes`);
    assert.deepEqual(rows.map(({ text }) => text), ["waited"]);
    await database.close();
    await other.close();
    await server.stop();
  },
});

Deno.test("untilUnlocked() retries only after a lock, and only for a while", async () => {
  const locked = () => new LibsqlError("database is locked", "SQLITE_BUSY");
  const tries = async (fails: number, error: () => Error, waitMs: number) => {
    let count = 0;
    const act = () => ++count <= fails ? Promise.reject(error()) : Promise.resolve("done");
    const result = await untilUnlocked(act, { giveUpAt: performance.now() + waitMs }).catch((e) => e.message);
    return [result, count];
  };
  assert.deepEqual(await tries(2, locked, 10_000), ["done", 3]);
  assert.deepEqual(await tries(2, locked, 0), ["SQLITE_BUSY: database is locked", 1]);
  assert.deepEqual(await tries(2, () => new Error("the connection closed"), 10_000), [
    "the connection closed",
    1,
  ]);
});
