// The spool of gatehouse.py with a disk that fails or is full, and with lines that are cut or damaged.
import assert from "node:assert/strict";
import { segmentsIn } from "../support/client/meter_folder.ts";
import { poll } from "../support/runner/poll.ts";
import {
  drain,
  drive,
  linesOf,
  type MeterScene,
  newLine,
  pythonTest,
  sumsOf,
} from "../support/client/python_meter.ts";
import { limitFileSize, throughFileSizeLimit } from "../support/database/small_disk.ts";

const one = 'meter.record("tiles", "requests")';
const tenth = `for _ in range(100): ${one}`;

/** The disk fails while the first file is read. */
async function skipsUnreadableFiles({ program, key, spool }: MeterScene): Promise<void> {
  Deno.writeTextFileSync(`${spool}/a.jsonl`, "");
  const record = { productSlug: "tiles", metric: "requests", quantity: 1, idempotencyKey: "b" };
  Deno.writeTextFileSync(
    `${spool}/b.jsonl`,
    JSON.stringify({ ...record, timestamp: new Date().toISOString() }),
  );
  const meter = drive({ url: program.baseUrl, api_key: key });
  await meter.run(`count = gatehouse._Segment.count
def fail(segment):
    gatehouse._Segment.count = count
    raise OSError("a broken disk")
gatehouse._Segment.count = fail
other = Meter(url="${program.baseUrl}", api_key="${key}", spool="${spool}", on_problem=on_problem)`);
  await poll(async () => (await meter.run("result = other.stats().sent")).result === 1);
  await poll(() => meter.problems.some(({ kind }) => kind === "spool"));
  assert.equal(await meter.end(), 0);
}

async function skipsDamage(scene: MeterScene): Promise<void> {
  const { program, key, spool } = scene;
  const meter = drive({ url: newLine(program).url, api_key: key, spool });
  await meter.run(tenth);
  await meter.kill();
  const [name = ""] = segmentsIn(spool);
  const lines = Deno.readTextFileSync(`${spool}/${name}`).split("\n");
  lines[3] = "\0".repeat(200);
  lines[20] = "[".repeat(60_000);
  lines[50] = "[]";
  lines[98] = '{"a":"' + "x".repeat(2_000_000) + '"}';
  Deno.writeTextFileSync(`${spool}/${name}`, lines.join("\n").slice(0, -10));
  const next = await drain(scene);
  const { adopted, sent, waiting, damaged } = await next.run("");
  assert.deepEqual([sent, waiting, adopted], [95, 0, 95 + damaged]);
  assert.ok(damaged >= 5, String(damaged));
  assert.equal(await next.end(), 0);
  assert.deepEqual(await sumsOf(program, key), { requests: [95, 95] });
}

/** When files can't grow, memory takes over; afterwards, the disk does again. */
async function survivesAFullDisk(scene: MeterScene): Promise<void> {
  const { program, key, spool } = scene;
  const line = newLine(program);
  const meter = drive({ url: line.url, api_key: key, spool }, { through: throughFileSizeLimit });
  await meter.run(one);
  const [name = ""] = segmentsIn(spool);
  limitFileSize(meter.pid, Deno.statSync(`${spool}/${name}`).size + 50);
  assert.deepEqual((await meter.run(tenth)).waiting, 101);
  assert.ok(linesOf(spool).length < 10, "the disk is not full");
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
  try {
    const after = await meter.run("result = meter.close()");
    assert.deepEqual([after.result, after.sent, after.dropped], [true, 102, 0]);
  } finally {
    await line.close();
  }
  assert.equal(await meter.end(), 0);
  assert.deepEqual(await sumsOf(program, key), { requests: [102, 102] });
  assert.deepEqual(segmentsIn(spool), []);
}

/** A read may return less than it was asked for, and end in the middle of a line. */
async function readsCutLines({ program, key, spool }: MeterScene): Promise<void> {
  const line = newLine(program);
  const meter = drive({ url: line.url, api_key: key, spool });
  await meter.run(`read = os.pread
os.pread = lambda fd, size, at: read(fd, min(size, 1_000), at)
${tenth}`);
  line.open();
  try {
    const { result, sent, damaged } = await meter.run("result = meter.close()");
    assert.deepEqual([result, sent, damaged], [true, 100, 0]);
    assert.equal(await meter.end(), 0);
  } finally {
    await line.close();
  }
  assert.ok(line.batches.length > 10, `${line.batches.length} requests`);
  assert.deepEqual(await sumsOf(program, key), { requests: [100, 100] });
}

pythonTest("gatehouse.py loses no record to a faulty disk", {
  "adopts files after one that it can't open": skipsUnreadableFiles,
  "continues in memory when the disk is full, and leaves no cut line": survivesAFullDisk,
  "skips damaged lines": skipsDamage,
  "sends lines that a read has cut": readsCutLines,
});
