// Single steps of the copier: seals, turns, intervals, and what a start continues.
import assert from "node:assert/strict";
import { unseal } from "../../../../db/engine/stream/envelope.ts";
import { LogGap } from "../../../../db/engine/stream/log_reader.ts";
import { decodeSegment } from "../../../../db/engine/stream/segment.ts";
import { copierKey as key, CopierModel as Model } from "../../../support/database/copier_model.ts";

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

Deno.test("a segment that leaves out a part of the log begins when the one before it did", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-copier-" });
  const model = new Model(`${folder}/model.db`);
  const { copier, server, spool, limits } = model;
  limits.checkpointFrames = 1_000;
  // Each is another one.
  let now = 1;
  model.time = () => now++;
  assert.ok(copier.begin(0));
  copier.step();
  const idleAt = now;
  copier.step();
  for (let n = 0; n < 3; n++) {
    server.run({ sql: "INSERT INTO items (text) VALUES (?)", args: ["x".repeat(limits.bytesMax)] });
  }
  copier.step();
  server.exec("PRAGMA user_version = 0");
  const nextAt = now;
  copier.step();
  const heads = spool.segments.map(({ name }) => decodeSegment(unseal(name, spool.read(name), [key])).head);
  assert.deepEqual(heads.map(({ startedAt }) => startedAt), [1, idleAt, idleAt, idleAt, nextAt]);
  assert.deepEqual(spool.segments.map(({ safeAt }) => safeAt), heads.map(({ startedAt }) => startedAt));
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
