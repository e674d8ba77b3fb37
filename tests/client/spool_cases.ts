// What the meters of both languages promise about their spool: what was recorded survives the end of the process, full disks and
// damage, and no other user can change it. meter_test.ts runs these cases.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { sql } from "../../db/engine/database.ts";
import type { CaseScene } from "../support/client/any_meter.ts";
import { deadPid, leftLine, linesIn, recordsIn, segmentsIn } from "../support/client/meter_folder.ts";
import { usageOf } from "../support/client/meter_line.ts";
import { sizesOf } from "../support/client/meter_scene.ts";
import { addLimit } from "../support/meter/limits.ts";
import { poll } from "../support/runner/poll.ts";

const tiles = { product: "tiles", metric: "requests" };
const repeated = (count: number) => Array.from({ length: count }, () => tiles);

export const spoolCases: Record<string, (scene: CaseScene) => Promise<void>> = {
  async "keeps records on disk until they are acknowledged, and then nothing"(scene) {
    const { newMeter, folder, line, key, test } = scene;
    const spool = `${folder}/made/on/demand`;
    const meter = newMeter({ spool });
    await meter.record(...repeated(3).map((usage) => ({ ...usage, quantity: 2 })));
    const [name = "", ...others] = segmentsIn(spool);
    assert.deepEqual(others, []);
    const lines = (await Deno.readTextFile(`${spool}/${name}`)).trim().split("\n");
    assert.deepEqual(lines.map((line) => JSON.parse(line).quantity), [2, 2, 2]);
    assert.equal(await meter.sync(), true);
    assert.equal(await meter.flush(), true);
    assert.deepEqual(linesIn(spool), []);
    assert.equal(await meter.close(), true);
    assert.deepEqual(segmentsIn(spool), []);
    assert.deepEqual(sizesOf(line), [[3, 201]]);
    assert.deepEqual(await usageOf(test, key), { requests: [6, 3] });
  },

  async "sends what a killed process had recorded, and counts a batch once whose response was lost"(scene) {
    const { newMeter, folder, line, key, test } = scene;
    line.disturb = () => "lost";
    const killed = newMeter({ spool: folder, batchRecordsMax: 50 });
    await killed.record(...repeated(60));
    await poll(() => line.batches.length > 0);
    await line.cut();
    await killed.record(...repeated(40));
    await killed.abandon();
    assert.equal(linesIn(folder).length, 100);
    line.disturb = () => null;
    line.open();
    const next = newMeter({ spool: folder });
    await poll(() => segmentsIn(folder).length === 0);
    const { recorded, adopted, sent } = await next.stats();
    assert.deepEqual({ recorded, adopted, sent }, { recorded: 0, adopted: 100, sent: 100 });
    assert.deepEqual(await usageOf(test, key), { requests: [100, 100] });
  },

  async "keeps what it records while its file is renamed or another process takes it"(scene) {
    const { newMeter, folder, line, key, test } = scene;
    await line.cut();
    const owner = newMeter({ spool: folder });
    await owner.record(tiles);
    const [name = ""] = segmentsIn(folder);
    await Deno.rename(`${folder}/${name}`, `${folder}/taken`);
    await owner.record(tiles);
    assert.equal((await owner.stats()).waiting, 2);
    line.open();
    assert.equal(await owner.flush(), true);
    const { waiting, sent, duplicates } = await owner.stats();
    assert.deepEqual({ waiting, sent, duplicates }, { waiting: 0, sent: 2, duplicates: 0 });
    await line.cut();
    for (const count of [10, 20]) {
      await owner.record(...repeated(10).map((usage) => ({ ...usage, quantity: 2 })));
      // One is written again that met a renamed file.
      assert.ok(linesIn(folder).filter((line) => JSON.parse(line).quantity === 2).length >= count, "on disk");
      for (const name of segmentsIn(folder).filter((name) => !/^(taken|by_hand)/.test(name))) {
        await Deno.rename(`${folder}/${name}`, `${folder}/by_hand_${count}.jsonl`);
      }
    }
    const untilSent = async () => {
      line.open();
      newMeter({ spool: folder });
      await poll(() => segmentsIn(folder).length === 1);
    };
    await untilSent();
    await line.cut();
    await owner.record(...repeated(10));
    await owner.abandon();
    await untilSent();
    assert.deepEqual(await usageOf(test, key), { requests: [2 + 40 + 10, 32] });
  },

  async "shares a folder, and leaves the rest to others when it is closed"(scene) {
    const { newMeter, folder, line, key, test } = scene;
    await line.cut();
    const meters = [1, 2, 3].map(() => newMeter({ spool: folder }));
    for (const meter of meters) await meter.record(...repeated(5));
    assert.equal(linesIn(folder).length, 15);
    assert.equal(await meters[0]?.close({ timeoutMs: 1 }), false);
    line.open();
    const next = newMeter({ spool: folder });
    for (const meter of meters.slice(1)) assert.equal(await meter.close(), true);
    await poll(() => segmentsIn(folder).length === 0);
    assert.equal(await next.close(), true);
    assert.deepEqual(await usageOf(test, key), { requests: [15, 15] });
  },

  async "adopts files without an owner, except lines that are too long, and leaves those of others alone"(
    scene,
  ) {
    const { newMeter, folder, line, key, test, language } = scene;
    await line.cut();
    const owner = newMeter({ spool: folder });
    await owner.record(tiles);
    const [own = ""] = segmentsIn(folder);
    const record = JSON.parse(await Deno.readTextFile(`${folder}/${own}`));
    const [host, pid] = own.split("-");
    const now = Date.now();
    const old = new Date(now - 11 * 60_000);
    const names = {
      [`${host}-${deadPid}-${now}-a.jsonl`]: true,
      // Containers give every process the same id. Python's second meter has another one than the first.
      [`${host}-${pid}-${now - 86_400_000}-b.jsonl`]: language === "TypeScript",
      [`another_host-${pid}-${now}-c.jsonl`]: false,
      [`another_host-${pid}-${now}-0.jsonl`]: true,
      [`${host}-1-${now}-d.jsonl`]: false,
      "by_hand.jsonl": true,
      "rejected.jsonl": false,
      "notes.txt": false,
    };
    for (const name of Object.keys(names)) {
      await Deno.writeTextFile(`${folder}/${name}`, JSON.stringify({ ...record, idempotencyKey: name }));
      if (name.endsWith("0.jsonl")) await Deno.utime(`${folder}/${name}`, old, old);
    }
    const after = JSON.stringify({ ...record, idempotencyKey: "after" });
    await Deno.writeTextFile(`${folder}/by_hand.jsonl`, `\n${"x".repeat(3_000_000)}\n${after}`, {
      append: true,
    });
    for (const name of ["a", "z"]) await Deno.mkdir(`${folder}/${name}.jsonl`);
    line.open();
    const second = newMeter({ spool: folder });
    const left = Object.entries(names).filter(([, isAdopted]) => !isAdopted).map(([name]) => name);
    const adopted = Object.keys(names).length - left.length + 1;
    await poll(async () => (await second.stats()).sent === adopted);
    assert.deepEqual(segmentsIn(folder), [...left, own, "a.jsonl", "z.jsonl"].sort());
    assert.equal(await owner.close(), true);
    assert.deepEqual(await usageOf(test, key), { requests: [adopted + 1, adopted + 1] });
  },

  async "sends what an earlier process left, once, and skips damaged lines"(scene) {
    const { newMeter, folder, line, key, test, problems } = scene;
    await line.cut();
    const first = newMeter({ spool: folder, batchRecordsMax: 2 });
    await first.record(...repeated(5));
    assert.equal(await first.close({ timeoutMs: 0 }), false);
    const { waiting, dropped } = await first.stats();
    assert.deepEqual({ waiting, dropped }, { waiting: 5, dropped: 0 });
    const [name = "", ...others] = segmentsIn(folder);
    assert.deepEqual(others, []);
    const [one = ""] = (await Deno.readTextFile(`${folder}/${name}`)).split("\n");
    await Deno.writeTextFile(`${folder}/${name}`, '{"productSlug":"til', { append: true });
    const damaged = ["\0".repeat(5_000), "[".repeat(60_000), "[]", "null", '{"half', "\ufffe"];
    const whole = JSON.stringify({ ...JSON.parse(one), idempotencyKey: "whole" });
    await Deno.writeTextFile(
      `${folder}/other.jsonl`,
      ["", "  ", ...damaged, `${whole}\r`, one.slice(0, 40)].join("\n"),
    );
    line.open();
    const second = newMeter({ spool: folder });
    await poll(() => segmentsIn(folder).length === 0);
    const stats = await second.stats();
    assert.deepEqual([stats.sent, stats.waiting, stats.adopted], [6, 0, 6 + stats.damaged]);
    assert.ok(stats.damaged >= damaged.length + 2, String(stats.damaged));
    assert.deepEqual(await usageOf(test, key), { requests: [6, 6] });
    await poll(() => problems.some(({ kind, message }) => kind === "spool" && message.includes("damaged")));
  },

  async "keeps rejected records in a file that is sent again under another name"(scene) {
    const { newMeter, folder, line, key, test, person, problems } = scene;
    const limit = { per: "total", quantity: 2, mode: "hard" } as const;
    const { id } = await addLimit(test, { organizationId: person.organizationId }, limit);
    const meter = newMeter({ spool: folder });
    const keyed = ["0", "1", "2", "3"].map((idempotencyKey) => ({ ...tiles, idempotencyKey }));
    await meter.record(...keyed, { ...tiles, metric: "no metric!" });
    assert.equal(await meter.close(), true);
    assert.deepEqual(segmentsIn(folder), ["rejected.jsonl"]);
    const rejected = `${folder}/rejected.jsonl`;
    assert.equal((await Deno.stat(rejected)).mode! & 0o777, 0o600);
    const kept = recordsIn(rejected) as { idempotencyKey: string; metric: string }[];
    assert.deepEqual(kept.map(({ metric }) => metric).sort(), ["no metric!", "requests", "requests"]);
    await poll(() => problems.flatMap(({ records }) => records).length === kept.length);
    assert.deepEqual(kept, problems.flatMap(({ records }) => records));
    await test.opened.database.write([sql`DELETE FROM usage_limits WHERE id = ${id}`]);
    await Deno.rename(rejected, `${folder}/again.jsonl`);
    const again = newMeter({ spool: folder });
    await poll(() => !segmentsIn(folder).some((name) => name !== "rejected.jsonl"));
    assert.equal(await again.close(), true);
    assert.deepEqual(await usageOf(test, key), { requests: [4, 4] });
    assert.deepEqual(segmentsIn(folder), ["rejected.jsonl"]);
    assert.equal(line.batches.at(-1)?.status, 201);
  },

  async "counts what doesn't fit into the spool as dropped, and takes more when there is room"(scene) {
    const { newMeter, folder, line, key, test, problems } = scene;
    await line.cut();
    const meter = newMeter({ spool: folder, spoolBytesMax: 2_000 });
    await meter.record(...repeated(20));
    const { waiting, dropped } = await meter.stats();
    assert.ok(waiting > 8 && waiting < 16, `${waiting} waiting`);
    assert.equal(waiting + dropped, 20);
    line.open();
    assert.equal(await meter.flush(), true);
    await meter.record(tiles);
    assert.equal(await meter.close(), true);
    const sum = () => problems.reduce((sum, { kind, count }) => sum + (kind === "dropped" ? count : 0), 0);
    await poll(() => sum() === dropped);
    assert.deepEqual(await usageOf(test, key), { requests: [waiting + 1, waiting + 1] });
    assert.deepEqual(segmentsIn(folder), []);
  },

  async "keeps records in memory while the folder is missing or fails, and says so"(scene) {
    const { newMeter, folder, key, test, problems } = scene;
    const spool = `${folder}/spool`;
    await Deno.writeTextFile(spool, "in the way");
    const meter = newMeter({ spool });
    await meter.record(tiles);
    assert.equal((await meter.stats()).waiting, 1);
    assert.equal(await meter.sync(), false);
    await Deno.remove(spool);
    await Deno.mkdir(spool);
    // A failed write is repeated after a second.
    await poll(async () => {
      await meter.record(tiles);
      return segmentsIn(spool).length > 0;
    });
    const { recorded } = await meter.stats();
    assert.equal(await meter.close(), true);
    await poll(() =>
      problems.some(({ kind, message }) => kind === "spool" && message.includes("wait in memory"))
    );
    assert.deepEqual(await usageOf(test, key), { requests: [recorded, recorded] });
  },

  async "survives the loss of its folder"({ newMeter, folder, line, key, test }) {
    await line.cut();
    const spool = `${folder}/spool`;
    const meter = newMeter({ spool, spoolBytesMax: 1_000 });
    await meter.record(tiles);
    await Deno.remove(spool, { recursive: true });
    await meter.record(tiles, tiles);
    line.open();
    assert.equal(await meter.flush(), true);
    const { sent, dropped } = await meter.stats();
    assert.equal(sent + dropped, 3);
    assert.deepEqual(await usageOf(test, key), { requests: [sent, sent] });
  },
};

