// The clients of examples/metering/ under faults of Gatehouse, the network and the application: recording never throws,
// the queue is bounded and resent, and losses are counted and reported.
import assert from "node:assert/strict";
import { readExamples } from "../support/guides.ts";
import { cookieOf, testPassword } from "../support/app.ts";
import { sendJson } from "../support/journey.ts";
import { poll } from "../support/poll.ts";
import { isReady, killProgram, type Program, startProgram } from "../support/program.ts";
import { freePort } from "../support/sqld.ts";

const source = await readExamples("metering");

/** Programs that drive a client: they read a command per line and print JSON per line. Their logging always throws. */
const drivers = {
  ts: `import process from "node:process";
    import { createInterface } from "node:readline";
    import { Meter } from "./meter.ts";
    const say = (...what: unknown[]) => console.log(JSON.stringify(what));
    const [address, apiKey, flushIntervalMs] = Deno.args;
    const meter = new Meter({ address, apiKey, flushIntervalMs: Number(flushIntervalMs), report(problem) {
      say("report", problem);
      throw new Error("a broken log");
    } });
    for await (const line of createInterface({ input: process.stdin })) {
      const { act, metric, quantity, id, count, timeoutMs } = JSON.parse(line);
      if (act === "record") for (let n = 0; n < count; n++) {
        meter.record("tiles", metric, { quantity, id: id + (count > 1 ? n : ""), at: new Date() });
      }
      if (act === "misuse") {
        meter.record("tiles", "misused", { at: new Date(NaN) });
        meter.record("tiles", "misused", { quantity: 1n as never });
        meter.record({ toJSON() { throw new Error("none"); } } as never, "misused");
      }
      if (act === "flush") await meter.flush();
      if (act === "close") await meter.close(timeoutMs);
      say(act, meter.counts);
    }`,
  py: `import json
import sys
from datetime import datetime, timezone
from meter import Meter

def say(*what):
    print(json.dumps(what), flush=True)

def report(problem):
    say("report", problem)
    raise RuntimeError("a broken log")

address, api_key, flush_ms = sys.argv[1:]
meter = Meter(address, api_key, flush_seconds=float(flush_ms) / 1000, report=report)
for line in sys.stdin:
    command = json.loads(line)
    act = command["act"]
    if act == "record":
        for n in range(command["count"]):
            id = command["id"] + (str(n) if command["count"] > 1 else "")
            meter.record("tiles", command["metric"], command["quantity"], id, datetime.now(timezone.utc))
    if act == "misuse":
        meter.record("tiles", "misused", at="yesterday")
        meter.record("tiles", "misused", quantity=float("nan"))
        meter.record(object(), "misused")
    if act == "flush":
        meter.flush()
    if act == "close":
        meter.close(command["timeoutMs"] / 1000)
    say(act, meter.counts())
`,
} as const;
type Language = keyof typeof drivers;

/** Constants of the clients that tests reduce to run faster. */
const pauses = {
  ts: ["pauseMaxMs = 60_000", "pauseMaxMs = 50"],
  py: ["PAUSE_MAX_SECONDS = 60", "PAUSE_MAX_SECONDS = 0.05"],
};
const queue = {
  ts: ["waitingRecordsMax = 100_000", "waitingRecordsMax = 5"],
  py: ["WAITING_RECORDS_MAX = 100_000", "WAITING_RECORDS_MAX = 5"],
};

interface Command {
  readonly act: "record" | "misuse" | "flush" | "close";
  readonly metric?: string;
  readonly quantity?: number;
  readonly id?: string;
  readonly count?: number;
  readonly timeoutMs?: number;
}

interface Counts {
  readonly waiting: number;
  readonly lost: number;
}

interface Driven {
  /** @returns The client's counts afterwards. */
  run(command: Command): Promise<Counts>;
  readonly reports: string[];
  /** Ends the application by closing its input. @returns Its exit status. */
  end(): Promise<number>;
}

