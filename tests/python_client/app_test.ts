// The Python parts of docs/metering.md: the download, the first lines and the application.
import assert from "node:assert/strict";
import { readExamples, readGuide, runLines, startCommand } from "../support/runner/guides.ts";
import { poll } from "../support/runner/poll.ts";
import { isReady, killProgram, type Program, startProgram } from "../support/process/program.ts";
import { drive, newKey, newLine, python, sumsOf } from "../support/client/python_meter.ts";
import { freePort } from "../support/database/sqld.ts";

const block = await readGuide("metering.md");
const source = await readExamples("metering");

/** @returns A command of the guide with the Python of the tests. */
const inDebian = (command: string) => command.replace("python3", python);

async function recordsFirstLines(program: Program, folder: string): Promise<void> {
  const key = await newKey(program.baseUrl, "first-lines");
  const lines = block("record with Python").replace("https://auth.example.com", program.baseUrl)
    .replace("service_live_…", key);
  await Deno.writeTextFile(`${folder}/first.py`, lines);
  await runLines(inDebian("python3 first.py"), { cwd: folder });
  assert.deepEqual(await sumsOf(program, key), { bytes: [17_250, 1], requests: [1, 1] });
}

/** The application is used while Gatehouse is away, killed, started again, and stopped. */
async function metersRequests(program: Program, folder: string): Promise<void> {
  const key = await newKey(program.baseUrl, "python-app");
  const line = newLine(program);
  const port = String(freePort());
  const env = { GATEHOUSE_URL: line.url, GATEHOUSE_KEY: key, PORT: port, PYTHONDONTWRITEBYTECODE: "1" };
  const use = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`).catch(() => null);
    return await response?.text() === "Here is your tile.\n";
  };
  await Deno.writeTextFile(`${folder}/app.py`, source("app.py"));
  const start = () => startCommand(inDebian(block("start app.py")), { cwd: folder, env });
  let app = start();
  try {
    await poll(use);
    for (let i = 0; i < 2; i++) assert.ok(await use());
    await app.stop("SIGKILL");
    line.open();
    app = start();
    await poll(use);
    assert.ok(await use());
    assert.equal(await app.stop(), 0, app.output());
  } finally {
    await app.stop("SIGKILL");
    await line.close();
  }
  assert.deepEqual(await sumsOf(program, key), { requests: [5, 5] }, app.output());
}

Deno.test("the Python guide downloads a client that records everything once", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-python-app-" });
  const program = startProgram({ folder, env: { HTTP_THREADS: "1" } });
  try {
    await isReady(program);
    const download = block("download gatehouse.py").replace("https://auth.example.com", program.baseUrl);
    await runLines(download, { cwd: folder });
    await recordsFirstLines(program, folder);
    await metersRequests(program, folder);
  } finally {
    await killProgram(program);
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a Python meter has one thread that sends, even if that one reports a problem before the other has started", async () => {
  const spool = await Deno.makeTempDir({ prefix: "gatehouse-python-threads-" });
  // Not even root may open this link to write.
  await Deno.symlink("/proc/sys/kernel/ostype", `${spool}/a.jsonl`);
  const meter = drive({ url: "http://127.0.0.1:1", api_key: "key" });
  try {
    const { result } = await meter.run(`start = threading.Thread.start
threading.Thread.start = lambda thread: (start(thread), time.sleep(0.3))
Meter(url="http://127.0.0.1:1", api_key="key", spool="${spool}", on_problem=lambda _: None)
result = sum(thread.name == "gatehouse-meter" for thread in threading.enumerate())`);
    assert.equal(result, 2);
  } finally {
    await meter.kill();
    await Deno.remove(spool, { recursive: true });
  }
});
