// A program that commits to a data file as commands do beside a server, until its standard input ends. Then prints what it has
// inserted into guest_rows, and when each row was committed. With `each`, it opens and closes the file for each commit.
import { Connection } from "../../../db/engine/connection.ts";
import { DatabaseError, sql } from "../../../db/engine/database.ts";
import { openDatabase } from "../../../db/engine/open.ts";

const [path = "", opens, pauseMs] = Deno.args;
const database = opens === "each" ? null : await openDatabase({ kind: "file", path, createFolder: false }, {
  isGuest: true,
  onFatal: (error) => {
    throw error;
  },
});
const committed: [string, number][] = [];
let isRunning = true;

async function insert(text: string): Promise<void> {
  if (database !== null) {
    return void await database.write([sql`INSERT INTO guest_rows (text) VALUES (${text})`]);
  }
  const connection = new Connection(path, { readOnly: false, isGuest: true });
  try {
    connection.run({ sql: "INSERT INTO guest_rows (text) VALUES (?)", args: [text] });
  } finally {
    connection.close();
  }
}

const inserting = (async () => {
  while (isRunning) {
    const marker = crypto.randomUUID();
    try {
      await insert(marker.padEnd(2000, "x"));
      committed.push([marker, Date.now()]);
      await new Promise((resolve) => setTimeout(resolve, Number(pauseMs)));
    } catch (error) {
      // The server has the lock.
      if (!(error instanceof DatabaseError) || error.kind !== "unavailable") throw error;
    }
  }
})();
await Deno.stdin.readable.pipeTo(new WritableStream());
isRunning = false;
await inserting;
await database?.close();
await new Blob([JSON.stringify(committed)]).stream().pipeTo(Deno.stdout.writable);
