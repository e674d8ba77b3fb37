// The benchmark's settings, from the environment; docs/performance.md says what they are for.
import { resolve } from "node:path";

/** What a developer can mend: told in one line. */
export class SetUpError extends Error {}

/** What a run measures, and for how long. */
export interface Settings {
  readonly rounds: number;
  /** Of each figure in each round. */
  readonly seconds: number;
  /** In the full database. */
  readonly records: number;
  /** A full database that outlives the run. */
  readonly kept: string | undefined;
  /** Names of the figures. */
  readonly only: RegExp;
}

/** @throws {SetUpError} */
export function readSettings(): Settings {
  const kept = Deno.env.get("BENCH_DATABASE");
  return {
    rounds: whole("BENCH_ROUNDS", 3),
    seconds: whole("BENCH_SECONDS", 4),
    records: whole("BENCH_RECORDS", 10_000_000),
    kept: kept === undefined ? undefined : resolve(kept),
    only: pattern("BENCH_ONLY"),
  };
}

function whole(name: string, fallback: number): number {
  const text = Deno.env.get(name) ?? String(fallback);
  if (!/^[1-9]\d*$/.test(text)) throw new SetUpError(`${name}: got ${text}, takes a whole number from 1`);
  return Number(text);
}

function pattern(name: string): RegExp {
  try {
    return new RegExp(Deno.env.get(name) ?? "");
  } catch (error) {
    throw new SetUpError(`${name}: takes a regular expression (${String(error)})`);
  }
}

/** Runs a program of this folder, ends it, and tells what its user can mend without a stack. */
export async function runToEnd(main: () => Promise<void>): Promise<never> {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error;
    printLine(`bench: ${error.message}`);
    Deno.exit(1);
  }
  // Listening for signals would keep the process.
  Deno.exit(0);
}

/** Prints one line on standard output. */
export function printLine(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
