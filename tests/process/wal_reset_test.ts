// SQLite's WAL-reset fault: a checkpoint that doesn't notice that a commit has reset the log while it started, so a later one
// skips commits. No checkpoint of Gatehouse can start while another connection's commit can reset the log (decision 64).
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { Connection } from "../../db/engine/connection.ts";
import { sql } from "../../db/engine/database.ts";
import { hasWalResetFault } from "../../db/engine/diagnostics.ts";
import { makeMemoryFolder } from "../support/database/memory_folder.ts";
import { type CheckpointOrder, startSlowCheckpoints } from "../support/database/slow_checkpoints.ts";
import { poll } from "../support/runner/poll.ts";
import { straceMissing } from "../support/process/system_calls.ts";

/** Two rows of this size fill a page. */
const text = "x".repeat(1500);

/**
 * Lets another process checkpoint the log, while a commit of this process resets it if that is possible.
 *
 * @returns The response of the other process, and true if the file has all that was committed.
 */
async function commitDuring(order: CheckpointOrder): Promise<{ response: string; isIntact: boolean }> {
  const folder = await makeMemoryFolder("gatehouse-reset-");
  const path = `${folder}/data.db`;
  await Deno.writeFile(path, new Uint8Array());
  const writer = new Connection(path, { readOnly: false, isGuest: true });
  let committed = 0;
  const commit = (count: number) => {
    for (; count > 0; count--, committed++) writer.run(sql`INSERT INTO notes VALUES (${text})`);
  };
  const checkpoint = () => writer.all(sql`PRAGMA wal_checkpoint(PASSIVE)`);
  writer.exec("CREATE TABLE notes (text TEXT NOT NULL) STRICT");
  commit(50);
  checkpoint();
  const other = await startSlowCheckpoints(path);
  commit(30);
  checkpoint();
  await other.read();
  commit(3);
  checkpoint();
  // The log is completely in the file, so the next commit resets it.
  writer.exec("BEGIN IMMEDIATE");
  commit(1);
  await other.start(order);
  const hasBreak = await other.hasBreak();
  writer.exec("COMMIT");
  const response = await other.ended();
  if (order === "final") assert.equal(hasBreak, false);
  for (const count of [20, 5, 2]) {
    commit(count);
    checkpoint();
  }
  await other.stop();
  writer.close();
  const isIntact = isComplete(path, committed);
  await Deno.remove(folder, { recursive: true });
  return { response, isIntact };
}

function isComplete(path: string, committed: number): boolean {
  const reader = new Connection(path, { readOnly: true });
  try {
    const [check] = reader.all(sql`PRAGMA integrity_check(1)`) as { integrity_check: string }[];
    const counted = reader.first(sql`SELECT count(text) AS count FROM notes`) as { count: number };
    return check?.integrity_check === "ok" && counted.count === committed;
  } catch {
    return false;
  } finally {
    reader.close();
  }
}

const ignore = straceMissing();
const memory = new DatabaseSync(":memory:");
const { version } = memory.prepare("SELECT sqlite_version() AS version").get() as { version: string };
memory.close();

Deno.test(
  "another program's checkpoint can lose commits if SQLite has the WAL-reset fault",
  { ignore },
  async () => {
    const isLost = async () => !(await commitDuring("foreign")).isIntact;
    // A busy machine may miss the break.
    if (hasWalResetFault(version)) await poll(isLost);
    else assert.equal(await isLost(), false);
  },
);

Deno.test("the last checkpoint of a server can't lose a command's commit", { ignore }, async () => {
  const response = "SQLITE_BUSY: database is locked";
  assert.deepEqual(await commitDuring("final"), { response, isIntact: true });
});

Deno.test("hasWalResetFault() knows the versions with the fault", () => {
  const versions = "3.6.23 3.7.0 3.44.5 3.44.6 3.45.1 3.50.2 3.50.7 3.51.2 3.51.3 3.53.0".split(" ");
  assert.deepEqual(versions.filter(hasWalResetFault), ["3.7.0", "3.44.5", "3.45.1", "3.50.2", "3.51.2"]);
});
