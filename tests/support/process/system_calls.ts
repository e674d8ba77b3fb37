// Runs a program under strace, and reads which files it wrote, synced and renamed, and in which order.
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { isMissing } from "../runner/needs.ts";

/** A system call that succeeded. */
export interface SystemCall {
  readonly name: string;
  /** The files of its descriptors and names. */
  readonly paths: readonly string[];
  /** Its output, shortened. */
  readonly text: string;
  /** Positions in the trace. */
  readonly began: number;
  readonly ended: number;
}

const writes = ["write", "pwrite64", "writev", "pwritev", "pwritev2", "ftruncate", "copy_file_range"];
const syncs = ["fsync", "fdatasync"];
const slowSyncs = `inject=${syncs.join(",")}:delay_enter=50000`;
const renames = ["rename", "renameat", "renameat2", "link", "linkat"];
const removals = ["unlink", "unlinkat"];

/** @returns True if no test can use strace here. Says so if the system forbids it. */
export function straceMissing(): boolean {
  if (isMissing("strace")) return true;
  const args = ["-f", "-o", "/dev/null", "true"];
  const { success, stderr } = new Deno.Command("strace", { args, stdout: "null", stderr: "piped" })
    .outputSync();
  if (success) return false;
  const why = new TextDecoder().decode(stderr).trim();
  Deno.stdout.writeSync(
    new TextEncoder().encode(`Tests with strace are skipped, because it can't trace: ${why}\n`),
  );
  return true;
}

/** Runs a program to its end, on a disk that takes 50 ms for each sync. @returns Its calls in the order in which they began, and its output. */
export async function traceCalls(
  command: readonly string[],
  { cwd, env }: { cwd: string; env?: Readonly<Record<string, string>> },
): Promise<{ calls: SystemCall[]; code: number; output: string }> {
  const file = await Deno.makeTempFile({ prefix: "gatehouse-strace-" });
  try {
    const which = [...writes, ...syncs, ...renames, ...removals].join(",");
    const { code, stdout, stderr } = await new Deno.Command("strace", {
      args: ["-f", "-y", "-qq", "-o", file, "-e", `trace=${which}`, "-e", slowSyncs, ...command],
      cwd,
      env: { NO_COLOR: "1", ...env },
      stdin: "null",
    }).output();
    const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    return { calls: parseTrace(await Deno.readTextFile(file)), code, output };
  } finally {
    await Deno.remove(file);
  }
}

/** A system call as strace prints it, in one piece even if another thread's came in between. */
export interface TracedCall {
  readonly name: string;
  readonly given: string;
  readonly result: string;
  /** When it began, in milliseconds since 1970; 0 if the trace has no times. */
  readonly time: number;
  /** Positions in the trace. */
  readonly began: number;
  readonly ended: number;
}

/** Returns the calls of a trace in the order in which they ended. */
export function tracedCalls(lines: Iterable<string>): TracedCall[] {
  const calls: TracedCall[] = [];
  /** Of each thread. */
  const unfinished = new Map<string, { began: number; time: number; text: string }>();
  let at = 0;
  for (const line of lines) {
    const [, thread = "", seconds = "0", text = ""] = /^(\d+) +(?:(\d+\.\d+) )?(.*)$/.exec(line) ?? [];
    const here = { began: at++, time: Number(seconds) * 1_000 };
    const [, start] = /^(\w+\(.*) <unfinished \.\.\.>$/.exec(text) ?? [];
    if (start !== undefined) {
      unfinished.set(thread, { ...here, text: start });
      continue;
    }
    const [, rest] = /^<\.\.\. \w+ resumed>(.*)$/.exec(text) ?? [];
    const before = rest === undefined ? undefined : unfinished.get(thread);
    const whole = (before?.text ?? "") + (rest ?? text);
    const [, name = "", given = "", result = ""] =
      /^(\w+)\((.*)\) += (\d+(?:<[^>]*>)?)(?: \(DELAYED\))?$/.exec(whole) ?? [];
    if (name !== "") calls.push({ ...here, ...before, name, given, result, ended: here.began });
  }
  return calls;
}

function parseTrace(trace: string): SystemCall[] {
  const calls = tracedCalls(trace.split("\n")).map(({ name, given, began, ended }): SystemCall => {
    const texts = [...given.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text = ""]) => text);
    const files = [...given.matchAll(/(?:^|, )\d+<([^>]*)>/g)].map(([, path = ""]) => path);
    const areNames = renames.includes(name) || removals.includes(name);
    return {
      ...{ name, began, ended },
      paths: areNames ? texts : files,
      text: areNames ? "" : texts.join(""),
    };
  });
  return calls.sort((one, other) => one.began - other.began);
}

