// A data file with the connections of a server, a command and a reader, and a copier in the same thread.
import { finishCopy } from "../../../db/engine/backup.ts";
import { Connection, initializeDataFile } from "../../../db/engine/connection.ts";
import { Copier } from "../../../db/engine/stream/copier.ts";
import { unseal } from "../../../db/engine/stream/envelope.ts";
import { decodeSegment, SegmentWriter } from "../../../db/engine/stream/segment.ts";
import { Spool } from "../../../db/engine/stream/spool.ts";
import type { Random } from "../runner/random.ts";

export const copierKey = new Uint8Array(32).fill(7);

/** A database with a server's connection, a guest's and a reader's, and the copier. */
export class CopierModel {
  readonly server: Connection;
  readonly guest: Connection;
  readonly reader: Connection;
  readonly spool: Spool;
  readonly copier: Copier;
  readonly file: Deno.FsFile;
  readonly limits = {
    checkpointFrames: 40,
    retryFrames: 10,
    logFramesMax: 4_000,
    bytesMax: 40_000,
    commitBytesMax: 1e9,
    catchUpBytes: 10_000,
  };
  readonly spoolBytesMax = { value: 1e9 };
  isHeld = true;
  checkpoints = 0;
  life = 0;
  turns = 0;
  /** True if the next transaction begins a new round of the log. */
  #beginsRound = false;
  /** True if the copier is too slow in turns. */
  isLate = false;
  /** Runs between the steps of a turn. */
  between = () => {};
  /** Runs before the log is read. */
  beforeRead = () => {};
  time = () => Date.now();

  constructor(readonly path: string) {
    Deno.writeFileSync(path, new Uint8Array());
    initializeDataFile(path);
    this.file = Deno.openSync(path, { read: true });
    this.server = new Connection(path, { readOnly: false });
    this.guest = new Connection(path, { readOnly: false, isGuest: true });
    this.reader = new Connection(path, { readOnly: true });
    this.server.exec("CREATE TABLE items (id INTEGER PRIMARY KEY, text TEXT)");
    this.server.exec("PRAGMA cache_size = 10");
    this.spool = new Spool(path);
    const connection = new Connection(path, { readOnly: true });
    // deno-lint-ignore no-this-alias -- for getters
    const self = this;
    const { spoolBytesMax } = this;
    this.copier = new Copier({
      path,
      connection,
      spool: this.spool,
      keys: [copierKey],
      get spoolBytesMax() {
        return spoolBytesMax.value;
      },
      clock: () => {
        this.beforeRead();
        return this.time();
      },
      limits: this.limits,
      turns: {
        get isHeld() {
          return self.isHeld;
        },
        showLife: () => this.life++,
        hold: (isHeld) => {
          this.server.checkpointAt(isHeld ? 0 : 20);
          this.server.exec("PRAGMA user_version = 0");
          return true;
        },
        checkpoint: (request, copy) => {
          this.server.exec("PRAGMA user_version = 0");
          this.turns++;
          if (this.isLate) return null;
          this.between();
          copy();
          this.between();
          const { log, checkpointed } = this.server.checkpointNow(
            request === "seal" ? "TRUNCATE" : "PASSIVE",
          );
          this.checkpoints++;
          this.#beginsRound = log === checkpointed;
          this.between();
          return { log, checkpointed };
        },
      },
    });
  }

  write(connection: Connection, random: Random): void {
    connection.exec("BEGIN IMMEDIATE");
    const rows = random.pick([1, 1, 3, 60]);
    for (let n = 0; n < rows; n++) {
      const text = "x".repeat(random.pick([10, 500, 9_000]));
      connection.run({
        sql: "INSERT INTO items VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET text = excluded.text",
        args: [random.between(1, 200), text + random.between(0, 1e9)],
      });
    }
    if (random.chance(0.1)) connection.exec("DELETE FROM items WHERE id % 3 = 0");
    // After one that begins a round, the next commit of another connection has random salts, which is a gap.
    connection.exec(random.chance(0.2) && !this.#beginsRound ? "ROLLBACK" : "COMMIT");
    this.#beginsRound = false;
    if (random.chance(0.02)) connection.exec("VACUUM");
  }

  /** Writes what is restored from pages of the data file and the segments from a number on. */
  replay(to: string, { base, from }: { base: Uint8Array; from: number }): Uint8Array {
    Deno.writeFileSync(to, base);
    using file = Deno.openSync(to, { read: true, write: true });
    const writer = new SegmentWriter(file);
    for (const { name, number } of this.spool.segments) {
      if (number >= from) writer.add(decodeSegment(unseal(name, this.spool.read(name), [copierKey])));
    }
    writer.flush();
    finishCopy(file);
    return withoutCounters(to);
  }

  /** Returns the database as SQLite sees it. */
  async now(to: string): Promise<Uint8Array> {
    Deno.writeFileSync(to, new Uint8Array());
    await this.reader.copyTo(to, { stepPages: 10_000, onStep: () => {} });
    using file = Deno.openSync(to, { read: true, write: true });
    finishCopy(file);
    return withoutCounters(to);
  }

  close(): void {
    this.copier.close();
    for (const connection of [this.reader, this.guest, this.server]) connection.close();
    this.file.close();
  }
}

/** SQLite's backup changes counters in the header: of changes and of the schema, and its own version. */
function withoutCounters(path: string): Uint8Array {
  const bytes = Deno.readFileSync(path);
  for (const [from, to] of [[24, 28], [40, 44], [92, 100]]) bytes.fill(0, from, to);
  return bytes;
}
