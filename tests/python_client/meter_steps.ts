// What only the meter of gatehouse.py promises, or shows in its own way: forks, threads, other processes in its folder, and the end
// of the interpreter. tests/client/meter_test.ts runs these steps.
import assert from "node:assert/strict";
import { leftLine, linesIn, segmentsIn } from "../support/client/meter_folder.ts";
import { usageOf } from "../support/client/meter_line.ts";
import type { MeterSteps, Scene } from "../support/client/meter_scene.ts";
import { drain, drive, nowhere } from "../support/client/python_meter.ts";
import { poll } from "../support/runner/poll.ts";
import { spoolSteps } from "./spool_steps.ts";

const one = 'meter.record("tiles", "requests")';
const tenth = `for _ in range(100): ${one}`;

async function sharesAFolder(scene: Scene): Promise<void> {
  const { line, key, test, folder: spool } = scene;
  const first = drive({ url: nowhere, api_key: key, spool });
  await first.run(tenth);
  const others = await Promise.all([drain, drain].map(async () => {
    const options = { url: line.url, api_key: key, spool, flush_interval: 0.02 };
    const meter = drive(options);
    await meter.run(`for _ in range(100): ${one}\nmeter.flush(60)`);
    return meter;
  }));
  // The files of a process that runs are its own, also of a second meter in the same process.
  const second =
    `other = Meter(url="${nowhere}", api_key="${key}", spool="${spool}", on_problem=lambda _: None)`;
  await first.run(`${second}\nother.record("tiles", "requests")\nresult = other.flush(0.2)`);
  assert.equal(linesIn(spool).length, 101);
  for (const other of others) {
    assert.equal((await other.run("")).sent, 100);
    // Look for abandoned files now instead of in a minute.
    await other.run("gatehouse.HOUSEKEEPING_SECONDS = 0.05\nmeter._housekeeping_at = 0");
  }
  await first.kill();
  for (const other of others) await other.run(`${one}\nmeter.flush(60)`);
  await poll(() => segmentsIn(spool).length === 0);
  const stats = await Promise.all(others.map((other) => other.run("meter.close(60)")));
  assert.deepEqual(stats.reduce((sum, { sent }) => sum + sent, 0), 100 + 100 + 2 + 101, "adopted once");
  for (const other of others) assert.equal(await other.end(), 0);
  assert.deepEqual(await usageOf(test, key), { requests: [303, 303] });
}

/** A server in the style of Gunicorn: a master with workers that fork from it, all with one meter. */
const prefork = `${tenth}
workers = []
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        for _ in range(50): ${one}
        closed = meter.close()
        os._exit(0 if closed and meter.stats().sent == 50 else 1)
    workers.append(pid)
result = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in workers]
${one}`;

async function survivesForks({ line, key, test, folder: spool }: Scene): Promise<void> {
  for (const options of [{}, { spool }]) {
    const meter = drive({ url: line.url, api_key: key, flush_interval: 0.02, ...options });
    // The lock is in use when the process forks.
    await meter.run(`is_busy = True
def keep_busy():
    while is_busy: meter.record("tiles", "busy"); time.sleep(0.0005)
busy = threading.Thread(target=keep_busy); busy.start()`);
    assert.deepEqual((await meter.run(prefork)).result, [0, 0, 0]);
    await meter.run("is_busy = False\nbusy.join()\nmeter.close(60)");
    assert.equal(await meter.end(), 0);
  }
  assert.deepEqual((await usageOf(test, key))["requests"], [2 * (101 + 150), 2 * (101 + 150)]);
  assert.deepEqual(segmentsIn(spool), []);
}

async function recordsFromThreads({ line, key, test, folder: spool }: Scene): Promise<void> {
  const meter = drive({ url: line.url, api_key: key, spool, flush_interval: 0.01 });
  const { recorded, sent, result } = await meter.run(`sys.setswitchinterval(1e-5)
def record():
    for n in range(300): meter.record("tiles", "requests", 0.5); n % 100 or meter.sync()
threads = [threading.Thread(target=record) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
result = meter.flush(60)`);
  assert.deepEqual([recorded, sent, result], [2400, 2400, true]);
  assert.equal(await meter.end(), 0);
  assert.deepEqual(await usageOf(test, key), { requests: [1200, 2400] });
}

