// Copies the log of real databases by random steps, in one thread: commits of a server and of guests, spilled and rolled-back
// transactions, readers, checkpoints in turns. What is replayed must be the database, byte by byte, and every gap must be noticed.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { finishCopy } from "../../../../db/engine/backup.ts";
import { Connection, initializeDataFile } from "../../../../db/engine/connection.ts";
import { Copier } from "../../../../db/engine/stream/copier.ts";
import { unseal } from "../../../../db/engine/stream/envelope.ts";
import { LogGap } from "../../../../db/engine/stream/log_reader.ts";
import { applySegment, decodeSegment } from "../../../../db/engine/stream/segment.ts";
import { reading, Spool } from "../../../../db/engine/stream/spool.ts";
import type { Random } from "../../../support/runner/random.ts";
import { faultRandom, faultsTimeoutMs } from "../../../support/runner/random.ts";
import { repeats } from "../../../support/runner/extent.ts";

const key = new Uint8Array(32).fill(7);
/** A database with a server's connection, a guest's and a reader's, and the copier. */
class Model {
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
  /** True if the copier is too slow in turns. */
  isLate = false;
  /** Runs between the steps of a turn. */
  between = () => {};
  /** Runs before the log is read. */
  beforeRead = () => {};

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
      keys: [key],
      get spoolBytesMax() {
        return spoolBytesMax.value;
      },
      clock: () => {
        this.beforeRead();
        return Date.now();
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
    connection.exec(random.chance(0.2) ? "ROLLBACK" : "COMMIT");
    if (random.chance(0.02)) connection.exec("VACUUM");
  }

