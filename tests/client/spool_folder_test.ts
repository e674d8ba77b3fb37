// The folder of the meter's spool: links in it, and folders that other users can change.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { openFile } from "../../packages/client/src/meter/folder.ts";
import { segmentsIn } from "../support/client/meter_folder.ts";
import { usageOf } from "../support/client/meter_line.ts";
import { metered, type Scene } from "../support/client/meter_scene.ts";

const tiles = { product: "tiles", metric: "requests" };
const stranger = 12_345;
/** Not root, to which other rules apply. */
const user = Deno.uid() || stranger;
const meterUrl = new URL("../../packages/client/src/meter/meter.ts", import.meta.url).href;

/** Creates a meter in a process of this user. @returns The error, or nothing. */
async function errorAs(uid: number, spool: string): Promise<string> {
  const options = { url: "http://127.0.0.1:1", apiKey: "unused", spool };
  const script = `import process from "node:process";
    import { Meter } from ${JSON.stringify(meterUrl)};
    process.seteuid(${uid});
    await new Meter(${JSON.stringify(options)}).close();`;
  const args = ["eval", "--no-config", script];
  const { stderr } = await new Deno.Command(Deno.execPath(), { args, env: { NO_COLOR: "1" } }).output();
  return new TextDecoder().decode(stderr);
}

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
    for (const mode of [0o702, 0o772, 0o1770, 0o1777]) {
      await Deno.chmod(spool, mode);
      assert.throws(
        () => newMeter({ spool }),
        /TypeError: Other users can write .*Name a new folder .*, or run "chmod go-w" on it/,
      );
    }
    await Deno.chmod(spool, 0o755);
    assert.equal(await newMeter({ spool }).close(), true);
    await Deno.chmod(spool, 0o777);
    assert.equal(await newMeter({ spool: `${spool}/new/folder` }).close(), true);
    assert.equal((await Deno.stat(`${spool}/new/folder`)).mode! & 0o777, 0o700);
  },

  async "takes the group's write permission from a folder of its user"({ folder }) {
    const spool = `${folder}/spool`;
    await Deno.chmod(folder, 0o711);
    await Deno.mkdir(spool);
    await Deno.chown(spool, user, null);
    for (const [mode, result] of [[0o770, 0o750], [0o775, 0o755]] as const) {
      await Deno.chmod(spool, mode);
      assert.equal(await errorAs(user, spool), "");
      assert.equal((await Deno.stat(spool)).mode! & 0o777, result);
    }
    for (const mode of [0o1770, 0o777]) {
      await Deno.chmod(spool, mode);
      assert.match(await errorAs(user, spool), /Other users can write/);
      assert.equal((await Deno.stat(spool)).mode! & 0o1777, mode);
    }
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
    for (const spool of [foreign, link, `${link}/`, `${link}/.`]) {
      const message = new RegExp(
        `${spool} belongs to user ${stranger}, and this process runs as user 0. .*, or change its owner`,
      );
      assert.throws(() => newMeter({ spool }), message);
    }
  },

  async "leaves the mode of a folder of root, which may be the system's"({ newMeter, folder }) {
    await Deno.chmod(folder, 0o770);
    assert.throws(() => newMeter({ spool: folder }), /Other users can write/);
    assert.equal((await Deno.stat(folder)).mode! & 0o777, 0o770);
  },

  async "neither sends nor changes files of other users, and pipes"({ newMeter, folder, problems }) {
    const spool = `${folder}/spool`;
    await Deno.mkdir(spool, { mode: 0o700 });
    const record = { productSlug: "tiles", metric: "planted", quantity: 1, timestamp: new Date() };
    const text = `${JSON.stringify({ ...record, idempotencyKey: "planted" })}\n`;
    await Deno.writeTextFile(`${spool}/planted.jsonl`, text);
    await Deno.chown(`${spool}/planted.jsonl`, stranger, stranger);
    await new Deno.Command("mkfifo", { args: [`${spool}/rejected.jsonl`] }).output();
    const meter = newMeter({ spool });
    meter.record({ ...tiles, metric: "no metric!" });
    assert.equal(await meter.close(), true);
    const { adopted, sent, rejected } = meter.stats();
    assert.deepEqual({ adopted, sent, rejected }, { adopted: 0, sent: 0, rejected: 1 });
    const [planted = assert.fail()] = segmentsIn(spool).filter((name) => name !== "rejected.jsonl");
    assert.equal(await Deno.readTextFile(`${spool}/${planted}`), text);
    const messages = problems.map(({ message }) => message).join("\n");
    assert.match(messages, /belongs to user 12345/);
    assert.match(messages, /can't keep 1 rejected records in rejected.jsonl: .* is not a regular file/);
  },
};

metered("The folder of a spool", { ...steps, ...(Deno.uid() === 0 ? stepsOfRoot : {}) });
