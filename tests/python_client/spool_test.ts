// The spool of gatehouse.py: killed processes, forks, and folders that several processes share.
import assert from "node:assert/strict";
import { segmentsIn } from "../support/client/meter_folder.ts";
import { poll } from "../support/runner/poll.ts";
import {
  drain,
  drive,
  linesOf,
  type MeterScene,
  newLine,
  python,
  pythonPackage,
  pythonTest,
  sumsOf,
} from "../support/client/python_meter.ts";

const one = 'meter.record("tiles", "requests")';
const tenth = `for _ in range(100): ${one}`;

async function survivesAKill(scene: MeterScene): Promise<void> {
  const { program, key, spool } = scene;
  const { url } = newLine(program);
  const meter = drive({ url, api_key: key, spool });
  const { waiting } = await meter.run(`${tenth}\nresult = meter.sync()`);
  assert.equal(waiting, 100);
  await meter.kill();
  assert.equal(linesOf(spool).length, 100);
  const next = await drain(scene);
  const { recorded, adopted, sent } = await next.run("");
  assert.deepEqual([recorded, adopted, sent], [0, 100, 100]);
  assert.equal(await next.end(), 0);
  assert.deepEqual(await sumsOf(program, key), { requests: [100, 100] });
}

/** A product that meters each request before it responds. */
const product = `import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from gatehouse import Meter
meter = Meter(spool=os.environ["SPOOL"], flush_interval=0.01)
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        meter.record("tiles", "requests", idempotency_key=self.path)
        self.send_response(204)
        self.end_headers()
    def log_message(self, *_):
        pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
`;

/** Every request that got a response counts, though the product is killed again and again and responses are lost. */
async function countsAnsweredRequests(scene: MeterScene): Promise<void> {
  const { program, key, spool } = scene;
  let requests = 0;
  const line = newLine(program, async (_line, body) => {
    if (requests++ % 3 === 0) return null;
    const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
    const recorded = await fetch(`${program.baseUrl}/api/v1/usage/batch`, { method: "POST", headers, body });
    await recorded.body?.cancel();
    return new Response(null, { status: 503 });
  });
  line.open();
  const sent: string[] = [];
  const answered: string[] = [];
  for (let round = 0; round < 3; round++) {
    const env = {
      PYTHONPATH: pythonPackage,
      PYTHONDONTWRITEBYTECODE: "1",
      GATEHOUSE_URL: line.url,
      GATEHOUSE_KEY: key,
      SPOOL: spool,
    };
    const child = new Deno.Command(python, { args: ["-c", product], env, stdout: "piped", stderr: "null" })
      .spawn();
    const reader = child.stdout.getReader();
    const port = new TextDecoder().decode((await reader.read()).value).trim();
    const before = answered.length;
    let isOver = false;
    const visitors = Array.from({ length: 4 }, async (_, visitor) => {
      for (let n = 0; !isOver; n++) {
        const path = `/${round}-${visitor}-${n}`;
        sent.push(path);
        const response = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => null);
        if (response?.status === 204) answered.push(path);
        await response?.body?.cancel();
      }
    });
    await poll(() => answered.length >= before + 100);
    child.kill("SIGKILL");
    await child.status;
    isOver = true;
    await Promise.all(visitors);
    await reader.cancel();
  }
  await line.close();
  const last = await drain(scene);
  assert.equal(await last.end(), 0);
  const { requests: [sum = 0, count = 0] = [] } = await sumsOf(program, key);
  assert.equal(sum, count);
  assert.ok(
    count >= answered.length && count <= sent.length,
    `${answered.length} ≤ ${count} ≤ ${sent.length}`,
  );
}