const stranger = 12_345;
/** Not root, to which other rules apply. */
const user = Deno.uid() || stranger;

export const folderCases: Record<string, (scene: CaseScene) => Promise<void>> = {
  async "follows no link in its folder"({ newMeter, folder, key, test, problems }) {
    const [spool, victim] = [`${folder}/spool`, `${folder}/victim`];
    await Deno.mkdir(spool);
    const line = leftLine("planted");
    await Deno.writeTextFile(victim, line);
    for (const name of ["planted.jsonl", "rejected.jsonl"]) await Deno.symlink(victim, `${spool}/${name}`);
    const meter = newMeter({ spool });
    await meter.record(tiles, { ...tiles, metric: "no metric!" });
    assert.equal(await meter.close(), true);
    const { adopted, sent, rejected } = await meter.stats();
    assert.deepEqual({ adopted, sent, rejected }, { adopted: 0, sent: 1, rejected: 1 });
    assert.equal(await Deno.readTextFile(victim), line);
    assert.deepEqual(segmentsIn(spool), ["planted.jsonl", "rejected.jsonl"]);
    await poll(() => problems.some(({ records }) => records[0]?.metric === "no metric!"));
    await poll(() => problems.some(({ message }) => /can't keep (1 )?rejected records/.test(message)));
    assert.deepEqual(await usageOf(test, key), { requests: [1, 1] });
  },

  async "rejects a folder that other users can write to, and says what to do"(
    { errorsOf, newMeter, folder },
  ) {
    const spool = `${folder}/spool`;
    await Deno.mkdir(spool);
    const modes = [0o755, 0o702, 0o772, 0o1770, 0o1777, 0o777];
    const [safe, ...unsafe] = await errorsOf(modes.map((mode) => [spool, mode]));
    assert.deepEqual(safe, ["", 0o755]);
    for (const [error] of unsafe) {
      assert.match(error, /Other users can write .*Name a new folder .*, or run "chmod go-w" on it/);
    }
    const meter = newMeter({ spool: `${spool}/new/folder` });
    await meter.record(tiles);
    assert.equal(await meter.close(), true);
    assert.equal((await Deno.stat(`${spool}/new/folder`)).mode! & 0o777, 0o700);
  },

  async "takes the group's write permission from a folder of its user"({ errorsOf, folder }) {
    const spool = `${folder}/spool`;
    await Deno.chmod(folder, 0o711);
    await Deno.mkdir(spool);
    await Deno.chown(spool, user, null);
    const modes = [0o770, 0o775, 0o1770, 0o777];
    const results = await errorsOf(modes.map((mode) => [spool, mode]), user);
    assert.deepEqual(results.slice(0, 2), [["", 0o750], ["", 0o755]]);
    for (const [error] of results.slice(2)) assert.match(error, /Other users can write/);
    assert.deepEqual(results.slice(2).map(([, mode]) => mode), [0o1770, 0o777]);
  },

  async "keeps records in memory while other users can write to the folder"({ newMeter, folder, problems }) {
    const spool = `${folder}/spool`;
    await Deno.mkdir(spool, { mode: 0o700 });
    const meter = newMeter({ spool });
    await meter.stats();
    await Deno.chmod(spool, 0o777);
    await meter.record(tiles);
    assert.deepEqual(segmentsIn(spool), []);
    assert.equal(await meter.sync(), false);
    assert.equal((await meter.stats()).waiting, 1);
    await poll(() =>
      problems.some(({ message }) => /records wait in memory: Other users can write/.test(message))
    );
  },
};

/** Only root can give files to other users. */
export const folderCasesOfRoot: typeof folderCases = {
  async "rejects a folder of another user, and a link that another user made"({ errorsOf, folder }) {
    const [own, foreign, link] = [`${folder}/own`, `${folder}/foreign`, `${folder}/link`];
    for (const path of [own, foreign]) await Deno.mkdir(path, { mode: 0o700 });
    await Deno.symlink(own, link);
    assert.equal((await errorsOf([[link]]))[0]?.[0], "");
    await Deno.chown(foreign, stranger, stranger);
    fs.lchownSync(link, stranger, stranger);
    const spools = [foreign, link, `${link}/`, `${link}/.`];
    for (const [at, [error]] of (await errorsOf(spools.map((spool) => [spool]))).entries()) {
      const who = `(${spools[at]}|${link}) belongs to user ${stranger}, and this process runs as user 0`;
      assert.match(error, new RegExp(`${who}. .*, or change its owner`));
    }
  },

  async "leaves the mode of a folder of root, which may be the system's"({ errorsOf, folder }) {
    const [[error, mode] = assert.fail()] = await errorsOf([[folder, 0o770]]);
    assert.match(error, /Other users can write/);
    assert.equal(mode, 0o770);
  },

  async "neither sends nor changes files of other users, and pipes"({ newMeter, folder, problems }) {
    const spool = `${folder}/spool`;
    await Deno.mkdir(spool, { mode: 0o700 });
    const text = leftLine("planted");
    await Deno.writeTextFile(`${spool}/planted.jsonl`, text);
    await Deno.chown(`${spool}/planted.jsonl`, stranger, stranger);
    await new Deno.Command("mkfifo", { args: [`${spool}/rejected.jsonl`] }).output();
    const meter = newMeter({ spool });
    await meter.record({ ...tiles, metric: "no metric!" });
    assert.equal(await meter.close(), true);
    const { adopted, sent, rejected } = await meter.stats();
    assert.deepEqual({ adopted, sent, rejected }, { adopted: 0, sent: 0, rejected: 1 });
    const [planted = assert.fail()] = segmentsIn(spool).filter((name) => name !== "rejected.jsonl");
    assert.equal(await Deno.readTextFile(`${spool}/${planted}`), text);
    const forms = [/belongs to user 12345|is not a regular file of/, /can't keep (1 )?rejected records/];
    for (const form of forms) {
      await poll(() => problems.some(({ message }) => form.test(message)));
    }
  },
};
