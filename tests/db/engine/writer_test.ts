// One transaction for the batches of all threads that wait: a batch that fails rolls back alone, and nothing is acknowledged
// that isn't certain.
import assert from "node:assert/strict";
import fc from "../../support/runner/fast_check.ts";
import { DatabaseSync } from "node:sqlite";
import { Connection } from "../../../db/engine/connection.ts";
import { sql, type Statement } from "../../../db/engine/database.ts";
import { type PortResponse, receive, Writer } from "../../../db/engine/writer.ts";
import { BatchEncoder, decodeOutcomes } from "../../../db/engine/writer_messages.ts";
import { WriteState } from "../../../db/engine/write_state.ts";
import { embeddedTestDatabase } from "../../support/database/database.ts";

const note = (text: string) => sql`INSERT INTO notes VALUES (${text})`;
/** More pages than the file may have. SQLite rolls back the whole transaction. */
const tooLarge = sql`INSERT INTO notes VALUES (hex(zeroblob(100000)))`;

/** A writer in this thread and four ports, where batches wait until it commits. */
class TestWriter extends Writer {
  static async create({ fillMs = Infinity } = {}) {
    const { place, dispose } = await embeddedTestDatabase();
    const connection = new Connection(place, { readOnly: false });
    return new TestWriter(connection, { fillMs, place, dispose });
  }

  readonly #file: DatabaseSync;
  readonly #ports = [1, 2, 3, 4].map(() => {
    const { port1, port2 } = new MessageChannel();
    this.connect(port1);
    return { inner: port1, outer: port2, encoder: new BatchEncoder() };
  });
  readonly #dispose: () => Promise<void>;

  private constructor(
    readonly connection: Connection,
    { fillMs, place, dispose }: { fillMs: number; place: string; dispose: () => Promise<void> },
    readonly state = new WriteState(),
  ) {
    super(connection, { fillMs, writes: state });
    this.#file = new DatabaseSync(place);
    this.#dispose = dispose;
    connection.exec("CREATE TABLE notes (text TEXT NOT NULL UNIQUE) STRICT");
  }

  send(port: number, ...batch: Statement[]): void {
    const to = this.#ports[port];
    to?.outer.postMessage(to.encoder.encode(batch));
  }

  /** Returns the messages of each port, one text for each. */
  received(): string[][] {
    return this.#ports.map(({ outer }) => {
      const messages: string[] = [];
      for (let response; (response = receive<PortResponse>(outer)) !== undefined;) {
        if ("fatal" in response) messages.push("fatal");
        else {
          const outcomes = decodeOutcomes(response);
          messages.push(outcomes.map((outcome) => "kind" in outcome ? outcome.kind : outcome.type).join(" "));
        }
      }
      return messages;
    });
  }

  /** Returns the notes in the file, as another process reads them, in the order of writing. */
  notes(): string[] {
    const rows = this.#file.prepare("SELECT text FROM notes ORDER BY rowid").all() as unknown as {
      text: string;
    }[];
    return rows.map(({ text }) => text);
  }

  /** Takes the lock from another connection, and gives it back when it is called again. */
  lock(isLocked: boolean): void {
    this.#file.exec(isLocked ? "BEGIN IMMEDIATE" : "ROLLBACK");
  }

  async [Symbol.asyncDispose]() {
    for (const { inner, outer } of this.#ports) for (const port of [inner, outer]) port.close();
    this.#file.close();
    this.connection.close();
    await this.#dispose();
  }
}

Deno.test("commits what waits on all ports in one transaction, in turn, and responds once to each port", async () => {
  await using writer = await TestWriter.create();
  for (const text of ["a1", "a2", "a3"]) writer.send(0, note(text));
  for (const text of ["b1", "b2"]) writer.send(1, note(text));
  writer.send(3, note("c1"), note("c1, too"));
  assert.equal(writer.commit(), true);
  assert.deepEqual(writer.received(), [["written written written"], ["written written"], [], ["written"]]);
  assert.deepEqual(writer.notes(), ["a1", "b1", "c1", "c1, too", "a2", "b2", "a3"]);
  assert.equal(writer.commit(), false);
});

Deno.test("rolls back a batch that fails, and writes the others of its transaction", async () => {
  await using writer = await TestWriter.create();
  writer.send(0, note("a"));
  writer.send(1, note("lost"), note("a"));
  writer.send(1, note("lost"), sql`INSERT INTO nowhere VALUES (1)`);
  writer.send(1, note("b"));
  writer.send(2, note("c"));
  writer.commit();
  assert.deepEqual(writer.received(), [["written"], ["constraint fault written"], ["written"], []]);
  assert.deepEqual(writer.notes(), ["a", "c", "b"]);
});

Deno.test("rejects everything that waits when another process has the lock", async () => {
  await using writer = await TestWriter.create();
  writer.connection.exec("PRAGMA busy_timeout = 1");
  writer.lock(true);
  for (const port of [0, 0, 1, 2]) writer.send(port, note("lost"));
  writer.commit();
  assert.deepEqual(writer.received(), [["unavailable unavailable"], ["unavailable"], ["unavailable"], []]);
  writer.lock(false);
  writer.send(1, note("kept"));
  writer.commit();
  assert.deepEqual(writer.received(), [[], ["written"], [], []]);
  assert.deepEqual(writer.notes(), ["kept"]);
});

