// What an earlier process left in the spool, with a zombie in the place of that process, in JavaScript and Python.
import assert from "node:assert/strict";
import { hostname } from "node:os";
import { usageOf } from "../support/client/meter_line.ts";
import { segmentsIn } from "../support/client/meter_folder.ts";
import { metered, type Scene } from "../support/client/meter_scene.ts";
import { drive, python } from "../support/client/python_meter.ts";
import { poll } from "../support/runner/poll.ts";

/** Leaves a record in the spool, of a process that has ended and that its parent never waits for. */
async function leaveRecord({ folder, onEnd }: Scene): Promise<void> {
  const path = await Deno.makeTempFile();
  const text = "import os, sys, time\npid = os.fork() or os._exit(0)\n" +
    "open(sys.argv[1], 'w').write(f'{pid}\\n')\ntime.sleep(600)";
  const parent = new Deno.Command(python, { args: ["-c", text, path] }).spawn();
  onEnd(async () => {
    parent.kill();
    await parent.status;
    await Deno.remove(path);
  });
  await poll(() => Deno.readTextFileSync(path).endsWith("\n"));
  const pid = Number(Deno.readTextFileSync(path));
  await poll(() => Deno.readTextFileSync(`/proc/${pid}/stat`).includes(") Z "));
  const record = { productSlug: "tiles", metric: "requests", quantity: 1, idempotencyKey: "left" };
  const line = JSON.stringify({ ...record, timestamp: new Date().toISOString() });
  const name = `${hostname().replace(/\W/g, "_")}-${pid}-${Date.now()}-00000000.jsonl`;
  await Deno.writeTextFile(`${folder}/${name}`, `${line}\n`);
}

async function inJavaScript(scene: Scene): Promise<void> {
  await leaveRecord(scene);
  const meter = scene.newMeter({ spool: scene.folder });
  assert.equal(await meter.close(), true);
  assert.deepEqual(await usageOf(scene.test, scene.key), { requests: [1, 1] });
}

/** Looking through the folder takes longer than it takes to close the meter. */
async function inPython(scene: Scene): Promise<void> {
  const { line, key, folder: spool, test } = scene;
  await leaveRecord(scene);
  const meter = drive({ url: line.url, api_key: key });
  const { result } = await meter.run(`scandir = os.scandir
def slow(folder):
    time.sleep(0.2)
    return scandir(folder)
os.scandir = slow
result = Meter(url="${line.url}", api_key="${key}", spool="${spool}").close()`);
  assert.equal(result, true);
  assert.deepEqual(await usageOf(test, key), { requests: [1, 1] });
  assert.deepEqual(segmentsIn(spool), []);
  assert.equal(await meter.end(), 0);
}

metered("a meter that is closed immediately sends what an earlier process left", {
  "in JavaScript": inJavaScript,
  "in Python": inPython,
});
