// The spool of gatehouse.py with a disk that fails or is full, with lines that a read has cut, and with planted files.
import assert from "node:assert/strict";
import { leftLine, linesIn, segmentsIn } from "../support/client/meter_folder.ts";
import { usageOf } from "../support/client/meter_line.ts";
import type { MeterSteps, Scene } from "../support/client/meter_scene.ts";
import { drive } from "../support/client/python_meter.ts";
import { limitFileSize, throughFileSizeLimit } from "../support/database/small_disk.ts";
import { poll } from "../support/runner/poll.ts";

const one = 'meter.record("tiles", "requests")';
const tenth = `for _ in range(100): ${one}`;

/** The disk fails while the first file is read. */
async function skipsUnreadableFiles({ line, key, folder: spool }: Scene): Promise<void> {
  Deno.writeTextFileSync(`${spool}/a.jsonl`, "");
  Deno.writeTextFileSync(`${spool}/b.jsonl`, leftLine("b"));
  const meter = drive({ url: line.url, api_key: key });
  await meter.run(`count = gatehouse._Segment.count
def fail(segment):
    gatehouse._Segment.count = count
    raise OSError("a broken disk")
gatehouse._Segment.count = fail
other = Meter(url="${line.url}", api_key="${key}", spool="${spool}", on_problem=on_problem)`);
  await poll(async () => (await meter.run("result = other.stats().sent")).result === 1);
  await poll(() => meter.problems.some(({ kind }) => kind === "spool"));
  assert.equal(await meter.end(), 0);
}

/** When files can't grow, memory takes over; afterwards, the disk does again. */
async function survivesAFullDisk(scene: Scene): Promise<void> {
  const { line, key, test, folder: spool } = scene;
  await line.cut();
  const meter = drive({ url: line.url, api_key: key, spool }, { through: throughFileSizeLimit });
  await meter.run(one);
  const [name = ""] = segmentsIn(spool);
  limitFileSize(meter.pid, Deno.statSync(`${spool}/${name}`).size + 50);
  assert.deepEqual((await meter.run(tenth)).waiting, 101);
  assert.ok(linesIn(spool).length < 10, "the disk is not full");
  // The next process would count a line that was cut as damaged.
  for (const name of segmentsIn(spool)) {
    assert.match(Deno.readTextFileSync(`${spool}/${name}`), /^$|\n$/, name);
  }
  await poll(() => meter.problems.some(({ kind }) => kind === "spool"));
  assert.equal((await meter.run("result = meter.sync()")).result, false);
  limitFileSize(meter.pid, "unlimited");
  await meter.run(`meter._disk_retry_at = 0\n${one}`);
  assert.equal((await meter.run("")).waiting, 102);
  line.open();
  const after = await meter.run("result = meter.close(60)");
  assert.deepEqual([after.result, after.sent, after.dropped], [true, 102, 0]);
  assert.equal(await meter.end(), 0);
  assert.deepEqual(await usageOf(test, key), { requests: [102, 102] });
  assert.deepEqual(segmentsIn(spool), []);
}

/** A read may return less than it was asked for, and end in the middle of a line. */
async function readsCutLines({ line, key, test, folder: spool }: Scene): Promise<void> {
  await line.cut();
  const meter = drive({ url: line.url, api_key: key, spool });
  await meter.run(`read = os.pread
os.pread = lambda fd, size, at: read(fd, min(size, 1_000), at)
${tenth}`);
  line.open();
  const { result, sent, damaged } = await meter.run("result = meter.close(60)");
  assert.deepEqual([result, sent, damaged], [true, 100, 0]);
  assert.equal(await meter.end(), 0);
  assert.ok(line.batches.length > 10, `${line.batches.length} requests`);
  assert.deepEqual(await usageOf(test, key), { requests: [100, 100] });
}

/** Files in a folder that became writable for others aren't sent, and no link is followed that replaces a file before it is opened. */
async function adoptsNothingPlanted({ line, key, folder: spool }: Scene): Promise<void> {
  const meter = drive({ url: line.url, api_key: key, spool });
  const victim = `${spool}/../victim-${crypto.randomUUID()}`;
  await meter.run("");
  await Deno.chmod(spool, 0o777);
  await Deno.writeTextFile(`${spool}/planted.jsonl`, "{}");
  assert.equal((await meter.run("meter._adopt(meter._spool)")).adopted, 0);
  assert.deepEqual(segmentsIn(spool), ["planted.jsonl"]);
  await Deno.chmod(spool, 0o700);
  await Deno.remove(`${spool}/planted.jsonl`);
  await Deno.writeTextFile(victim, "not yours\n");
  try {
    for (const name of ["planted", "rejected"]) await Deno.symlink(victim, `${spool}/${name}.jsonl`);
    const { result } = await meter.run(`gatehouse._is_abandoned = lambda entry: True
result = Meter(url="${line.url}", api_key="${key}", spool="${spool}").close()`);
    assert.equal(result, true);
    assert.equal(await Deno.readTextFile(victim), "not yours\n");
  } finally {
    await Deno.remove(victim);
    await meter.kill();
  }
}

export const spoolSteps: MeterSteps = {
  "gatehouse.py adopts files after one that it can't open": skipsUnreadableFiles,
  "gatehouse.py continues in memory when the disk is full, and leaves no cut line": survivesAFullDisk,
  "gatehouse.py sends lines that a read has cut": readsCutLines,
  "gatehouse.py adopts nothing that others may have planted": adoptsNothingPlanted,
};
