// Measures how soon the compiled binary responds after its start, its processor time until then, and its idle memory. Without a binary
// it measures the program from its source, without aims: that reads more from files, and takes more memory.
import { type Program, type ProgramOptions, startProgram } from "../tests/support/process/program.ts";
import { processorMs } from "./cpu.ts";
import { valueLine, verdict } from "./report.ts";
import { median } from "./statistics.ts";

const binary = new URL("../dist/gatehouse", import.meta.url).pathname;
const starts = 5;
/** After half a minute, V8 returns what the start used. */
const idleSeconds = 60;
const firstAnswerMsMax = 400;
const firstAnswerCpuMsMax = 250;
const residentMbMax = 146;
const threadMbMax = 40;
/** To measure what each HTTP thread after the first adds. */
const manyThreads = 4;

/** Measures the binary, or the program from its source. @param print Prints a line. */
export async function measureBinary(print: (line: string) => void): Promise<void> {
  const isThere = await Deno.stat(binary).then(() => true, () => false);
  if (!isThere) print("\nno dist/gatehouse: run `./denow task compile` to measure the binary");
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-bench-" });
  const options = { folder, ...(isThere ? { binary } : {}) };
  const [one, many]: [FirstAnswer[], FirstAnswer[]] = [[], []];
  // The first start creates the database. The others open it.
  await firstAnswer(options, 1);
  for (let n = 0; n < starts; n++) {
    one.push(await firstAnswer(options, 1));
    many.push(await firstAnswer(options, manyThreads));
  }
  const idleOne = await residentMb(options, 1);
  const idleMany = await residentMb(options, manyThreads);
  await Deno.remove(folder, { recursive: true });
  const line = (name: string, unit: string, { values, atMost }: { values: number[]; atMost?: number }) => {
    const all = values.map((value) => value.toFixed(0)).join(" ");
    const middle = median(values);
    const aim = isThere && atMost !== undefined ? verdict({ atMost }, middle) : "";
    const program = isThere ? "binary" : "source";
    print(valueLine(`${program}, ${name}`, `${middle.toFixed(0)} ${unit} (${all})${aim}`));
  };
  const threads = `${manyThreads} threads`;
  const msOf = (all: FirstAnswer[]) => ({ values: all.map(({ ms }) => ms), atMost: firstAnswerMsMax });
  line("first response, 1 thread", "ms", msOf(one));
  line(`first response, ${threads}`, "ms", msOf(many));
  const cpuOf = (all: FirstAnswer[]) => all.map(({ cpuMs }) => cpuMs);
  line("CPU until then, 1 thread", "ms", { values: cpuOf(one), atMost: firstAnswerCpuMsMax });
  line(`CPU until then, ${threads}`, "ms", { values: cpuOf(many) });
  line("idle memory, 1 thread", "MB", { values: [idleOne], atMost: residentMbMax });
  line("idle memory, each further thread", "MB", {
    values: [(idleMany - idleOne) / (manyThreads - 1)],
    atMost: threadMbMax,
  });
}

/** From the start of the program to its first response. */
interface FirstAnswer {
  readonly ms: number;
  readonly cpuMs: number;
}

async function firstAnswer(options: ProgramOptions, threads: number): Promise<FirstAnswer> {
  const begin = performance.now();
  const program = await started(options, threads);
  const ms = performance.now() - begin;
  const cpuMs = await processorMs(program.pid);
  program.kill("SIGTERM");
  await program.ended();
  return { ms, cpuMs };
}

/** @returns The resident memory of an idle program. */
async function residentMb(options: ProgramOptions, threads: number): Promise<number> {
  const program = await started(options, threads);
  await new Promise((resolve) => setTimeout(resolve, idleSeconds * 1000));
  const status = await Deno.readTextFile(`/proc/${program.pid}/status`);
  program.kill("SIGTERM");
  await program.ended();
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

async function started(options: ProgramOptions, threads: number): Promise<Program> {
  const program = startProgram({ ...options, env: { HTTP_THREADS: String(threads) } });
  for (;;) {
    const response = await fetch(`${program.baseUrl}/health/ready`).catch(() => null);
    await response?.body?.cancel();
    if (response?.ok) return program;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
