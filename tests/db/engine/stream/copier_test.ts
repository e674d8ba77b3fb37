// Copies the log of real databases by random steps, in one thread: commits of a server and of guests, spilled and rolled-back
// transactions, readers, checkpoints in turns. What is replayed must be the database, byte by byte, and every gap must be noticed.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { Connection } from "../../../../db/engine/connection.ts";
import { unseal } from "../../../../db/engine/stream/envelope.ts";
import { LogGap } from "../../../../db/engine/stream/log_reader.ts";
import { decodeSegment } from "../../../../db/engine/stream/segment.ts";
import { reading } from "../../../../db/engine/stream/spool.ts";
import { copierKey as key, CopierModel as Model } from "../../../support/database/copier_model.ts";
import type { Random } from "../../../support/runner/random.ts";
import { faultRandom, faultsTimeoutMs } from "../../../support/runner/random.ts";
import { repeats } from "../../../support/runner/extent.ts";

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
    const { copier, server, limits } = model;
    // No turn before: the next one would wait for more frames.
    limits.checkpointFrames = 1_000;
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