async function adoptsManyFiles({ line, key, test, folder: spool }: Scene): Promise<void> {
  for (let n = 0; n < 12; n++) {
    Deno.writeTextFileSync(`${spool}/left-${n}.jsonl`, leftLine(`${n}`, { metric: "requests", quantity: 2 }));
  }
  const meter = drive({ url: nowhere, api_key: key });
  await meter.run(`gatehouse.OPEN_SEGMENTS_MAX = 5
waiting = Meter(api_key="${key}", url="http://127.0.0.1:1", spool="${spool}", on_problem=lambda _: None)`);
  await poll(async () => (await meter.run("result = waiting.stats().adopted")).result === 5);
  await meter.run(`waiting.close(0)
other = Meter(api_key="${key}", url="${line.url}", spool="${spool}")`);
  await poll(() => segmentsIn(spool).length === 0);
  assert.equal((await meter.run("result = other.stats().sent")).result, 12);
  assert.equal(await meter.end(), 0);
  assert.deepEqual(await usageOf(test, key), { requests: [24, 12] });
}

/** Others adopt the records that a closed meter could not send, while its process continues. */
async function leavesTheRest(scene: Scene): Promise<void> {
  const { key, test, folder: spool } = scene;
  const meter = drive({ url: nowhere, api_key: key, spool });
  const broken = `append = meter._append
def fail(*_): raise OSError("broken")
meter._append = fail`;
  const { dropped, waiting } = await meter.run(
    `${tenth}\n${broken}\n${tenth}\nmeter._append = append\nmeter.close(0.1)`,
  );
  assert.deepEqual([waiting, dropped], [200, 0]);
  const next = await drain(scene);
  assert.equal((await next.run("")).sent, 200);
  assert.equal(await next.end(), 0);
  assert.equal(await meter.end(), 0);
  assert.deepEqual(await usageOf(test, key), { requests: [200, 200] });
}

/** The last records are sent at the end of the interpreter and, if asked for, on SIGTERM. */
async function closesAtTheEnd({ line, key, test, folder: spool }: Scene): Promise<void> {
  for (const options of [{}, { spool }]) {
    const meter = drive({ url: line.url, api_key: key, flush_interval: 60, ...options });
    await meter.run(one);
    assert.equal(await meter.end(), 0);
    const ended = drive({ url: line.url, api_key: key, flush_interval: 60, handle_sigterm: true });
    await ended.run(one);
    await ended.kill("SIGTERM");
  }
  assert.deepEqual(await usageOf(test, key), { requests: [4, 4] });
  assert.deepEqual(segmentsIn(spool), []);
}

/** Misuse, a full queue and an absent Gatehouse raise nothing, use bounded memory and time, and are counted. */
async function neverRaises({ key }: Scene): Promise<void> {
  const meter = drive({ url: nowhere, api_key: key, waiting_records_max: 5 });
  const misuse = await meter.run(`class Bad:
    def __str__(self): raise RuntimeError("none")
meter.record("tiles", "misused", timestamp="yesterday")
meter.record("tiles", "misused", timestamp=Bad())
meter.record(Bad(), "misused")
meter.record("tiles", "misused", Bad())
meter.record("tiles", "misused", 10**400)
meter.record("tiles", "misused", properties=Bad())
meter.record("tiles", "misused", properties={"a": Bad()})
meter.record("tiles", "\\ud800")
meter.record("tiles", "misused", idempotency_key=1)
meter.record("tiles", "misused", organization_id="org_1")
meter.record("tiles", "m" * 70_000)`);
  assert.deepEqual([misuse.recorded, misuse.rejected, misuse.waiting, misuse.result], [11, 11, 0, null]);
  const full = await meter.run(`for _ in range(1_000): ${one}`);
  assert.deepEqual([full.waiting, full.dropped, full.result], [5, 995, null]);
  assert.equal((await meter.run("result = meter.flush(0.05)")).result, false);
  assert.equal((await meter.run("result = meter.sync()")).result, false);
  const { dropped: lost, waiting, result } = await meter.run("result = meter.close(0.3)");
  assert.deepEqual([lost, waiting, result], [1000, 0, false]);
  assert.equal((await meter.run(one)).dropped, 1001);
  assert.equal(await meter.end(), 0);
  const dropped = meter.problems.filter(({ kind }) => kind === "dropped");
  assert.equal(dropped.reduce((sum, { count }) => sum + count, 0), 1000);
  // There is a report per attempt, not per record.
  assert.ok(meter.problems.length < 20, `${meter.problems.length} reports`);
}

