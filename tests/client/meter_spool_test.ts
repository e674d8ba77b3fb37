// The meter with a spool: what was recorded survives the end of the process, full disks and rejections.
import assert from "node:assert/strict";
import { sql } from "../../db/engine/database.ts";
import { deadPid, orphan, segmentsIn } from "../support/client/meter_folder.ts";
import { addLimit } from "../support/meter/limits.ts";
import { metered, type Scene, sizesOf } from "../support/client/meter_scene.ts";
import { usageOf } from "../support/client/meter_line.ts";
import { poll } from "../support/runner/poll.ts";

const tiles = { product: "tiles", metric: "requests" };
const steps: Record<string, (scene: Scene) => Promise<void>> = {
  async "keeps records on disk until they are acknowledged, and then nothing"(
    { newMeter, folder, line, key, test },
  ) {
    const spool = `${folder}/made/on/demand`;
    const meter = newMeter({ spool });
    for (let n = 0; n < 3; n++) meter.record({ ...tiles, quantity: 2 });
    const [name = "", ...others] = segmentsIn(spool);
    assert.deepEqual(others, []);
    const lines = (await Deno.readTextFile(`${spool}/${name}`)).trim().split("\n");
    assert.deepEqual(lines.map((line) => JSON.parse(line).quantity), [2, 2, 2]);
    assert.equal(await meter.sync(), true);
    assert.equal(await meter.flush(), true);
    assert.equal(await Deno.readTextFile(`${spool}/${name}`), "");
    assert.equal(await meter.close(), true);
    assert.deepEqual(segmentsIn(spool), []);
    assert.deepEqual(sizesOf(line), [[3, 201]]);
    assert.deepEqual(await usageOf(test, key), { requests: [6, 3] });
  },

  async "sends what an earlier process left, once, and skips torn lines"(
    { newMeter, folder, line, key, test, problems },
  ) {
    await line.cut();
    const first = newMeter({ spool: folder, batchRecordsMax: 2 });
    for (let n = 0; n < 5; n++) first.record(tiles);
    assert.equal(await first.close({ timeoutMs: 0 }), false);
    assert.equal(first.stats().waiting, 5);
    assert.equal(first.stats().dropped, 0);
    const [name = "", ...others] = segmentsIn(folder);
    assert.deepEqual(others, []);
    await Deno.writeTextFile(`${folder}/${name}`, '{"productSlug":"til', { append: true });
    await Deno.writeTextFile(`${folder}/other.jsonl`, "\n  \nno record\n");
    line.open();
    const second = newMeter({ spool: folder });
    await poll(() => second.stats().waiting === 0);
    const { adopted, sent, damaged } = second.stats();
    assert.deepEqual({ adopted, sent, damaged }, { adopted: 7, sent: 5, damaged: 2 });
    assert.deepEqual(segmentsIn(folder), []);
    assert.deepEqual(await usageOf(test, key), { requests: [5, 5] });
    assert.ok(problems.some(({ kind, message }) => kind === "spool" && message.includes("damaged")));
  },

  async "sends only what was not settled when the process was killed in the middle of a file"(scene) {
    const { newMeter, folder, line, key, test } = scene;
    const first = newMeter({ spool: folder, batchRecordsMax: 2 });
    line.disturb = (_, count) => count < 1 ? null : new Response(null, { status: 503 });
    for (let n = 0; n < 5; n++) first.record({ ...tiles, idempotencyKey: `${n}` });
    await poll(() => line.batches.length >= 2);
    await orphan(folder);
    line.disturb = () => null;
    line.batches.splice(0);
    const second = newMeter({ spool: folder });
    assert.equal(second.stats().waiting, 3);
    await poll(() => second.stats().sent === 3);
    assert.deepEqual(segmentsIn(folder), []);
    assert.deepEqual(await usageOf(test, key), { requests: [5, 5] });
  },

  async "keeps rejected records in a file that is sent again under another name"(scene) {
    const { newMeter, folder, line, key, test, person, problems } = scene;
    const limit = { per: "total", quantity: 2, mode: "hard" } as const;
    const { id } = await addLimit(test, { organizationId: person.organizationId }, limit);
    const meter = newMeter({ spool: folder });
    for (let n = 0; n < 4; n++) meter.record({ ...tiles, idempotencyKey: `${n}` });
    meter.record({ ...tiles, metric: "no metric!" });
    assert.equal(await meter.close(), true);
    assert.deepEqual(segmentsIn(folder), ["rejected.jsonl"]);
    const rejected = `${folder}/rejected.jsonl`;
    const kept = (await Deno.readTextFile(rejected)).trim().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(kept.map(({ metric }) => metric).sort(), ["no metric!", "requests", "requests"]);
    const reported = problems.flatMap(({ records }) => records);
    assert.deepEqual(kept, reported);
    await test.opened.database.write([sql`DELETE FROM usage_limits WHERE id = ${id}`]);
    await Deno.rename(rejected, `${folder}/again.jsonl`);
    const again = newMeter({ spool: folder });
    assert.equal(await again.close(), true);
    assert.deepEqual(await usageOf(test, key), { requests: [4, 4] });
    assert.deepEqual(segmentsIn(folder), ["rejected.jsonl"]);
    assert.equal(line.batches.at(-1)?.status, 201);
  },

  async "adopts files without an owner, and leaves those of others alone"(
    { newMeter, folder, line, key, test },
  ) {
    await line.cut();
    const owner = newMeter({ spool: folder });
    owner.record(tiles);
    const [own = ""] = segmentsIn(folder);
    const record = JSON.parse(await Deno.readTextFile(`${folder}/${own}`));
    const [host = ""] = own.split("-");
    const now = Date.now();
    const old = new Date(now - 11 * 60_000);
    const names = {
      [`${host}-${deadPid}-${now}-a.jsonl`]: true,
      // Containers give every process the same id.
      [`${host}-${Deno.pid}-${now - 86_400_000}-b.jsonl`]: true,
      [`another_host-${Deno.pid}-${now}-c.jsonl`]: false,
      [`another_host-${Deno.pid}-${now}-stale.jsonl`]: true,
      [`${host}-1-${now}-d.jsonl`]: false,
      "by_hand.jsonl": true,
      "rejected.jsonl": false,
      "notes.txt": false,
    };
    for (const name of Object.keys(names)) {
      await Deno.writeTextFile(`${folder}/${name}`, JSON.stringify({ ...record, idempotencyKey: name }));
      if (name.includes("stale")) await Deno.utime(`${folder}/${name}`, old, old);
    }
    line.open();
    const second = newMeter({ spool: folder });
    await poll(() => second.stats().waiting === 0);
    assert.equal(second.stats().adopted, 4);
    const left = Object.entries(names).filter(([, isAdopted]) => !isAdopted).map(([name]) => name);
    assert.deepEqual(segmentsIn(folder), [...left, own].sort());
    assert.equal(await owner.close(), true);
    assert.deepEqual(await usageOf(test, key), { requests: [5, 5] });
  },

  async "counts and sends a record once whose file another process took while it was written"(
    { newMeter, folder, line, key, test },
  ) {
    await line.cut();
    const meter = newMeter({ spool: folder });
    meter.record(tiles);
    const [name = ""] = segmentsIn(folder);
    await Deno.rename(`${folder}/${name}`, `${folder}/taken`);
    meter.record(tiles);
    assert.equal(meter.stats().waiting, 2);
    line.open();
    assert.equal(await meter.flush(), true);
    const { waiting, sent, duplicates } = meter.stats();
    assert.deepEqual({ waiting, sent, duplicates }, { waiting: 0, sent: 2, duplicates: 0 });
    assert.deepEqual(await usageOf(test, key), { requests: [2, 2] });
  },

  async "counts what doesn't fit into the spool as dropped, and takes more when there is room"(scene) {
    const { newMeter, folder, line, key, test, problems } = scene;
    await line.cut();
    const meter = newMeter({ spool: folder, spoolBytesMax: 2_000 });
    for (let n = 0; n < 20; n++) meter.record(tiles);
    const { waiting, dropped } = meter.stats();
    assert.ok(waiting > 8 && waiting < 14, `${waiting} waiting`);
    assert.equal(waiting + dropped, 20);
    line.open();
    assert.equal(await meter.flush(), true);
    meter.record(tiles);
    assert.equal(await meter.close(), true);
    assert.deepEqual(problems.filter(({ kind }) => kind === "dropped").map(({ count }) => count), [dropped]);
    assert.deepEqual(await usageOf(test, key), { requests: [waiting + 1, waiting + 1] });
    assert.deepEqual(segmentsIn(folder), []);
  },

  async "keeps records in memory while the folder is missing or fails, and says so"(scene) {
    const { newMeter, folder, key, test, problems } = scene;
    const spool = `${folder}/spool`;
    await Deno.writeTextFile(spool, "in the way");
    const meter = newMeter({ spool });
    meter.record(tiles);
    assert.equal(meter.stats().waiting, 1);
    assert.equal(await meter.sync(), false);
    await Deno.remove(spool);
    await Deno.mkdir(spool);
    // A failed write is repeated after a second.
    await poll(() => {
      meter.record(tiles);
      return segmentsIn(spool).length > 0;
    });
    const { recorded } = meter.stats();
    assert.equal(await meter.close(), true);
    assert.ok(problems.some(({ kind, message }) => kind === "spool" && message.includes("wait in memory")));
    assert.deepEqual(await usageOf(test, key), { requests: [recorded, recorded] });
  },

  async "survives the loss of its folder"({ newMeter, folder, line, key, test }) {
    await line.cut();
    const spool = `${folder}/spool`;
    const meter = newMeter({ spool, spoolBytesMax: 1_000 });
    meter.record(tiles);
    await Deno.remove(spool, { recursive: true });
    meter.record(tiles);
    meter.record(tiles);
    line.open();
    assert.equal(await meter.flush(), true);
    const { sent, dropped } = meter.stats();
    assert.equal(sent + dropped, 3);
    assert.deepEqual(await usageOf(test, key), { requests: [sent, sent] });
  },
};

metered("Meter with a spool", steps);
