// The other process of slow_checkpoints.ts. Prints its process id, and a line for each order when it is done; for a checkpoint
// also one when it starts.
import { Connection } from "../../../db/engine/connection.ts";
import { messageOf } from "../../../domain/errors.ts";
import { sql } from "../../../db/engine/database.ts";

const [path = "", breakMs = ""] = Deno.args;
const print = (line: string) => Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));

const connection = new Connection(path, { readOnly: false });
const read = () => connection.all(sql`SELECT sum(length(text)) FROM notes`);
/** Maps the file again and again until that is slow. */
const untilSlow = () => {
  for (let started = 0; performance.now() - started < Number(breakMs);) {
    started = performance.now();
    connection.all(sql`PRAGMA mmap_size = 0`);
    connection.all(sql`PRAGMA mmap_size = 1000000000`);
    read();
  }
};
const orders: Readonly<Record<string, () => unknown>> = {
  read,
  /** As another program's checkpoint: without a commit of its own before it. */
  foreign: () => connection.all(sql`PRAGMA wal_checkpoint(PASSIVE)`),
  /** As the last one of a server. */
  final: () => connection.checkpoint({ busyTimeoutMs: 50 }),
};

untilSlow();
print(String(Deno.pid));
let rest = "";
for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + text).split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) {
    if (line !== "read") print("started");
    try {
      print(JSON.stringify(orders[line]?.()));
    } catch (error) {
      print(messageOf(error));
    }
  }
}