/** Creates an organization. @returns Its API key. */
async function newKey(baseUrl: string, name: string): Promise<string> {
  const json = { name, email: `${name}@example.com`, password: testPassword };
  const signUp = await sendJson(baseUrl, "/api/auth/sign-up", { json });
  const cookie = cookieOf(signUp);
  return (await (await sendJson(baseUrl, "/api/portal/api-keys", { cookie, json: { name } })).json()).fullKey;
}

interface Line {
  readonly port: number;
  readonly url: string;
  /** Each batch received: its records, the status of its response, and its time in milliseconds since 1970. */
  readonly batches: { records: { quantity: number }[]; ids: string[]; status: number; at: number }[];
  open(): void;
  close(): Promise<void>;
}

/** @param refusal Returns the response to send instead of forwarding a batch, or null. */
function newLine(program: Program, refusal: (line: Line, body: string) => Response | null): Line {
  const port = freePort();
  let server: Deno.HttpServer | undefined;
  const line: Line = {
    port,
    url: `http://127.0.0.1:${port}`,
    batches: [],
    open() {
      server = Deno.serve({ port, hostname: "127.0.0.1", onListen() {} }, async (request) => {
        const body = await request.text();
        const { method, headers } = request;
        const response = refusal(line, body) ??
          await fetch(program.baseUrl + new URL(request.url).pathname, { method, headers, body });
        const { records } = JSON.parse(body);
        const ids = records.map(({ idempotencyKey }: { idempotencyKey: string }) => idempotencyKey);
        line.batches.push({ records, ids, status: response.status, at: Date.now() });
        return new Response(await response.bytes(), response);
      });
    },
    close: async () => await server?.shutdown(),
  };
  return line;
}

async function drive(
  language: Language,
  { folder, url, key, flushMs = 3_600_000, smaller = [pauses] }: {
    folder: string;
    url: string;
    key: string;
    flushMs?: number;
    smaller?: readonly (typeof pauses)[];
  },
): Promise<Driven> {
  const cwd = await Deno.makeTempDir({ dir: folder });
  let meter = source(`meter.${language}`);
  for (const change of smaller) {
    const [from = "", to = ""] = change[language];
    assert.equal(meter.split(from).length, 2, from);
    meter = meter.replace(from, to);
  }
  await Deno.writeTextFile(`${cwd}/meter.${language}`, meter);
  await Deno.writeTextFile(`${cwd}/driver.${language}`, drivers[language]);
  const args = [url, key, String(flushMs)];
  const child = new Deno.Command(language === "ts" ? Deno.execPath() : "python3", {
    args: language === "ts"
      ? ["run", "--no-check", "--allow-net", "driver.ts", ...args]
      : ["driver.py", ...args],
    cwd,
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reports: string[] = [];
  const results: Counts[] = [];
  let rest = "";
  const reading = (async () => {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const [what, value] of lines.map((each) => JSON.parse(each))) {
        if (what === "report") reports.push(value);
        else results.push(value);
      }
    }
  })();
  const input = child.stdin.getWriter();
  let sent = 0;
  return {
    reports,
    async run(command) {
      await input.write(new TextEncoder().encode(`${JSON.stringify(command)}\n`));
      const place = sent++;
      await poll(() => results.length > place);
      return results[place] ?? assert.fail();
    },
    async end() {
      await input.close();
      await reading;
      return (await child.status).code;
    },
  };
}

async function sumsOf(
  program: Program,
  apiKey: string,
): Promise<Record<string, [sum: number, count: number]>> {
  const response = await sendJson(program.baseUrl, "/api/v1/usage?window=total", { apiKey });
  const { data } = await response.json() as { data: { metric: string; sum: number; count: number }[] };
  return Object.fromEntries(data.map(({ metric, sum, count }) => [metric, [sum, count]]));
}

interface Scene {
  readonly program: Program;
  readonly folder: string;
  readonly key: string;
}