  /** Writes what is restored from pages of the data file and the segments from a number on. */
  replay(to: string, { base, from }: { base: Uint8Array; from: number }): Uint8Array {
    Deno.writeFileSync(to, base);
    using file = Deno.openSync(to, { read: true, write: true });
    for (const { name, number } of this.spool.segments) {
      if (number >= from) applySegment(decodeSegment(unseal(name, this.spool.read(name), [key])), file);
    }
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

Deno.test(
  "what was copied is the database after random commits, rollbacks, readers, snapshots and turns, and no gap is found without a cause",
  { timeout: faultsTimeoutMs },
  async () => {
    const random = faultRandom("copier_test.ts");
    for (let round = 0; round < repeats({ quick: 3, full: 50 }); round++) {
      const folder = await Deno.makeTempDir({ prefix: "gatehouse-copier-" });
      const model = new Model(`${folder}/model.db`);
      const { copier, server, guest, reader } = model;
      const read = reading(model.file);
      let snapshot: { from: number; parts: Uint8Array[] } | null = null;
      let compared = 0;
      assert.ok(copier.begin(0));
      model.between = () => {
        if (random.chance(0.5)) model.write(guest, random);
        if (random.chance(0.2) && !reader.inTransaction) {
          reader.exec("BEGIN");
          reader.first({ sql: "SELECT 1 FROM items", args: [] });
        }
      };
      for (let n = 0; n < 250; n++) {
        const step = random.between(0, 9);
        if (step < 4) model.write(server, random);
        else if (step < 6) model.write(guest, random);
        else if (step < 8) copier.step();
        else if (reader.inTransaction) reader.exec("ROLLBACK");
        if (copier.chain !== null && copier.chain.number >= copier.chain.roundFrom) {
          snapshot ??= { from: copier.chain.roundFrom, parts: [] };
        }
        if (snapshot === null || !random.chance(0.4)) continue;
        // A few pages at a time, torn at any byte.
        const part = new Uint8Array(random.between(1, 150_000));
        const count = read(part, snapshot.parts.reduce((sum, { length }) => sum + length, 0));
        snapshot.parts.push(part.subarray(0, count));
        if (count === part.length) continue;
        copier.step();
        if (reader.inTransaction) reader.exec("ROLLBACK");
        copier.copy();
        const base = new Uint8Array(await new Blob(snapshot.parts as BlobPart[]).arrayBuffer());
        const restored = model.replay(`${folder}/restored.db`, { base, from: snapshot.from });
        assert.equal(Buffer.compare(restored, await model.now(`${folder}/now.db`)), 0);
        compared++;
        snapshot = null;
      }
      assert.ok(
        model.checkpoints > 3 && compared > 0,
        `${model.checkpoints} checkpoints, ${compared} compared`,
      );
      model.close();
      await Deno.remove(folder, { recursive: true });
    }
  },
);

Deno.test("a copy is sealed after a complete turn, and a commit breaks the seal", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-copier-" });
  const path = `${folder}/model.db`;
  const model = new Model(path);
  const { copier, spool, server, guest, limits } = model;
  assert.ok(copier.begin(0));
  limits.checkpointFrames = 1;
  for (let n = 0; n < 20; n++) server.exec("PRAGMA user_version = 0");
  copier.step();
  assert.ok(copier.seal());
  assert.equal(spool.findResume(path, [key])?.isSealed, true);
  // As long as all of it is in the log.
  guest.exec("PRAGMA user_version = 1");
  assert.equal(spool.isSealed(path, copier.chain?.number ?? 0), true);
  guest.exec("PRAGMA user_version = 1");
  server.checkpointNow("TRUNCATE");
  assert.equal(spool.findResume(path, [key]), null);
  assert.equal(spool.isSealed(path, copier.chain?.number ?? 0), false);
  model.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a copy is continued only if the log has all frames that were copied", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-copier-" });
  const path = `${folder}/model.db`;
  const model = new Model(path);
  assert.ok(model.copier.begin(0));
  for (let n = 0; n < 3; n++) model.server.exec("PRAGMA user_version = 0");
  model.copier.step();
  assert.equal(model.spool.findResume(path, [key])?.isSealed, false);
  const log = Deno.readFileSync(`${path}-wal`);
  // A byte of the page in the first frame.
  log[100] = 1 + (log[100] as number);
  Deno.writeFileSync(`${path}-wal`, log);
  assert.equal(model.spool.findResume(path, [key]), null);
  model.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("copies nearly everything before a turn, and tries one that came too late only after more frames", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-copier-" });
  const model = new Model(`${folder}/model.db`);
  const { copier, server, spool, limits } = model;
  assert.ok(copier.begin(0));
  const insert = () =>
    server.run({ sql: "INSERT INTO items (text) VALUES (?)", args: ["x".repeat(200_000)] });
  model.isLate = true;
  insert();
  copier.step();
  copier.step();
  assert.equal(model.turns, 1);
  model.isLate = false;
  let reads = 0;
  model.beforeRead = () => reads++ < 5 && insert();
  const numbers: number[] = [];
  model.between = () => numbers.push(spool.segments.at(-1)?.number ?? 0);
  copier.step();
  assert.equal(model.turns, 2);
  const [before = 0, after = 0] = numbers;
  for (const { name, number } of spool.segments) {
    const { pages } = decodeSegment(unseal(name, spool.read(name), [key])).head;
    if (number > before && number <= after) assert.ok(pages.length < 5, `${pages.length} pages in the turn`);
  }
  // Turns that always come too late are a gap in the end.
  model.isLate = true;
  limits.logFramesMax = 150;
  model.beforeRead = () => {};
  insert();
  copier.step();
  const { turns } = model;
  limits.retryFrames = 1e9;
  for (let n = 0; n < 4; n++) insert();
  assert.throws(() => copier.step(), LogGap);
  assert.equal(model.turns, turns);
  model.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("copies everything in one step when a large change makes the database smaller", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-copier-" });
  const model = new Model(`${folder}/model.db`);
  const { copier, server } = model;
  server.run({ sql: "INSERT INTO items VALUES (1, ?)", args: ["x".repeat(200_000)] });
  server.run({ sql: "INSERT INTO items VALUES (2, ?)", args: ["x".repeat(20_000)] });
  assert.ok(copier.begin(0));
  copier.step();
  // Pages at the end of the file, which are gone in the end.
  server.run({ sql: "UPDATE items SET text = ? WHERE id = 2", args: ["y".repeat(20_000)] });
  server.exec("DELETE FROM items WHERE id = 1");
  server.exec("VACUUM");
  server.run({ sql: "INSERT INTO items VALUES (3, ?)", args: ["z"] });
  copier.copy();
  const { number } = copier.chain ?? assert.fail();
  copier.copy();
  assert.equal(copier.chain?.number, number);
  model.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("between two intervals, only a long log is copied, and the writer sees that the copier is alive", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-copier-" });
  const model = new Model(`${folder}/model.db`);
  const { copier, server, limits } = model;
  assert.ok(copier.begin(0));
  assert.ok(copier.step());
  const { life } = model;
  server.exec("PRAGMA user_version = 0");
  const number = copier.chain?.number;
  assert.equal(copier.step({ isDue: false }), false);
  assert.deepEqual([copier.chain?.number, model.life, model.checkpoints], [number, life + 1, 0]);
  for (let n = 0; n < limits.checkpointFrames; n++) server.exec("PRAGMA user_version = 0");
  assert.ok(copier.step({ isDue: false }));
  assert.equal(model.checkpoints, 1);
  model.close();
  await Deno.remove(folder, { recursive: true });
});

/** Breaks a copy in one way. */
const causes: Record<string, (model: Model, random: Random) => void> = {
  "two rounds of the log that were not copied": ({ server }) => {
    for (let n = 0; n < 4; n++) {
      server.exec("PRAGMA user_version = 0");
      if (n % 2 === 0) server.checkpointNow("TRUNCATE");
    }
    server.exec("PRAGMA user_version = 0");
    server.checkpointNow("TRUNCATE");
    server.exec("PRAGMA user_version = 0");
  },
  "copied frames that were overwritten, as after a COMMIT without space": ({ spool, copier }) => {
    const { name } = spool.segments.at(-1) ?? assert.fail();
    const { head } = decodeSegment(unseal(name, spool.read(name), [key]));
    const { position: { sums: [one, other], ...position } } = head;
    copier.resume({
      head: { ...head, position: { ...position, sums: [one + 1, other] } },
      hash: "",
      isSealed: false,
    });
  },
  "a COMMIT that failed after its frames were copied": (model) => {
    const { server, copier, limits, file, path } = model;
    const twinPath = `${path}.twin`;
    const copy = new Uint8Array(Deno.statSync(path).size);
    reading(file)(copy, 0);
    Deno.writeFileSync(twinPath, copy);
    Deno.writeFileSync(`${twinPath}-wal`, Deno.readFileSync(`${path}-wal`));
    const twin = new Connection(twinPath, { readOnly: false });
    twin.run({ sql: "INSERT INTO items VALUES (1000, ?)", args: ["x".repeat(50_000)] });
    // In the log, and unknown to SQLite.
    Deno.writeFileSync(`${path}-wal`, Deno.readFileSync(`${twinPath}-wal`));
    twin.close();
    copier.step();
    server.exec("PRAGMA user_version = 0");
    limits.checkpointFrames = 1;
  },
  "frames that were checkpointed and can't be read": ({ server, copier, path, limits }) => {
    server.exec("PRAGMA user_version = 0");
    const log = Deno.readFileSync(`${path}-wal`);
    // The checksum of the first frame that isn't copied.
    const at = 32 + copier.frame * 4_120 + 16;
    log.fill(0, at, at + 8);
    Deno.writeFileSync(`${path}-wal`, log);
    limits.checkpointFrames = 1;
  },
  "a writer that has checkpointed alone": (model) => model.isHeld = false,
  "a writer that checkpoints alone while the copy runs": (model, random) => {
    model.beforeRead = () => {
      model.beforeRead = () => {};
      model.isHeld = false;
      model.write(model.server, random);
      model.server.exec("PRAGMA user_version = 0");
      assert.equal(model.server.checkpointNow("TRUNCATE").busy, 0);
      model.write(model.server, random);
    };
  },
  "a transaction that is too large": (model) => {
    model.limits.commitBytesMax = 100_000;
    model.server.run({ sql: "INSERT INTO items VALUES (1000, ?)", args: ["x".repeat(150_000)] });
  },
  "a spool that is full": (model, random) => {
    model.spoolBytesMax.value = 1;
    model.write(model.server, random);
  },
};

for (const [cause, breakIt] of Object.entries(causes)) {
  Deno.test(`finds a gap after ${cause}, and a new chain has everything`, async () => {
    const random = faultRandom("copier_test.ts");
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-copier-" });
    const model = new Model(`${folder}/model.db`);
    const { copier, server } = model;
    assert.ok(copier.begin(0));
    for (let n = 0; n < 3; n++) model.write(server, random);
    copier.step();
    breakIt(model, random);
    assert.throws(() => copier.step(), LogGap);
    const after = model.spool.segments.at(-1)?.number ?? 0;
    copier.end();
    [model.isHeld, model.limits.commitBytesMax, model.spoolBytesMax.value] = [true, 1e9, 1e9];
    // Its checkpoint has everything up to here.
    assert.ok(copier.begin(after));
    copier.step();
    const from = copier.chain?.roundFrom ?? 0;
    assert.equal(from, after + 1);
    const size = Deno.statSync(model.path).size;
    const base = new Uint8Array(size);
    reading(model.file)(base, 0);
    model.write(server, random);
    copier.step();
    const restored = model.replay(`${folder}/restored.db`, { base, from });
    assert.equal(Buffer.compare(restored, await model.now(`${folder}/now.db`)), 0);
    model.close();
    await Deno.remove(folder, { recursive: true });
  });
}