/** The defaults from the environment, and mistakes that must not wait until the first record. */
async function needsAnAddressAndACredential({ line, key, test }: Scene): Promise<void> {
  const env = { GATEHOUSE_URL: line.url, GATEHOUSE_KEY: key };
  const meter = drive({}, { env });
  await meter.run(`def refused(**options):
    try:
        Meter(**options).close()
    except ValueError as error:
        return str(error)`);
  const urls = ["auth.example.com", "https://me:secret@auth.example.com", "https://auth.example.com/?a=b"];
  const credentials = ['api_key="a", operator_token="b"', 'api_key="a\\nb"'];
  for (const options of [...urls.map((url) => `url="${url}"`), ...credentials]) {
    const { result } = await meter.run(`result = refused(${options})`);
    assert.equal(typeof result, "string", options);
    assert.doesNotMatch(String(result), /a\nb|secret/);
  }
  await meter.run('with Meter() as other: other.record("tiles", "requests")');
  assert.equal(await meter.end(), 0);
  assert.deepEqual(await usageOf(test, key), { requests: [1, 1] });
}

async function takesNumbers({ line, key, test }: Scene): Promise<void> {
  const meter = drive({ url: line.url, api_key: key });
  const wrong = ["-1", "float('nan')", "float('inf')", "2**53", "'1'", "None"];
  const quantities = ["Decimal('1.5')", "1e-6", "2.5", "True", ...wrong];
  for (const [n, quantity] of quantities.entries()) {
    await meter.run(`meter.record("tiles", "m${n}", ${quantity})`);
  }
  const { rejected } = await meter.run("meter.close(60)");
  assert.equal(rejected, 7);
  assert.equal(await meter.end(), 0);
  assert.deepEqual(await usageOf(test, key), { m0: [1.5, 1], m1: [0.000001, 1], m2: [2.5, 1] });
}

/** Even if the first thread reports a problem before the other has started. */
async function startsOneSender({ folder: spool }: Scene): Promise<void> {
  // Not even root may open this link to write.
  await Deno.symlink("/proc/sys/kernel/ostype", `${spool}/a.jsonl`);
  const meter = drive({ url: nowhere, api_key: "key" });
  const { result } = await meter.run(`start = threading.Thread.start
threading.Thread.start = lambda thread: (start(thread), time.sleep(0.3))
Meter(url="${nowhere}", api_key="key", spool="${spool}", on_problem=lambda _: None)
result = sum(thread.name == "gatehouse-meter" for thread in threading.enumerate())`);
  assert.equal(result, 2);
  await meter.kill();
}

export const pythonSteps: MeterSteps = {
  ...spoolSteps,
  "gatehouse.py adopts the files of ended processes once, and none of running ones": sharesAFolder,
  "gatehouse.py adopts many files without opening all of them": adoptsManyFiles,
  "gatehouse.py sends once from each process after a fork": survivesForks,
  "gatehouse.py takes records from threads at the same time": recordsFromThreads,
  "gatehouse.py leaves the rest to others when it is closed": leavesTheRest,
  "gatehouse.py sends the rest when the process ends": closesAtTheEnd,
  "gatehouse.py never raises in the application": neverRaises,
  "gatehouse.py takes its settings from the environment": needsAnAddressAndACredential,
  "gatehouse.py takes every kind of number, and rejects what is none": takesNumbers,
  "gatehouse.py has one thread that sends": startsOneSender,
};
