// Commands on the data file of a running server leave checkpoints to the server, also when they close the file (decision 64).
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { sql } from "../../db/engine/database.ts";
import { lockDataFile } from "../../db/engine/data_file.ts";
import { openEmbedded } from "../../db/engine/embedded.ts";
import { embeddedTestDatabase } from "../support/database/database.ts";
import { runHere } from "../support/process/here.ts";

/** Runs a test with the database of a server, which has the lock. */
async function besideServer(test: (place: string) => Promise<void>): Promise<void> {
  const { database, place, dispose } = await embeddedTestDatabase();
  const unlock = lockDataFile(place) ?? assert.fail("the file is locked");
  try {
    await database.write([sql`UPDATE usage_cursor SET seq = seq`]);
    await test(place);
  } finally {
    unlock();
    await dispose();
  }
}

Deno.test("the commits of a command beside a server never checkpoint the log", () =>
  besideServer(async (path) => {
    const options = { path, create: "nothing", onFatal: (error: Error) => assert.fail(error) } as const;
    const guest = await openEmbedded({ ...options, isGuest: true });
    try {
      const [result] = await guest.write([sql`PRAGMA wal_autocheckpoint`]);
      assert.deepEqual(result?.rows, [{ wal_autocheckpoint: 0 }]);
    } finally {
      await guest.close();
    }
  }));

Deno.test("a command beside a server doesn't checkpoint the log when it ends", () =>
  besideServer(async (place) => {
    const [before, logBefore] = [await Deno.readFile(place), Deno.statSync(`${place}-wal`).size];
    const options = { folder: "", env: { DATABASE_URL: `file:${place}` } };
    for (
      const args of [
        ["user", "create", "ada@example.com", "--name", "Ada"],
        ["operator", "add", "ada@example.com"],
        ["token", "create", "Billing", "--scope", "users:read"],
        ["user", "list"],
        ["usage"],
        ["backup", `${place}.backup`],
        ["check"],
      ]
    ) {
      const { stderr } = await runHere(options, ...args);
      const isUnchanged = isDeepStrictEqual(await Deno.readFile(place), before);
      assert.ok(isUnchanged, `${args.join(" ")} changed the data file itself: ${stderr}`);
      assert.ok(Deno.statSync(`${place}-wal`).size >= logBefore, args.join(" "));
    }
    assert.ok(Deno.statSync(`${place}-wal`).size > logBefore, "the commands wrote to the log");
  }));
