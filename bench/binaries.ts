// Compares two compiled programs in turns: CPU time and memory of a start, and memory under 128 connections of single records.
// Usage: `./denow run --no-prompt --allow-all bench/binaries.ts NOW BEFORE`. It takes six minutes.
import { isReady, killProgram, type Program, startProgram } from "../tests/support/process/program.ts";
import { signUp } from "./account.ts";
import { processorMs } from "./cpu.ts";
import { requireWrk, runLoad } from "./load.ts";
import { printLine, runToEnd } from "./settings.ts";
import { median } from "./statistics.ts";

const starts = 7;
/** After half a minute, V8 returns what the start used. */
const idleSeconds = 60;
const loadSeconds = 20;

/** Resident memory in megabytes: now, and the most so far. */
interface Memory {
  readonly now: number;
  readonly most: number;
}

async function memoryOf({ pid }: Program): Promise<Memory> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  const read = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1_024;
  return { now: read("VmRSS"), most: read("VmHWM") };
}

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000));

/** Runs the same for both, the older one first in every second round, and prints the medians with their ratio. */
async function inTurns(
  names: readonly string[],
  { rounds, binaries, run }: {
    rounds: number;
    binaries: readonly string[];
    run: (binary: string) => Promise<readonly number[]>;
  },
): Promise<void> {
  const all: (readonly number[])[][] = [];
  for (let n = 0; n < rounds; n++) {
    const row: (readonly number[])[] = [];
    for (const side of n % 2 === 0 ? [0, 1] : [1, 0]) row[side] = await run(binaries[side] ?? "");
    all.push(row);
  }
  for (const [i, name] of names.entries()) {
    const values = (side: number) => all.map((row) => row[side]?.[i] ?? NaN);
    const [now, before] = [values(0), values(1)];
    const ratio = median(now.map((value, n) => value / (before[n] ?? NaN)));
    const text = [now, before].map((side) => median(side).toFixed(0)).join(" now, ");
    printLine(`${name}: ${ratio.toFixed(2)} (${text} before)`);
  }
}

async function withProgram<T>(
  binary: string,
  threads: number,
  use: (program: Program) => Promise<T>,
): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-binaries-" });
  const env = { HTTP_THREADS: String(threads), LOG_LEVEL: "warning", API_KEY_REQUESTS_PER_SECOND: "0" };
  const program = startProgram({ folder, binary, env });
  try {
    await isReady(program);
    return await use(program);
  } finally {
    await killProgram(program);
    await Deno.remove(folder, { recursive: true });
  }
}

/** Memory at most under load, and a minute later. */
async function underLoad(program: Program): Promise<readonly number[]> {
  const account = await signUp(program.baseUrl, { keys: 1 });
  await runLoad({
    ...{ method: "POST", url: `${program.baseUrl.replace("localhost", "127.0.0.1")}/api/v1/usage` },
    body: JSON.stringify({ productSlug: "tiles", metric: "requests", quantity: 1 }),
    headers: {
      "Content-Type": "application/json",
      Authorization: `Bearer ${account.apiKeys[0]?.fullKey ?? ""}`,
    },
  }, { connections: 128, seconds: loadSeconds });
  const { most } = await memoryOf(program);
  await pause(idleSeconds);
  return [most, (await memoryOf(program)).now];
}

await runToEnd(async () => {
  await requireWrk();
  const binaries = Deno.args;
  if (binaries.length !== 2) throw new Error("usage: binaries.ts NOW BEFORE");
  for (const threads of [1, 2]) {
    const start = (binary: string) =>
      withProgram(binary, threads, async ({ pid }) => [await processorMs(pid)]);
    await inTurns([`CPU until ready, ${threads} HTTP threads, ms`], { rounds: starts, binaries, run: start });
  }
  for (const threads of [1, 2]) {
    const names = ["idle", "under 128 connections", "a minute later"];
    await inTurns(names.map((name) => `memory ${name}, ${threads} HTTP threads, MB`), {
      ...{ rounds: 1, binaries },
      run: (binary) =>
        withProgram(binary, threads, async (program) => {
          await pause(idleSeconds);
          return [(await memoryOf(program)).now, ...await underLoad(program)];
        }),
    });
  }
});
