// Runs the meter of packages/python/gatehouse.py in Debian's Python.
import assert from "node:assert/strict";
import type { MeterProblem, MeterStats } from "../../../packages/client/src/meter/meter.ts";
import { poll } from "../runner/poll.ts";
import { segmentsIn } from "./meter_folder.ts";
import type { Scene } from "./meter_scene.ts";

export const pythonPackage = new URL("../../../packages/python/", import.meta.url).pathname;

/** Lets Python import the package, and leaves no files in its folder. */
export const pythonEnv = { PYTHONPATH: pythonPackage, PYTHONDONTWRITEBYTECODE: "1" };

/** Debian's Python, and not another one that is first in the PATH. */
export const python = "/usr/bin/python3";

export const nowhere = "http://127.0.0.1:1";

export interface Driven {
  readonly pid: number;
  readonly problems: MeterProblem[];
  /** Executes Python. @returns The meter's numbers afterwards, and what was assigned to `result`. */
  run(python: string): Promise<MeterStats & { readonly result: unknown }>;
  /** Ends the program by closing its input. @returns Its exit status. */
  end(): Promise<number>;
  /** Ends it with a signal, if it is still running. */
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

def record(usage):
    moment = usage.get("timestamp")
    if moment is not None:
        usage["timestamp"] = datetime.fromisoformat(moment.replace("Z", "+00:00"))
    meter.record(**usage)

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

/** Starts a Python program. @param options Arguments of the meter, how to start it, and where to put its problems. */
export function drive(
  options: Readonly<Record<string, unknown>>,
  { through = [], env = {}, problems = [] }: {
    through?: readonly string[];
    env?: Readonly<Record<string, string>>;
    problems?: MeterProblem[];
  } = {},
): Driven {
  const [command = "", ...args] = [...through, python, "-c", driver, JSON.stringify(options)];
  const child = new Deno.Command(command, {
    args,
    env: { ...pythonEnv, ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const results: (MeterStats & { result: unknown })[] = [];
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
      try {
        child.kill(signal);
      } catch (error) {
        // It has already exited.
        if (!(error instanceof TypeError)) throw error;
      }
      await child.status;
      await reading;
      await input.abort().catch(() => {});
    },
  };
}

/** @returns Options or usage with the names of Python. Python's times are seconds. */
export function inPython(values: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined && typeof value !== "function").map(
      ([name, value]) => {
        const isMs = name.endsWith("Ms");
        const snake = (isMs ? name.slice(0, -2) : name).replaceAll(
          /[A-Z]/g,
          (letter) => `_${letter.toLowerCase()}`,
        );
        return [snake, isMs ? value / 1000 : value];
      },
    ),
  );
}

/** Python for a value of JSON. */
export const literal = (value: unknown) => `json.loads(${JSON.stringify(JSON.stringify(value))})`;

/** Sends what is in a spool. */
export async function drain({ line, key, folder }: Pick<Scene, "line" | "key" | "folder">): Promise<Driven> {
  const meter = drive({ url: line.url, api_key: key, spool: folder, flush_interval: 0.05 });
  await poll(() => segmentsIn(folder).every((name) => name === "rejected.jsonl"));
  return meter;
}