export class CallOrder {
  readonly #calls: readonly SystemCall[];

  constructor(calls: readonly SystemCall[]) {
    this.#calls = calls;
  }

  /** @returns When the program wrote a text to its output. */
  output(text: string): SystemCall {
    return this.#find(
      `the output "${text}"`,
      (call) => writes.includes(call.name) && call.text.includes(text),
    );
  }

  /** @returns When a name that ends like this was given to a file. */
  renamed(end: string): SystemCall {
    return this.#find(
      `a rename to ${end}`,
      ({ name, paths }) => renames.includes(name) && new RegExp(`${end}$`).test(paths[1] ?? ""),
    );
  }

  /** @returns When a file was removed whose name ends like this. */
  removed(end: string): SystemCall {
    return this.#find(
      `the removal of ${end}`,
      ({ name, paths }) => removals.includes(name) && new RegExp(`${end}$`).test(paths[0] ?? ""),
    );
  }

  /** @returns The path of the first file that was written to and whose name ends like this. */
  written(end: string): string {
    const call = this.#find(
      `a write to ${end}`,
      ({ name, paths }) => writes.includes(name) && new RegExp(`${end}$`).test(paths[0] ?? ""),
    );
    return call.paths[0] ?? "";
  }

  /** Asserts that all that was written to a file before a call was also on disk before it. */
  isOnDisk(path: string, before: SystemCall): void {
    const earlier = this.#calls.filter((call) => call.paths[0] === path && call.began < before.began);
    const last = earlier.filter(({ name }) => writes.includes(name)).at(-1);
    assert.ok(last, `${path} was written before ${before.name}`);
    assert.ok(
      earlier.some((call) => this.#isSync(call) && call.began > last.ended && call.ended < before.began),
      `${path} is synced before ${before.name} ${before.paths.join(" ")} ${before.text}`,
    );
  }

  /** Asserts that the name that a file or folder got was on disk before a call. A folder has its name before any file in it. */
  hasName(path: string, { after, before }: { after?: SystemCall; before?: SystemCall }): void {
    const created = after ??
      this.#calls.find(({ paths: [at = ""] }) => at === path || at.startsWith(`${path}/`));
    assert.ok(created, `${path} was written`);
    assert.ok(
      this.#calls.some((call) =>
        this.#isSync(call) && call.paths[0] === dirname(path) && call.began > created.ended &&
        call.ended < (before?.began ?? Infinity)
      ),
      `the folder of ${path} is synced before ${before?.name ?? "the end"} ${before?.text ?? ""}`,
    );
  }

  /** Asserts that a file was on disk before it was renamed, and its new name before a call. */
  isMoved(rename: SystemCall, { before }: { before?: SystemCall } = {}): void {
    const [from = "", to = ""] = rename.paths;
    this.isOnDisk(from, rename);
    this.hasName(to, { after: rename, ...(before && { before }) });
  }

  #isSync({ name }: SystemCall): boolean {
    return syncs.includes(name);
  }

  #find(what: string, is: (call: SystemCall) => boolean): SystemCall {
    return this.#calls.find(is) ?? assert.fail(`the trace lacks ${what}`);
  }
}
