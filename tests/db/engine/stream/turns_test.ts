// The writer's side of turns with a copier that doesn't respond.
import assert from "node:assert/strict";
import { Connection } from "../../../../db/engine/connection.ts";
import { newTurnMemory, WriterTurns } from "../../../../db/engine/stream/turns.ts";
import { createIfMissing } from "../../../../db/engine/data_file.ts";

async function withConnection(test: (connection: Connection) => void): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-turns-" });
  createIfMissing(`${folder}/turns.db`, "file");
  const connection = new Connection(`${folder}/turns.db`, { readOnly: false });
  try {
    test(connection);
  } finally {
    connection.close();
    await Deno.remove(folder, { recursive: true });
  }
}

const autocheckpoint = (connection: Connection) =>
  (connection.all({ sql: "PRAGMA wal_autocheckpoint", args: [] })[0] as { wal_autocheckpoint: number })
    .wal_autocheckpoint;

Deno.test("the log is checkpointed as without a copy when the copier is silent, and only then", () =>
  withConnection((connection) => {
    assert.equal(autocheckpoint(connection), 20_000);
    const memory = newTurnMemory({ isHeld: true });
    const cells = new Int32Array(memory);
    const turns = new WriterTurns(connection, memory, { silenceMs: 0 });
    assert.equal(autocheckpoint(connection), 0);
    // A sign of life.
    Atomics.add(cells, 1, 1);
    turns.serve();
    assert.equal(autocheckpoint(connection), 0);
    turns.serve();
    assert.equal(autocheckpoint(connection), 20_000);
    assert.equal(cells[2], 0, "the copier sees it");
  }));

Deno.test("a turn without a copy isn't followed by a checkpoint", () =>
  withConnection((connection) => {
    const memory = newTurnMemory({ isHeld: true });
    const cells = new Int32Array(memory);
    const turns = new WriterTurns(connection, memory);
    connection.exec("CREATE TABLE items (id INTEGER PRIMARY KEY)");
    const request = 9;
    cells[0] = request;
    turns.serve();
    assert.equal(cells[0], 6, "late");
    const { log, checkpointed } = connection.checkpointNow("PASSIVE");
    assert.ok(log > 0 && checkpointed === log);
    assert.deepEqual([...cells.slice(3)], [0, 0]);
  }));
