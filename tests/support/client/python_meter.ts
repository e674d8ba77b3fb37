// Runs the meter of packages/python/gatehouse.py in Debian's Python, against a Gatehouse behind a proxy that misbehaves.
import assert from "node:assert/strict";
import { cookieOf, testPassword } from "../app/app.ts";
import { runCommand } from "../process/command.ts";
import { sendJson } from "../process/journey.ts";
import { segmentsIn } from "./meter_folder.ts";
import { poll } from "../runner/poll.ts";
import { isReady, killProgram, type Program, startProgram } from "../process/program.ts";
import { freePort } from "../database/sqld.ts";

/** The folder of the package. */
export const pythonPackage = new URL("../../../packages/python/", import.meta.url).pathname;

/** Debian's Python, and not another one that is first in the PATH. */
export const python = "/usr/bin/python3";

/** A batch that the proxy received. */
export interface Batch {
  readonly records: readonly Readonly<Record<string, unknown>>[];
  readonly ids: readonly string[];
  /** The status of the response; 0 if there was none. */
  readonly status: number;
  /** In milliseconds since 1970. */
  readonly at: number;
}

/** A proxy in front of Gatehouse. */
export interface Line {
  readonly url: string;
  readonly batches: Batch[];
  open(): void;
  close(): Promise<void>;
}

/** What the proxy does with a batch, instead of forwarding it: a response, or null to forward it. */
export type Refusal = (line: Line, body: string) => Response | Promise<Response | null> | null;

