// The folder of the spool of gatehouse.py: links in it, and folders that other users can change.
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { segmentsIn } from "../support/client/meter_folder.ts";
import { poll } from "../support/runner/poll.ts";
import { drive, type MeterScene, pythonTest, sumsOf } from "../support/client/python_meter.ts";

const stranger = 12_345;

async function followsNoLink({ program, key, spool }: MeterScene): Promise<void> {
  const victim = `${spool}.victim`;
  const timestamp = new Date().toISOString();
  const record = {
    productSlug: "tiles",
    metric: "planted",
    quantity: 1,
    timestamp,
    idempotencyKey: "planted",
  };
  const text = `${JSON.stringify(record)}\n`;
  await Deno.writeTextFile(victim, text);
  const links = ["planted.jsonl", "rejected.jsonl"];
  for (const name of links) await Deno.symlink(victim, `${spool}/${name}`);
  const meter = drive({ url: program.baseUrl, api_key: key, spool });
  const records = 'meter.record("tiles", "requests"); meter.record("tiles", "no metric!")';
  const { result, adopted, sent, rejected } = await meter.run(`${records}\nresult = meter.close()`);
  assert.deepEqual([result, adopted, sent, rejected], [true, 0, 1, 1]);
  assert.equal(await Deno.readTextFile(victim), text);
  assert.deepEqual(segmentsIn(spool), links);
  assert.ok(meter.problems.some(({ message }) => message.includes("can't keep rejected records")));
  assert.deepEqual(await sumsOf(program, key), { requests: [1, 1] });
  // A link that takes the place of a file between looking at it and opening it.
  const opened = await meter.run(
    `gatehouse._is_abandoned = lambda entry: True
result = Meter(url="${program.baseUrl}", api_key="${key}", spool="${spool}").close()`,
  );
  assert.equal(opened.result, true);
  assert.equal(await Deno.readTextFile(victim), text);
  assert.equal(await meter.end(), 0);
}

async function rejectsFolders({ spool }: MeterScene): Promise<void> {
  const meter = drive({ url: "http://127.0.0.1:1", api_key: "unused" });
  const create = async (spool: string) => {
    const python =
      `m = Meter(url="http://127.0.0.1:1", api_key="unused", spool="${spool}")\nresult = m.close()`;
    return (await meter.run(python)).result;
  };
  for (const mode of [0o702, 0o772, 0o1770, 0o1777]) {
    await Deno.chmod(spool, mode);
    const message =
      /PermissionError.*Other users can write .*Name a new folder .*, or run "chmod go-w" on it/;
    assert.match(String(await create(spool)), message);
  }
  assert.equal(await create(`${spool}/new/folder`), true);
  await Deno.chmod(spool, 0o755);
  assert.equal(await create(spool), true);
  // Only root can give files to other users.
  if (Deno.uid() === 0) {
    const link = `${spool}.link`;
    await Deno.symlink(spool, link);
    assert.equal(await create(link), true);
    await meter.run(`os.chown("${link}", ${stranger}, ${stranger}, follow_symlinks=False)`);
    const message = new RegExp(
      `PermissionError.* belongs to user ${stranger}, and this process runs as user 0`,
    );
    for (const path of [link, `${link}/`, `${link}/.`]) assert.match(String(await create(path)), message);
    await Deno.chown(spool, stranger, stranger);
    assert.match(String(await create(spool)), message);
  }
  assert.equal(await meter.end(), 0);
}

async function tightensItsFolder({ spool }: MeterScene): Promise<void> {
  const meter = drive({ url: "http://127.0.0.1:1", api_key: "unused" });
  const create = async () => {
    const python =
      `m = Meter(url="http://127.0.0.1:1", api_key="unused", spool="${spool}")\nresult = m.close()`;
    const { result } = await meter.run(python);
    return [result, (await Deno.stat(spool)).mode! & 0o1777];
  };
  // Root leaves the mode of its folders, which may be the system's.
  if (Deno.uid() === 0) {
    await Deno.chmod(spool, 0o770);
    const [error, mode] = await create();
    assert.match(String(error), /Other users can write/);
    assert.equal(mode, 0o770);
    await Deno.chmod(dirname(spool), 0o711);
    await Deno.chown(spool, stranger, stranger);
    await meter.run(`os.seteuid(${stranger})`);
  }
  for (const [mode, result] of [[0o770, 0o750], [0o775, 0o755]] as const) {
    await Deno.chmod(spool, mode);
    assert.deepEqual(await create(), [true, result]);
  }
  for (const mode of [0o1770, 0o777]) {
    await Deno.chmod(spool, mode);
    const [error, left] = await create();
    assert.match(String(error), /Other users can write/);
    assert.equal(left, mode);
  }
  assert.equal(await meter.end(), 0);
}

async function leavesForeignFiles({ program, key, spool }: MeterScene): Promise<void> {
  const record = { productSlug: "tiles", metric: "planted", quantity: 1, timestamp: new Date() };
  const text = `${JSON.stringify({ ...record, idempotencyKey: "planted" })}\n`;
  await Deno.writeTextFile(`${spool}/planted.jsonl`, text);
  await Deno.chown(`${spool}/planted.jsonl`, stranger, stranger);
  await new Deno.Command("mkfifo", { args: [`${spool}/rejected.jsonl`] }).output();
  const meter = drive({ url: program.baseUrl, api_key: key, spool });
  const { result, adopted, sent, rejected } = await meter.run(
    'meter.record("tiles", "no metric!")\nresult = meter.close()',
  );
  assert.deepEqual([result, adopted, sent, rejected], [true, 0, 0, 1]);
  const [planted = assert.fail()] = segmentsIn(spool).filter((name) => name !== "rejected.jsonl");
  assert.equal(await Deno.readTextFile(`${spool}/${planted}`), text);
  const messages = meter.problems.map(({ message }) => message).join("\n");
  assert.match(messages, /is not a regular file of this user/);
  assert.equal(await meter.end(), 0);
}

/** A folder that becomes writable for others takes no records, and those in it aren't sent. */
async function leavesAFolder({ spool }: MeterScene): Promise<void> {
  const meter = drive({ url: "http://127.0.0.1:1", api_key: "unused", spool });
  await meter.run("");
  await Deno.chmod(spool, 0o777);
  await Deno.writeTextFile(`${spool}/planted.jsonl`, "{}");
  const { waiting, adopted } = await meter.run(
    'meter.record("tiles", "requests")\nmeter._adopt(meter._spool)',
  );
  assert.deepEqual([waiting, adopted], [1, 0]);
  assert.deepEqual(segmentsIn(spool), ["planted.jsonl"]);
  await poll(() => meter.problems.some(({ message }) => message.includes("Other users can write")));
  await meter.kill();
}

pythonTest("the folder of gatehouse.py's spool", {
  "follows no link in it": followsNoLink,
  "rejects one that other users can change": rejectsFolders,
  "takes the group's write permission from one of its user": tightensItsFolder,
  // Only root can give files to other users.
  ...Deno.uid() === 0 && { "neither sends nor changes files of other users, and pipes": leavesForeignFiles },
  "leaves one that other users can write to by now": leavesAFolder,
});