/** Gatehouse is down, then rejects batches in every way, then records everything once, with the original keys. */
async function waitsForGatehouse(language: Language, { program, folder, key }: Scene): Promise<void> {
  const json = (status: number, retryAfter: string) =>
    Response.json({ error: {} }, { status, headers: { "Retry-After": retryAfter } });
  const refusals = [
    () => json(503, "0"),
    () => json(429, "1"),
    () => json(401, "soon"),
    () => new Response("<html>Bad gateway</html>", { status: 502 }),
    () => json(500, "0"),
  ];
  const line = newLine(program, ({ batches }) => refusals[batches.length]?.() ?? null);
  const meter = await drive(language, { folder, url: line.url, key, flushMs: 20 });
  const record = { act: "record", metric: "requests", quantity: 1 } as const;
  await meter.run({ ...record, id: "a", count: 3 });
  await poll(() => meter.reports.filter((report) => report.includes("records waiting: 3;")).length > 10);
  line.open();
  try {
    await poll(() => line.batches.length > refusals.length);
    assert.deepEqual(await meter.run({ ...record, id: "b", count: 2 }), { waiting: 2, lost: 0 });
    assert.deepEqual(await meter.run({ act: "close", timeoutMs: 10_000 }), { waiting: 0, lost: 0 });
    assert.equal(await meter.end(), 0);
  } finally {
    await line.close();
  }
  assert.deepEqual(line.batches.map(({ status }) => status).slice(0, 6), [503, 429, 401, 502, 500, 201]);
  for (const { ids } of line.batches.slice(0, 6)) assert.deepEqual(ids, ["a0", "a1", "a2"]);
  const [, limited, next] = line.batches;
  // A timer may fire a millisecond early by the wall clock.
  assert.ok((next?.at ?? 0) - (limited?.at ?? 0) >= 990, "before Retry-After");
  assert.deepEqual(await sumsOf(program, key), { requests: [5, 5] });
}

/** Invalid records among many cost one more request, and nothing else is lost. */
async function leavesOutBadRecords(language: Language, { program, folder, key }: Scene): Promise<void> {
  const line = newLine(program, () => null);
  line.open();
  const meter = await drive(language, { folder, url: line.url, key });
  const record = { act: "record", metric: "requests", quantity: 1, count: 1 } as const;
  const sizes = () => line.batches.splice(0).map(({ records, status }) => [records.length, status]);
  try {
    await meter.run({ ...record, id: "a", count: 537 });
    await meter.run({ ...record, metric: "no metric!", id: "bad" });
    await meter.run({ ...record, id: "b", count: 462 });
    assert.deepEqual(await meter.run({ act: "flush" }), { waiting: 0, lost: 1 });
    assert.deepEqual(sizes(), [[1000, 422], [999, 201]]);
    assert.equal(meter.reports.length, 1);
    assert.match(meter.reports[0] ?? "", /^usage: records lost: 1; .*records\[537\]\.metric/);
    // Several invalid records, and an id that was used for other content.
    for (const n of [0, 1, 2]) await meter.run({ ...record, id: `c${n}`, quantity: n === 1 ? -1 : 1 });
    for (const n of [3, 4]) await meter.run({ ...record, id: `c${n}`, quantity: -n });
    assert.deepEqual(await meter.run({ act: "flush" }), { waiting: 0, lost: 4 });
    assert.deepEqual(sizes(), [[5, 422], [2, 201]]);
    await meter.run({ ...record, id: "c0", quantity: 7 });
    await meter.run({ ...record, id: "c9" });
    assert.deepEqual(await meter.run({ act: "flush" }), { waiting: 0, lost: 5 });
    assert.deepEqual(sizes(), [[2, 409], [1, 201]]);
    // A single invalid record has no path in a batch.
    await meter.run({ ...record, id: "c0", quantity: 7 });
    assert.deepEqual(await meter.run({ act: "flush" }), { waiting: 0, lost: 6 });
    // Errors of binary fractions are rounded away.
    await meter.run({ ...record, metric: "noise", id: "noise", quantity: 0.1 + 0.2 });
    await meter.run({ ...record, metric: "most", id: "most", quantity: Number.MAX_SAFE_INTEGER });
    await meter.run({ act: "close", timeoutMs: 10_000 });
    assert.equal(await meter.end(), 0);
  } finally {
    await line.close();
  }
  assert.deepEqual(await sumsOf(program, key), {
    most: [Number.MAX_SAFE_INTEGER, 1],
    noise: [0.3, 1],
    requests: [999 + 2 + 1, 999 + 2 + 1],
  });
}

