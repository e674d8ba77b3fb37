// Runs random histories, and says how to repeat one that fails.
import type { TestApp } from "../app/app.ts";
import { runSeed } from "../runner/extent.ts";
import fc from "../runner/fast_check.ts";

/** How many histories to run, and with which clock. */
export interface HistoryOptions<History> {
  /** Histories for each seed. */
  readonly rounds: number;
  /** Histories that are always run, before the random ones. */
  readonly examples?: readonly History[];
  /** Seeds that are always run, besides the run's own. */
  readonly seeds?: readonly number[];
  /** The app of all histories, if they share one. Then its clock depends on the histories before. */
  readonly test?: Pick<TestApp, "now" | "advance">;
}

/** Longer than any history takes on a busy machine. */
const historyMsMax = 30_000;
/** How long to search for a shorter history that fails as well. */
const searchMsMax = 60_000;

/**
 * Runs random histories. `FAULT_SEED`, `FAULT_PATH` and `FAULT_CLOCK` repeat one, and `FAULT_ROUNDS` runs more of them.
 *
 * @throws With those variables, and with the shortest history that was found to fail.
 */
export async function runHistories<History>(
  histories: fc.Arbitrary<History>,
  run: (history: History) => Promise<void>,
  { rounds, examples = [], seeds = [], test }: HistoryOptions<History>,
): Promise<void> {
  const { FAULT_SEED, FAULT_PATH, FAULT_CLOCK, FAULT_ROUNDS = rounds } = Deno.env.toObject();
  if (FAULT_CLOCK !== undefined) test?.advance(Date.parse(FAULT_CLOCK) - test.now());
  for (const seed of FAULT_SEED === undefined ? [...seeds, runSeed] : [runSeed]) {
    let clock = "";
    let searchUntil = Infinity;
    const property = fc.asyncProperty(histories, async (history) => {
      if (Date.now() > searchUntil) return;
      const startedAt = test && new Date(test.now()).toISOString();
      await inTime(run(history)).catch((error) => {
        clock = startedAt === undefined ? "" : ` FAULT_CLOCK=${startedAt}`;
        searchUntil = Math.min(searchUntil, Date.now() + searchMsMax);
        throw error;
      });
    });
    const result = await fc.check(property, {
      seed,
      numRuns: Number(FAULT_ROUNDS) + examples.length,
      examples: examples.map((history): [History] => [history]),
      ...(FAULT_PATH !== undefined && { path: FAULT_PATH }),
    });
    if (!result.failed) continue;
    const how = `Repeat it with FAULT_SEED=${seed} FAULT_PATH=${result.counterexamplePath}${clock}\n`;
    // After a history that hangs, the app may hang too when it is closed.
    Deno.stdout.writeSync(new TextEncoder().encode(how));
    throw new Error(how + await fc.asyncDefaultReportMessage(result), { cause: result.errorInstance });
  }
}

async function inTime(running: Promise<void>): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`still running after ${historyMsMax} ms`)), historyMsMax);
  try {
    await Promise.race([running, late]);
  } finally {
    clearTimeout(timer);
  }
}