Deno.test("acknowledges nothing of a transaction that SQLite has rolled back, and continues", async () => {
  await using writer = await TestWriter.create();
  writer.connection.exec("PRAGMA max_page_count = 100");
  writer.send(0, note("lost"));
  writer.send(1, tooLarge);
  writer.send(2, note("kept"));
  writer.commit();
  assert.deepEqual(writer.received(), [["unavailable"], ["unavailable"], [], []]);
  writer.commit();
  assert.deepEqual(writer.received(), [[], [], ["written"], []]);
  assert.deepEqual(writer.notes(), ["kept"]);
});

Deno.test("notes why a write failed until something is written", async () => {
  await using writer = await TestWriter.create();
  const problem = () => writer.state.last.problem;
  assert.equal(problem(), null);
  writer.connection.exec("PRAGMA max_page_count = 100");
  writer.send(0, tooLarge);
  writer.commit();
  assert.equal(problem(), "disk_full");
  // A batch without changes doesn't show that the disk has space.
  writer.send(1, sql`SELECT 1`);
  writer.commit();
  assert.equal(problem(), "disk_full");
  assert.equal(writer.state.last.succeededAt, 0);
  const before = Date.now();
  writer.send(2, note("a"));
  writer.commit();
  const { succeededAt } = writer.state.last;
  assert.equal(problem(), null);
  assert(succeededAt >= before && succeededAt <= Date.now());
});

Deno.test("tells all ports when the outcome is unknown, and writes nothing more", async () => {
  await using writer = await TestWriter.create();
  writer.send(0, note("a"));
  // A batch that ends the transaction itself.
  writer.send(1, sql`COMMIT`);
  writer.send(2, note("late"));
  writer.commit();
  assert.deepEqual(writer.received(), [["fatal"], ["fatal"], ["fatal"], ["fatal"]]);
  assert.equal(writer.commit(), false);
  assert.deepEqual(writer.notes(), ["a"]);
});

Deno.test("commits when the time for a transaction is over, and continues with the next port", async () => {
  await using writer = await TestWriter.create({ fillMs: 0 });
  for (const text of ["a1", "a2"]) writer.send(0, note(text));
  writer.send(1, note("b"));
  writer.commit();
  assert.deepEqual(writer.received(), [["written"], [], [], []]);
  writer.commit();
  assert.deepEqual(writer.received(), [[], ["written"], [], []]);
  writer.commit();
  assert.deepEqual(writer.received(), [["written"], [], [], []]);
});

interface TestBatch {
  readonly port: number;
  /** The first is the batch's own; others may have the same ones. */
  readonly notes: readonly string[];
  readonly end: "fine" | "fault" | "full";
}

const batches = fc.array(
  fc.record({
    port: fc.integer({ min: 0, max: 3 }),
    shared: fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 3 }),
    end: fc.constantFrom<TestBatch["end"]>("fine", "fine", "fine", "fault", "full"),
  }),
  { maxLength: 40 },
).map((list) =>
  list.map(({ port, shared, end }, n): TestBatch => ({
    port,
    notes: [`own ${String(n).padStart(2, "0")}`, ...shared.map((number) => `shared ${number}`)],
    end,
  }))
);

Deno.test("acknowledges exactly what is in the file, with any batches from four ports", async () => {
  await using writer = await TestWriter.create();
  writer.connection.exec("PRAGMA busy_timeout = 1");
  writer.connection.exec("PRAGMA max_page_count = 100");
  const ends = { fine: [], fault: [sql`INSERT INTO nowhere VALUES (1)`], full: [tooLarge] };
  fc.assert(fc.property(batches, fc.nat(40), fc.boolean(), (sent, lockedFrom, mayLock) => {
    writer.connection.exec("DELETE FROM notes");
    for (const [n, { port, notes, end }] of sent.entries()) {
      writer.send(port, ...notes.map(note), ...ends[end]);
      // Some batches find the lock taken, the others wait together with the next ones.
      if (mayLock && n === lockedFrom) {
        writer.lock(true);
        writer.commit();
        writer.lock(false);
      }
    }
    while (writer.commit());
    const outcomes = writer.received().map((messages) => messages.flatMap((message) => message.split(" ")));
    const written = sent.filter(({ port }) => outcomes[port]?.shift() === "written");
    assert(outcomes.every((rest) => rest.length === 0));
    const inFile = writer.notes();
    assert.deepEqual(inFile.toSorted(), written.flatMap(({ notes }) => notes).toSorted());
    for (const port of [0, 1, 2, 3]) {
      const own = written.filter((batch) => batch.port === port).map(({ notes }) => notes[0]);
      assert.deepEqual(inFile.filter((text) => own.includes(text)), own);
    }
    // Without a full disk or a lock, a batch fails only for a reason of its own.
    if (mayLock || sent.some(({ end }) => end === "full")) return;
    for (const { notes, end } of sent.filter((batch) => !written.includes(batch))) {
      const repeats = notes.some((text, n) => inFile.includes(text) || notes.indexOf(text) !== n);
      assert(end === "fault" || repeats);
    }
  }));
});
