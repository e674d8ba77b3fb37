// A program that commits to a data file as commands do beside a server, until its standard input ends. Then prints how many rows
// it has inserted into guest_rows.
import { DatabaseError, sql } from "../../../db/engine/database.ts";
import { openDatabase } from "../../../db/engine/open.ts";

const [path = ""] = Deno.args;
const database = await openDatabase({ kind: "file", path, createFolder: false }, {
  isGuest: true,
  onFatal: (error) => {
    throw error;
  },
});
let isRunning = true;
let inserted = 0;
const text = "x".repeat(2000);
const inserting = (async () => {
  while (isRunning) {
    try {
      await database.write([sql`INSERT INTO guest_rows (text) VALUES (${text})`]);
      inserted++;
    } catch (error) {
      // The server has the lock.
      if (!(error instanceof DatabaseError) || error.kind !== "unavailable") throw error;
    }
  }
})();
await Deno.stdin.readable.pipeTo(new WritableStream());
isRunning = false;
await inserting;
await database.close();
Deno.stdout.writeSync(new TextEncoder().encode(String(inserted)));