/** @returns A proxy that nothing listens for until it is opened. */
export function newLine(program: Program, refusal: Refusal = () => null): Line {
  const port = freePort();
  let server: Deno.HttpServer | undefined;
  const line: Line = {
    url: `http://127.0.0.1:${port}`,
    batches: [],
    open() {
      server = Deno.serve({ port, hostname: "127.0.0.1", onListen() {} }, async (request) => {
        const body = await request.text();
        const { method, headers } = request;
        const refused = await refusal(line, body);
        const response = refused ??
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

/** A problem that a meter reported. */
export interface Problem {
  readonly kind: "delayed" | "resumed" | "rejected" | "dropped" | "rounded" | "spool";
  readonly message: string;
  readonly count: number;
  readonly records: readonly Readonly<Record<string, unknown>>[];
}

/** Numbers of a meter. */
export interface Stats {
  readonly recorded: number;
  readonly adopted: number;
  readonly waiting: number;
  readonly sent: number;
  readonly duplicates: number;
  readonly rejected: number;
  readonly dropped: number;
  readonly damaged: number;
  readonly rounded: number;
}

/** A Python program with a `meter`. */
export interface Driven {
  readonly pid: number;
  readonly problems: Problem[];
  /** Executes Python. @returns The meter's numbers afterwards, and what was assigned to `result`. */
  run(python: string): Promise<Stats & { readonly result: unknown }>;
  /** Ends the program by closing its input. @returns Its exit status. */
  end(): Promise<number>;
  kill(signal?: Deno.Signal): Promise<void>;
}

/** It executes each line of its input. A hook that throws must not matter, and pauses are short. */
const driver = `import dataclasses, json, os, random, sys, threading, time
import gatehouse
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from gatehouse import Meter

lock = threading.Lock()
random.random = lambda: 0.005

def say(what, value):
    with lock:
        print(json.dumps([what, value], default=str), flush=True)

def on_problem(problem):
    say("problem", dataclasses.asdict(problem))
    raise RuntimeError("a broken hook")

START = datetime.now(timezone.utc)
meter = Meter(on_problem=on_problem, **json.loads(sys.argv[1]))
result = None
for line in sys.stdin:
    try:
        exec(json.loads(line))
    except BaseException as error:
        result = f"raised {error!r}"
    say("done", {**dataclasses.asdict(meter.stats()), "result": result})
    result = None
`;

/** Starts a Python program. @param options Arguments of the meter, and how to start it. */
export function drive(
  options: Readonly<Record<string, unknown>>,
  { through = [], env = {} }: { through?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
): Driven {
  const [command = "", ...args] = [...through, python, "-c", driver, JSON.stringify(options)];
  const child = new Deno.Command(command, {
    args,
    env: { PYTHONPATH: pythonPackage, PYTHONDONTWRITEBYTECODE: "1", ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const problems: Problem[] = [];
  const results: (Stats & { result: unknown })[] = [];
  let hasEnded = false;
  const reading = (async () => {
    let rest = "";
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const [what, value] of lines.map((each) => JSON.parse(each))) {
        if (what === "problem") problems.push(value);
        else results.push(value);
      }
    }
    hasEnded = true;
  })();
  const input = child.stdin.getWriter();
  let sent = 0;
  return {
    pid: child.pid,
    problems,
    async run(python) {
      await input.write(new TextEncoder().encode(`${JSON.stringify(python)}\n`));
      const place = sent++;
      await poll(() => results.length > place || hasEnded);
      return results[place] ?? assert.fail(`ended during ${python}`);
    },
    async end() {
      await input.close();
      await reading;
      return (await child.status).code;
    },
    async kill(signal = "SIGKILL") {
      child.kill(signal);
      await child.status;
      await reading;
      await input.abort().catch(() => {});
    },
  };
}

/** Creates an organization. @returns Its API key. */
export async function newKey(baseUrl: string, name: string): Promise<string> {
  const json = { name, email: `${name}@example.com`, password: testPassword };
  const cookie = cookieOf(await sendJson(baseUrl, "/api/auth/sign-up", { json }));
  return (await (await sendJson(baseUrl, "/api/portal/api-keys", { cookie, json: { name } })).json()).fullKey;
}

/** @returns The sum and the number of records of each metric. */
export async function sumsOf(
  { baseUrl }: Program,
  apiKey: string,
): Promise<Record<string, [sum: number, count: number]>> {
  const query = "window=total&groupBy=metric";
  const response = await sendJson(baseUrl, `/api/v1/usage?${query}`, { apiKey });
  const { data } = await response.json() as { data: { metric: string; sum: number; count: number }[] };
  return Object.fromEntries(data.map(({ metric, sum, count }) => [metric, [sum, count]]));
}

/** A running Gatehouse, and what a step has to itself. */
export interface MeterScene {
  readonly program: Program;
  /** The key of an organization. */
  readonly key: string;
  /** An operator token. */
  readonly token: string;
  /** An empty folder. */
  readonly spool: string;
}

const parallel = { sanitizeOps: false, sanitizeResources: false, sanitizeExit: false };

/** Defines a test with a running Gatehouse, whose steps run at the same time. */
export function pythonTest(
  name: string,
  steps: Readonly<Record<string, (scene: MeterScene) => Promise<void>>>,
): void {
  Deno.test(name, async (t) => {
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-python-" });
    const program = startProgram({ folder, env: { API_KEY_REQUESTS_PER_SECOND: "0", HTTP_THREADS: "1" } });
    try {
      await isReady(program);
      const scopes = "organizations:write,keys:verify,usage:write";
      const token = (await runCommand({ folder }, "token", "create", "Meter", "--scope", scopes)).stdout
        .trim();
      const run = async (act: (scene: MeterScene) => Promise<void>, place: number) => {
        const spool = `${folder}/spool-${place}`;
        await Deno.mkdir(spool);
        await act({ program, token, spool, key: await newKey(program.baseUrl, `customer-${place}`) });
      };
      await Promise.all(
        Object.entries(steps).map(([step, act], place) =>
          t.step({ name: step, ...parallel, fn: () => run(act, place) })
        ),
      );
    } finally {
      await killProgram(program);
      await Deno.remove(folder, { recursive: true });
    }
  });
}

/** @returns The lines of a spool's files. */
export function linesOf(spool: string): string[] {
  const texts = segmentsIn(spool).map((name) => Deno.readTextFileSync(`${spool}/${name}`));
  return texts.flatMap((text) => text.split("\n").slice(0, -1));
}

/** Sends what is in a spool. */
export async function drain({ program, key, spool }: MeterScene): Promise<Driven> {
  const meter = drive({ url: program.baseUrl, api_key: key, spool, flush_interval: 0.05 });
  await poll(() => segmentsIn(spool).every((name) => name === "rejected.jsonl"));
  return meter;
}