/** A batch that is too large for a proxy is split, and a record that is too large alone is left out. */
async function sendsSmallerBatches(language: Language, { program, folder, key }: Scene): Promise<void> {
  const tooLarge = (body: string) =>
    body.length > 4_000 ? new Response("<html>413</html>", { status: 413 }) : null;
  const line = newLine(program, (_line, body) => tooLarge(body));
  line.open();
  const meter = await drive(language, { folder, url: line.url, key });
  const record = { act: "record", metric: "requests", quantity: 1 } as const;
  try {
    await meter.run({ ...record, id: "a", count: 60 });
    await meter.run({ ...record, metric: "m".repeat(5_000), id: "long", count: 1 });
    await meter.run({ ...record, id: "b", count: 60 });
    assert.deepEqual(await meter.run({ act: "close", timeoutMs: 10_000 }), { waiting: 0, lost: 1 });
    assert.equal(await meter.end(), 0);
  } finally {
    await line.close();
  }
  assert.ok(line.batches.length < 40, `${line.batches.length} requests`);
  assert.deepEqual(await sumsOf(program, key), { requests: [120, 120] });
}

/** Misuse, a full queue and an absent Gatehouse throw nothing, use bounded memory and time, and are counted. */
async function neverThrows(language: Language, { program, folder, key }: Scene): Promise<void> {
  const line = newLine(program, () => null);
  const meter = await drive(language, { folder, url: line.url, key, smaller: [pauses, queue] });
  assert.deepEqual(await meter.run({ act: "misuse" }), { waiting: 0, lost: 3 });
  const record = { act: "record", metric: "requests", quantity: 1 } as const;
  assert.deepEqual(await meter.run({ ...record, id: "a", count: 1_000 }), { waiting: 5, lost: 3 + 995 });
  assert.deepEqual(await meter.run({ act: "flush" }), { waiting: 5, lost: 998 });
  assert.deepEqual(await meter.run({ act: "close", timeoutMs: 300 }), { waiting: 0, lost: 1_003 });
  assert.equal(await meter.end(), 0);
  assert.ok(
    meter.reports.some((report) => report.includes("records lost: 998;")),
    String(meter.reports),
  );
  assert.ok(meter.reports.some((report) => /records lost: 5; .*process ended/.test(report)));
  // There is a report per attempt, not per record.
  assert.ok(meter.reports.length < 100, `${meter.reports.length} reports`);
}

const promises = {
  "waits while Gatehouse is down or rejects batches, and sends everything once": waitsForGatehouse,
  "leaves out invalid records with one more request": leavesOutBadRecords,
  "splits a batch that is too large": sendsSmallerBatches,
  "never throws into the application": neverThrows,
};

Deno.test("the metering clients survive faults", async (t) => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-meters-" });
  const program = startProgram({ folder });
  try {
    await isReady(program);
    for (const language of ["ts", "py"] as const) {
      for (const [place, [promise, run]] of Object.entries(promises).entries()) {
        const name = `meter.${language} ${promise}`;
        await t.step(name, async () => {
          const key = await newKey(program.baseUrl, `${language}-${place}`);
          await run(language, { program, folder, key });
        });
      }
    }
  } finally {
    await killProgram(program);
    await Deno.remove(folder, { recursive: true });
  }
});