async function sharesAFolder(scene: MeterScene): Promise<void> {
  const { program, key, spool } = scene;
  const { url } = newLine(program);
  const first = drive({ url, api_key: key, spool });
  await first.run(tenth);
  const others = await Promise.all([drain, drain].map(async () => {
    const options = { url: program.baseUrl, api_key: key, spool, flush_interval: 0.02 };
    const meter = drive(options);
    await meter.run(`for _ in range(100): ${one}\nmeter.flush()`);
    return meter;
  }));
  // The files of a process that runs are its own, also of a second meter in the same process.
  const second = `other = Meter(url="${url}", api_key="${key}", spool="${spool}", on_problem=lambda _: None)`;
  await first.run(`${second}\nother.record("tiles", "requests")\nresult = other.flush(0.2)`);
  assert.equal(linesOf(spool).length, 101);
  for (const other of others) {
    assert.equal((await other.run("")).sent, 100);
    // Look for abandoned files now instead of in a minute.
    await other.run("gatehouse.HOUSEKEEPING_SECONDS = 0.05\nmeter._housekeeping_at = 0");
  }
  await first.kill();
  for (const other of others) await other.run(`${one}\nmeter.flush()`);
  await poll(() => segmentsIn(spool).length === 0);
  const stats = await Promise.all(others.map((other) => other.run("meter.close()")));
  assert.deepEqual(stats.reduce((sum, { sent }) => sum + sent, 0), 100 + 100 + 2 + 101, "adopted once");
  for (const other of others) assert.equal(await other.end(), 0);
  assert.deepEqual(await sumsOf(program, key), { requests: [303, 303] });
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

async function survivesForks({ program, key, spool }: MeterScene): Promise<void> {
  for (const options of [{}, { spool }]) {
    const meter = drive({ url: program.baseUrl, api_key: key, flush_interval: 0.02, ...options });
    // The lock is in use when the process forks.
    await meter.run(`is_busy = True
def keep_busy():
    while is_busy: meter.record("tiles", "busy"); time.sleep(0.0005)
busy = threading.Thread(target=keep_busy); busy.start()`);
    assert.deepEqual((await meter.run(prefork)).result, [0, 0, 0]);
    await meter.run("is_busy = False\nbusy.join()\nmeter.close()");
    assert.equal(await meter.end(), 0);
  }
  assert.deepEqual((await sumsOf(program, key))["requests"], [2 * (101 + 150), 2 * (101 + 150)]);
  assert.deepEqual(segmentsIn(spool), []);
}

async function recordsFromThreads({ program, key, spool }: MeterScene): Promise<void> {
  const meter = drive({ url: program.baseUrl, api_key: key, spool, flush_interval: 0.01 });
  const { recorded, sent, result } = await meter.run(`sys.setswitchinterval(1e-5)
def record():
    for n in range(300): meter.record("tiles", "requests", 0.5); n % 100 or meter.sync()
threads = [threading.Thread(target=record) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
result = meter.flush()`);
  assert.deepEqual([recorded, sent, result], [2400, 2400, true]);
  assert.equal(await meter.end(), 0);
  assert.deepEqual(await sumsOf(program, key), { requests: [1200, 2400] });
}

/** A process that seems to be gone, such as after a suspension, continues in a new file. */
async function survivesATakeover(scene: MeterScene): Promise<void> {
  const { program, key, spool } = scene;
  const meter = drive({ url: newLine(program).url, api_key: key, spool });
  await meter.run(one);
  const longAgo = new Date(Date.now() - 11 * 60_000);
  for (const name of segmentsIn(spool)) Deno.utimeSync(`${spool}/${name}`, longAgo, longAgo);
  const next = await drain(scene);
  assert.equal((await meter.run(`${one}\nresult = meter.sync()`)).waiting, 2);
  await meter.kill();
  assert.equal(linesOf(spool).length, 1);
  assert.equal(await next.end(), 0);
  assert.equal(await (await drain(scene)).end(), 0);
  assert.deepEqual(await sumsOf(program, key), { requests: [2, 2] });
}

/** Many files are adopted bit by bit. */
async function adoptsManyFiles({ program, key, spool }: MeterScene): Promise<void> {
  for (let n = 0; n < 12; n++) {
    const record = { productSlug: "tiles", metric: "requests", quantity: 2, idempotencyKey: `${n}` };
    const line = JSON.stringify({ ...record, timestamp: new Date().toISOString() });
    Deno.writeTextFileSync(`${spool}/left-${n}.jsonl`, line);
  }
  const meter = drive({ url: newLine(program).url, api_key: key });
  await meter.run(`gatehouse.OPEN_SEGMENTS_MAX = 5
waiting = Meter(api_key="${key}", url="http://127.0.0.1:1", spool="${spool}", on_problem=lambda _: None)`);
  await poll(async () => (await meter.run("result = waiting.stats().adopted")).result === 5);
  await meter.run(`waiting.close(0)
other = Meter(api_key="${key}", url="${program.baseUrl}", spool="${spool}")`);
  await poll(() => segmentsIn(spool).length === 0);
  assert.equal((await meter.run("result = other.stats().sent")).result, 12);
  assert.equal(await meter.end(), 0);
  assert.deepEqual(await sumsOf(program, key), { requests: [24, 12] });
}

/** Rejected records are in a file; under another name, they are sent again. */
async function keepsRejected(scene: MeterScene): Promise<void> {
  const { program, key, spool } = scene;
  const meter = drive({ url: program.baseUrl, api_key: key, spool });
  const names = `for n in range(3): meter.record("tiles", f"metric{n % 2}{'!' if n % 2 else ''}")`;
  const { rejected, sent } = await meter.run(`${names}\nmeter.close()`);
  assert.deepEqual([rejected, sent], [1, 2]);
  assert.equal(await meter.end(), 0);
  assert.deepEqual(segmentsIn(spool), ["rejected.jsonl"]);
  assert.equal((Deno.statSync(`${spool}/rejected.jsonl`).mode ?? 0) & 0o777, 0o600);
  const text = Deno.readTextFileSync(`${spool}/rejected.jsonl`);
  Deno.writeTextFileSync(`${spool}/again.jsonl`, text.replace("!", ""));
  const next = await drain(scene);
  assert.equal(await next.end(), 0);
  assert.deepEqual(await sumsOf(program, key), { metric0: [2, 2], metric1: [1, 1] });
}

async function boundsTheSpool({ program, key, spool }: MeterScene): Promise<void> {
  const bounds = { spool_bytes_max: 3_000 };
  const meter = drive({ url: newLine(program).url, api_key: key, spool, ...bounds });
  const { waiting, dropped } = await meter.run(tenth);
  assert.equal(waiting + dropped, 100);
  assert.ok(waiting > 10 && waiting < 30, String(waiting));
  await meter.kill();
  assert.equal(linesOf(spool).length, waiting);
}

/** What a closed meter could not send is adopted by others while its process continues. */
async function leavesTheRest(scene: MeterScene): Promise<void> {
  const { program, key, spool } = scene;
  const meter = drive({ url: newLine(program).url, api_key: key, spool });
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
  assert.deepEqual(await sumsOf(program, key), { requests: [200, 200] });
}

/** What was recorded last is sent at the end of the interpreter and, when asked, on SIGTERM. */
async function closesAtTheEnd({ program, key, spool }: MeterScene): Promise<void> {
  for (const options of [{}, { spool }]) {
    const meter = drive({ url: program.baseUrl, api_key: key, flush_interval: 60, ...options });
    await meter.run(one);
    assert.equal(await meter.end(), 0);
    const ended = drive({ url: program.baseUrl, api_key: key, flush_interval: 60, handle_sigterm: true });
    await ended.run(one);
    await ended.kill("SIGTERM");
  }
  assert.deepEqual(await sumsOf(program, key), { requests: [4, 4] });
  assert.deepEqual(segmentsIn(spool), []);
}

const promises = {
  "keeps records of a killed process": survivesAKill,
  "counts each answered request of a product that is killed under load": countsAnsweredRequests,
  "adopts the files of ended processes once, and none of running ones": sharesAFolder,
  "keeps records whose file another process took over": survivesATakeover,
  "adopts many files without opening all of them": adoptsManyFiles,
  "sends once from each process after a fork": survivesForks,
  "takes records from threads at the same time": recordsFromThreads,
  "keeps rejected records, and sends them again when asked": keepsRejected,
  "drops what doesn't fit into the spool": boundsTheSpool,
  "leaves the rest to others when it is closed": leavesTheRest,
  "sends the rest when the process ends": closesAtTheEnd,
};

pythonTest("gatehouse.py loses no record of its spool", promises);
