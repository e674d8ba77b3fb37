// The folder of the meter's spool: links in it, and folders that other users can change.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { openFile } from "../../packages/client/src/meter/folder.ts";
import { segmentsIn } from "../support/meter_folder.ts";
import { usageOf } from "../support/meter_line.ts";
import { metered, type Scene } from "../support/meter_scene.ts";

const tiles = { product: "tiles", metric: "requests" };
const stranger = 12_345;

const steps: Record<string, (scene: Scene) => Promise<void>> = {
  async "follows no link in its folder"({ newMeter, folder, key, test, problems }) {
    const [spool, victim] = [`${folder}/spool`, `${folder}/victim`];
    await Deno.mkdir(spool);
    const line = JSON.stringify({
      productSlug: "tiles",
      metric: "planted",
      quantity: 1,
      timestamp: new Date(),
      idempotencyKey: "planted",
    });
    await Deno.writeTextFile(victim, `${line}\n`);
    for (const name of ["planted.jsonl", "rejected.jsonl"]) await Deno.symlink(victim, `${spool}/${name}`);
    const meter = newMeter({ spool });
    meter.record(tiles);
    meter.record({ ...tiles, metric: "no metric!" });
    assert.equal(await meter.close(), true);
    const { adopted, sent, rejected } = meter.stats();
    assert.deepEqual({ adopted, sent, rejected }, { adopted: 0, sent: 1, rejected: 1 });
    assert.equal(await Deno.readTextFile(victim), `${line}\n`);
    assert.deepEqual(segmentsIn(spool), ["planted.jsonl", "rejected.jsonl"]);
    const [first] = problems.flatMap(({ records }) => records);
    assert.equal(first?.metric, "no metric!");
    assert.ok(problems.some(({ message }) => message.includes("can't keep 1 rejected records")));
    assert.deepEqual(await usageOf(test, key), { requests: [1, 1] });
    // A link that takes the place of a file between looking at it and opening it.
    assert.throws(() => openFile(`${spool}/planted.jsonl`));
    fs.closeSync(openFile(victim));
  },

  async "rejects a folder that other users can write to, and says what to do"({ newMeter, folder }) {
    const spool = `${folder}/spool`;
    await Deno.mkdir(spool);
    for (const mode of [0o720, 0o702, 0o1777]) {
      await Deno.chmod(spool, mode);
      assert.throws(
        () => newMeter({ spool }),
        /TypeError: Other users can write .*Run "chmod go-w" on it, or/,
      );
    }
    await Deno.chmod(spool, 0o755);
    assert.equal(await newMeter({ spool }).close(), true);
    await Deno.chmod(spool, 0o777);
    assert.equal(await newMeter({ spool: `${spool}/new/folder` }).close(), true);
    assert.equal((await Deno.stat(`${spool}/new/folder`)).mode! & 0o777, 0o700);
  },

  async "keeps records in memory while other users can write to the folder"({ newMeter, folder, problems }) {
    const spool = `${folder}/spool`;
    const meter = newMeter({ spool });
    await Deno.chmod(spool, 0o777);
    meter.record(tiles);
    assert.deepEqual([...Deno.readDirSync(spool)], []);
    assert.equal(await meter.sync(), false);
    assert.equal(meter.stats().waiting, 1);
    assert.ok(problems.some(({ message }) => /records wait in memory: Other users can write/.test(message)));
  },
};

/** Only root can give files to other users. */
const stepsOfRoot: Record<string, (scene: Scene) => Promise<void>> = {
  async "rejects a folder of another user, and a link that another user made"({ newMeter, folder }) {
    const [own, foreign, link] = [`${folder}/own`, `${folder}/foreign`, `${folder}/link`];
    for (const path of [own, foreign]) await Deno.mkdir(path, { mode: 0o700 });
    await Deno.symlink(own, link);
    assert.equal(await newMeter({ spool: link }).close(), true);
    await Deno.chown(foreign, stranger, stranger);
    fs.lchownSync(link, stranger, stranger);
    for (const spool of [foreign, link]) {
      const message = new RegExp(
        `${spool} belongs to user ${stranger}, and this process runs as user 0. Change`,
      );
      assert.throws(() => newMeter({ spool }), message);
    }
  },
};

metered("The folder of a spool", { ...steps, ...(Deno.uid() === 0 ? stepsOfRoot : {}) });
