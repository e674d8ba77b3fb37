// Runs the tests: all of them, or those of a subject. `./denow task test` and `./denow task test:full` call it.
//
//   ./denow task test            each promise once, with the same random choices in every run
//   ./denow task test meter      only files in folders called meter, or whose names begin with it
//   ./denow task test:full       everything: random seeds, many rounds of faults, both databases, the newest Deno
//   ./denow task test:full --engine   of these, what depends most on the runtime and the database engine
//   ./denow task test:full --failed   only what failed in the last full run, which has passed once that does
import { bundle } from "../build/bundle.ts";
import { root } from "../build/sources.ts";
import { failedTests, noteFailures, noteFullRun } from "./full_run.ts";
import { cpuSeconds, endProcesses, RunFolder } from "./leftovers.ts";
import { installCommand, machineFault } from "./needs.ts";
import { readResults, type Results } from "./results.ts";
import { alone, byNewestDeno, sharesOf, startsProcesses, testFiles } from "./shares.ts";

const permissions = ["--no-check", "--no-prompt", "--allow-all"];

/** One call of `deno test`. */
interface Part {
  readonly name: string;
  readonly files: readonly string[];
  /** How many threads run files at the same time. */
  readonly jobs: number;
  readonly env?: Readonly<Record<string, string>>;
}

interface PartResults extends Results {
  readonly success: boolean;
  /** True if all files could be loaded. */
  readonly isWhole: boolean;
}

interface Run {
  readonly folder: RunFolder;
  readonly isFull: boolean;
  /** True if it is a full run of all files, or of what failed in the last one. */
  readonly isComplete: boolean;
  readonly seed: string;
  /** The names of tests; null for all. */
  readonly only: readonly string[] | null;
}

async function main(args: readonly string[]): Promise<number> {
  const isFull = args.includes("--full");
  const subjects = args.filter((arg) => !arg.startsWith("--"));
  const isOfEngine = args.includes("--engine");
  const files = testFiles(subjects).filter((file) => !isOfEngine || byNewestDeno(file));
  if (files.length === 0) {
    return say(`no test file is in a folder called ${subjects.join(" or ")}, or begins with it\n`, 1);
  }
  const fault = machineFault();
  if (fault !== null) return say(`${fault}\n`, 1);
  const failed = args.includes("--failed") ? failedTests() : undefined;
  if (failed === null) return say("no full run of this runtime and database engine has failed\n", 1);
  const folder = await RunFolder.create();
  const interrupted = () => {
    endProcesses(folder.mark);
    folder.remove();
    Deno.exit(130);
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, interrupted);
  try {
    const seed = Deno.env.get("FAULT_SEED") ?? failed?.seed ?? String(Math.floor(Math.random() * 2 ** 31));
    const isComplete = isFull && subjects.length === 0 && !isOfEngine;
    return await runIn({ folder, isFull, isComplete, seed, only: failed?.names ?? null }, files);
  } finally {
    folder.remove();
  }
}

async function runIn(run: Run, files: readonly string[]): Promise<number> {
  const { folder, isFull, seed, only } = run;
  const env = {
    ...folder.env,
    ...(isFull && { TEST_FULL: "1", TEST_SEED: seed }),
    ...(files.some(startsProcesses) && { TEST_PROGRAM: await bundle(`${folder.path}/program`) }),
  };
  const cores = navigator.hardwareConcurrency;
  const together = files.filter((file) => !alone(file));
  // Two threads more than cores, because many tests wait.
  const parts: Part[] = [
    { name: "together", files: await sharesOf(together, folder.path), jobs: cores + 2 },
    { name: "alone", files: files.filter(alone), jobs: 1 },
  ];
  if (isFull) {
    const newest = { DENOW_VERSION: "newest" };
    parts.push({ name: "newest", files: files.filter(byNewestDeno), jobs: cores + 2, env: newest });
  }
  const results: PartResults[] = [];
  for (const part of parts.filter(({ files }) => files.length > 0)) {
    results.push(await runPart(part, { folder, env, only }));
  }
  return await report(results, run);
}

async function runPart(
  { name, files, jobs, env: more }: Part,
  { folder, env, only }: Pick<Run, "folder" | "only"> & { readonly env: Readonly<Record<string, string>> },
): Promise<PartResults> {
  const filter = only?.map((name) => name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|");
  const junit = `${folder.path}/${name}.xml`;
  const parallel = jobs > 1 ? ["--parallel"] : [];
  const { success } = await new Deno.Command(`${root}denow`, {
    args: [
      "test",
      ...parallel,
      ...permissions,
      ...filter === undefined ? [] : [`--filter=/^(?:${filter})$/`],
      `--config=${root}deno.json`,
      `--junit-path=${junit}`,
      ...files,
    ],
    cwd: root,
    env: { ...env, ...more, DENO_JOBS: String(jobs) },
    stdin: "null",
  }).spawn().status;
  const found = await readResults(junit);
  return { ...found, success, isWhole: found.files === files.length };
}

/** Says what was slow, skipped and left behind, and the numbers of the run. @returns The exit status. */
async function report(
  results: readonly PartResults[],
  { folder, isFull, isComplete, seed }: Run,
): Promise<number> {
  const sum = (numberOf: (result: PartResults) => number) =>
    results.reduce((sum, one) => sum + numberOf(one), 0);
  const slowest = results.flatMap(({ tests }) => tests).sort((a, b) => b.seconds - a.seconds).slice(0, 10);
  say("\nSlowest:\n" + slowest.map(({ name, seconds }) => `  ${seconds.toFixed(1)} s  ${name}\n`).join(""));
  const skipped = results.flatMap(({ skipped }) => skipped);
  if (skipped.length > 0) say(`\nSkipped:\n${skipped.map((name) => `  ${name}\n`).join("")}`);
  const missing = folder.missing();
  if (missing !== "") say(`They run after: ${installCommand(missing)}\n`);
  const left = endProcesses(folder.mark);
  for (const command of left) say(`Left running, and ended now: ${command}\n`);
  for (const name of folder.leftFiles()) say(`Left behind, and removed now: ${name}\n`);
  const success = results.every(({ success }) => success) && left.length === 0;
  const failed = results.flatMap(({ failed }) => failed);
  if (isComplete && skipped.length === 0) {
    if (success) noteFullRun(seed);
    else if (results.every(({ isWhole }) => isWhole)) noteFailures({ seed, names: failed });
  }
  say(
    `\n${isFull ? `full run, FAULT_SEED=${seed}` : "quick run"}: ${sum(({ passed }) => passed)} passed, ` +
      `${failed.length} failed, ${skipped.length} skipped in ${minutes(performance.now() / 1000)}, ` +
      `${minutes(await cpuSeconds())} of CPU\n`,
  );
  return success ? 0 : 1;
}

const minutes = (seconds: number) =>
  `${Math.floor(Math.round(seconds) / 60)} min ${Math.round(seconds) % 60} s`;

function say(text: string, status = 0): number {
  Deno.stdout.writeSync(new TextEncoder().encode(text));
  return status;
}

Deno.exit(await main(Deno.args));
