// Reads the benchmark's settings from the environment. docs/performance.md describes them.
import { resolve } from "node:path";

/** An error that a developer can fix, printed as one line. */
export class SetUpError extends Error {}

/** What to measure, and for how long. */
export interface Settings {
  readonly rounds: number;
  /** Duration of each figure in each round. */
  readonly seconds: number;
  /** Number of records in the full database. */
  readonly records: number;
  /** Path of a full database to keep for later runs. */
  readonly kept: string | undefined;
  /** The folder of an older checkout to compare with. */
  readonly before: string | undefined;
  /** Matches the names of figures to measure. */
  readonly only: RegExp;
}

/** Reads the settings. @throws {SetUpError} When one is invalid. */
export function readSettings(): Settings {
  const path = (name: string) => {
    const value = Deno.env.get(name);
    return value === undefined ? undefined : resolve(value);
  };
  return {
    rounds: whole("BENCH_ROUNDS", 3),
    seconds: whole("BENCH_SECONDS", 4),
    records: whole("BENCH_RECORDS", 10_000_000),
    kept: path("BENCH_DATABASE"),
    before: path("BENCH_BEFORE"),
    only: pattern("BENCH_ONLY"),
  };
}

/** Reads a number from the environment. @throws {SetUpError} When it isn't a positive whole number. */
export function whole(name: string, fallback: number): number {
  const text = Deno.env.get(name) ?? String(fallback);
  if (!/^[1-9]\d*$/.test(text)) {
    throw new SetUpError(`${name}: expected a positive whole number, got ${text}`);
  }
  return Number(text);
}

/** Reads a number from the environment. @throws {SetUpError} When it isn't positive. */
export function positive(name: string, fallback: number): number {
  const text = Deno.env.get(name) ?? String(fallback);
  if (!/^\d+(\.\d+)?$/.test(text) || Number(text) === 0) {
    throw new SetUpError(`${name}: expected a positive number, got ${text}`);
  }
  return Number(text);
}

function pattern(name: string): RegExp {
  try {
    return new RegExp(Deno.env.get(name) ?? "");
  } catch (error) {
    throw new SetUpError(`${name}: expected a regular expression (${String(error)})`);
  }
}

/** Runs a program and exits. Prints a {@linkcode SetUpError} without its stack, after the name of the program. */
export async function runToEnd(main: () => Promise<void>, name = "bench"): Promise<never> {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error;
    printLine(`${name}: ${error.message}`);
    Deno.exit(1);
  }
  // Signal listeners would keep the process running.
  Deno.exit(0);
}

/** Prints a line to standard output. */
export function printLine(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
