// The clients of examples/metering/ and the commands of docs/metering.md: each meters an application over a connection
// that rejects requests, loses responses and breaks, and every record counts once.
import assert from "node:assert/strict";
import { readExamples, readGuide, runLines, type RunningCommand, startCommand } from "../support/guides.ts";
import { cookieOf, testPassword } from "../support/app.ts";
import { sendJson } from "../support/journey.ts";
import { poll } from "../support/poll.ts";
import { isReady, killProgram, type Program, startProgram } from "../support/program.ts";
import { cachedPackage, freePort } from "../support/sqld.ts";
import { startTcpProxy } from "../support/tcp_proxy.ts";

const block = await readGuide("metering.md");
const source = await readExamples("metering");
const parallel = { sanitizeOps: false, sanitizeResources: false, sanitizeExit: false };

/** Creates an organization. @returns Its API key. */
async function newKey(baseUrl: string, name: string): Promise<string> {
  const json = { name, email: `${name}@example.com`, password: testPassword };
  const signUp = await sendJson(baseUrl, "/api/auth/sign-up", { json });
  assert.equal(signUp.status, 201, await signUp.text());
  const created = await sendJson(baseUrl, "/api/portal/api-keys", {
    cookie: cookieOf(signUp),
    json: { name },
  });
  return (await created.json()).fullKey;
}

interface BadLine {
  readonly url: string;
  /** The batches received, each with its outcome and its time in milliseconds since 1970. */
  readonly batches: readonly { readonly fate: string; readonly at: number }[];
  close(): Promise<void>;
}

/** Starts a proxy that rejects the first two batches, and forwards the third but loses its response. */
function startBadLine(program: Program): BadLine {
  const refusals = [503, 429];
  const batches: { fate: string; at: number }[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    const isBatch = pathname === "/api/v1/usage/batch";
    const body = method === "POST" ? await request.bytes() : null;
    const status = isBatch ? refusals[batches.length] : undefined;
    const fate = status !== undefined ? String(status) : batches.length === 2 ? "lost" : "answered";
    if (isBatch) batches.push({ fate, at: Date.now() });
    if (status !== undefined) {
      return Response.json({ error: {} }, { status, headers: { "Retry-After": status === 429 ? "1" : "0" } });
    }
    const response = await fetch(program.baseUrl + pathname + search, { method, headers, body });
    const sent = new Response(await response.bytes(), response);
    // Other requests share the connection: only this response is lost.
    if (isBatch && fate === "lost") sent.headers.set("x-fate", "lost");
    return sent;
  });
  const line = startTcpProxy({ targetPort: server.addr.port });
  line.loseAnswers({ count: 1, answersWith: "x-fate: lost" });
  return {
    url: line.url,
    batches,
    async close() {
      await line.close();
      await server.shutdown();
    },
  };
}

/** @returns An organization's sums and counts of this month, by metric. */
async function sumsOf(program: Program, key: string): Promise<Record<string, [sum: number, count: number]>> {
  const response = await sendJson(program.baseUrl, "/api/v1/usage?window=month&groupBy=metric", {
    apiKey: key,
  });
  const { data } = await response.json() as { data: { metric: string; sum: number; count: number }[] };
  return Object.fromEntries(data.map(({ metric, sum, count }) => [metric, [sum, count]]));
}

/** Starts an application of the guide, uses it five times, stops it, and checks its usage. */
async function meters(
  program: Program,
  { name, folder, command }: { name: string; folder: string; command: string },
): Promise<void> {
  const key = await newKey(program.baseUrl, name);
  const line = startBadLine(program);
  const port = String(freePort());
  const env = { GATEHOUSE_URL: line.url, GATEHOUSE_KEY: key, PORT: port };
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => null);
    return response?.ok ? await response.text() : await response?.body?.cancel() ?? null;
  };
  const app: RunningCommand = startCommand(command, { cwd: folder, env });
  try {
    await poll(async () => (await get("/usage"))?.trim() === "[]");
    for (let i = 0; i < 3; i++) assert.equal(await get("/"), "Here is your tile.\n");
    // The application reads its own sums back.
    await poll(async () => (await get("/usage"))?.includes('"count"') ?? false);
    await poll(() => line.batches.length >= 4);
    for (let i = 0; i < 2; i++) assert.equal(await get("/"), "Here is your tile.\n");
    // Stop before the application flushes by itself.
    assert.equal(await app.stop(), 0, app.output());
  } catch (error) {
    throw new Error(`${name}: ${app.output()}`, { cause: error });
  } finally {
    await app.stop();
    await line.close();
  }
  assert.deepEqual(await sumsOf(program, key), { requests: [5, 5] }, app.output());
  const [refused, limited, lost, again] = line.batches;
  assert.deepEqual([refused, limited, lost, again].map((batch) => batch?.fate), [
    "503",
    "429",
    "lost",
    "answered",
  ]);
  // A timer may fire a millisecond early by the wall clock.
  assert.ok((lost?.at ?? 0) - (limited?.at ?? 0) >= 990, "before Retry-After");
}

/** Strips types, for versions of Node.js that can't. */
async function forNode(folder: string, names: readonly string[]): Promise<void> {
  const amaro = `${await cachedPackage("amaro", "1.2.1")}/dist/index.js`;
  const script = `const { transformSync } = require(${JSON.stringify(amaro)});
    let text = ""; process.stdin.on("data", (part) => text += part);
    process.stdin.on("end", () => process.stdout.write(transformSync(text, { mode: "strip-only" }).code));`;
  for (const name of names) {
    const stripped = await runLines('node -e "$SCRIPT"', {
      cwd: folder,
      env: { SCRIPT: script },
      stdin: source(name),
    });
    // These versions don't accept the file extension either.
    await Deno.writeTextFile(
      `${folder}/${name.replace(/ts$/, "mjs")}`,
      stripped.replace("./meter.ts", "./meter.mjs"),
    );
  }
}

Deno.test("the metering clients record everything once, over a bad connection and at exit", async (t) => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-metering-" });
  const program = startProgram({ folder });
  try {
    await isReady(program);
    for (const name of ["meter.ts", "app.ts", "meter.py", "app.py"]) {
      await Deno.writeTextFile(`${folder}/${name}`, source(name));
    }
    const version = await runLines("node --version", { cwd: folder });
    const [major = 0, minor = 0] = version.slice(1).split(".").map(Number);
    const isStripping = major > 22 || (major === 22 && minor >= 18);
    if (!isStripping) await forNode(folder, ["meter.ts", "app.ts"]);
    const startNode = block("start app.ts with Node.js");
    const apps = [
      ["deno", block("start app.ts with Deno")],
      ["node", isStripping ? startNode : startNode.replace("app.ts", "app.mjs")],
      ["python", block("start app.py")],
    ] as const;
    await Promise.all([
      ...apps.map(([name, command]) =>
        t.step({ name, ...parallel, fn: () => meters(program, { name, folder, command }) })
      ),
      t.step({
        name: "the TypeScript client has no type errors",
        ...parallel,
        fn: async () =>
          void await runLines(`"$DENO" check app.ts`, { cwd: folder, env: { DENO: Deno.execPath() } }),
      }),
      t.step({
        name: "the TypeScript client leaves out one invalid record",
        ...parallel,
        fn: () => keepsOthers(program, folder, "ts"),
      }),
      t.step({
        name: "the Python client leaves out one invalid record",
        ...parallel,
        fn: () => keepsOthers(program, folder, "py"),
      }),
      t.step({ name: "curl", ...parallel, fn: () => countsWithCurl(program, folder) }),
    ]);
  } finally {
    await killProgram(program);
    await Deno.remove(folder, { recursive: true });
  }
});

const badRecords = {
  ts: `import { Meter } from "./meter.ts";
    const at = new Date();
    const meter = new Meter({ address: Deno.env.get("GATEHOUSE_URL")!, apiKey: Deno.env.get("GATEHOUSE_KEY")! });
    for (let i = 0; i < 2; i++) meter.record("tiles", "jobs", { id: "job-1", at, quantity: 2 });
    meter.record("tiles", "no metric!");
    meter.record("tiles", "jobs");
    await meter.close();`,
  py: `import os
from datetime import datetime, timezone
from meter import Meter
at = datetime.now(timezone.utc)
meter = Meter(os.environ["GATEHOUSE_URL"], os.environ["GATEHOUSE_KEY"])
for _ in range(2): meter.record("tiles", "jobs", id="job-1", at=at, quantity=2)
meter.record("tiles", "no metric!")
meter.record("tiles", "jobs")
`,
};

/** A record that is rejected permanently is left out, and an id that is recorded twice counts once. */
async function keepsOthers(program: Program, folder: string, language: "ts" | "py"): Promise<void> {
  const key = await newKey(program.baseUrl, `bad-${language}`);
  await Deno.writeTextFile(`${folder}/bad.${language}`, badRecords[language]);
  const command = language === "ts" ? '"$DENO" run --allow-net --allow-env bad.ts' : "python3 bad.py";
  await runLines(command, {
    cwd: folder,
    env: { GATEHOUSE_URL: program.baseUrl, GATEHOUSE_KEY: key, DENO: Deno.execPath() },
  });
  assert.deepEqual(await sumsOf(program, key), { jobs: [3, 2] });
}

/** The curl scripts count once when they run twice, a batch is rejected, or a response is lost. */
async function countsWithCurl(program: Program, folder: string): Promise<void> {
  const key = await newKey(program.baseUrl, "curl");
  const cwd = await Deno.makeTempDir({ dir: folder });
  const line = startBadLine(program);
  const env = { GATEHOUSE_URL: line.url, GATEHOUSE_KEY: key };
  try {
    await runLines(block("curl, one record"), { cwd, env });
    await runLines(block("curl, one record"), { cwd, env });
    assert.equal(JSON.parse(await Deno.readTextFile(`${cwd}/response.json`)).duplicate, true);
    await runLines(block("curl, many records"), { cwd, env });
    assert.equal(await Deno.readTextFile(`${cwd}/response.json`), '{"accepted":0,"duplicates":2}');
    await runLines(block("curl, reading back"), { cwd, env });
    // A rejected request fails the script and prints why.
    const wrongKey = { GATEHOUSE_URL: program.baseUrl, GATEHOUSE_KEY: "service_live_x" };
    for (const name of ["curl, one record", "curl, many records", "curl, reading back"]) {
      const refused = runLines(block(name).replaceAll("sums.json", "refused.json"), { cwd, env: wrongKey });
      await assert.rejects(refused, /invalid_api_key/, name);
    }
    const { data } = JSON.parse(await Deno.readTextFile(`${cwd}/sums.json`)) as {
      data: { metric: string; sum: number; count: number }[];
    };
    assert.deepEqual(data.map(({ metric, sum, count }) => [metric, sum, count]), [
      ["exports", 12, 1],
      ["orders", 1, 1],
      ["uploads", 3.5, 1],
    ]);
  } finally {
    await line.close();
  }
  assert.deepEqual(line.batches.map(({ fate }) => fate), ["503", "429", "lost", "answered"]);
}
