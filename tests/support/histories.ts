// Runs random histories, and says how to repeat one that fails.
import type { TestApp } from "./app.ts";
import fc from "./fast_check.ts";

/** How many histories to run, and with which clock. */
export interface HistoryOptions {
  /** Histories for each seed. */
  readonly rounds: number;
  /** Seeds that are always run, besides a random one. */
  readonly seeds?: readonly number[];
  /** The app of all histories, if they share one. Then its clock depends on the histories before. */
  readonly test?: Pick<TestApp, "now" | "advance">;
}

/** Each history. Longer than any takes on a busy machine. */
const historyMsMax = 30_000;
/** All histories of a seed, and the search for a shorter one that fails as well. */
const seedMsMax = 90_000;

/**
 * Runs random histories. `FAULT_SEED`, `FAULT_PATH` and `FAULT_CLOCK` repeat one, and `FAULT_ROUNDS` runs more of them.
 *
 * @throws With those variables, and with the shortest history that was found to fail.
 */
export async function runHistories<History>(
  histories: fc.Arbitrary<History>,
  run: (history: History) => Promise<void>,
  { rounds, seeds = [], test }: HistoryOptions,
): Promise<void> {
  const { FAULT_SEED, FAULT_PATH, FAULT_CLOCK, FAULT_ROUNDS = rounds } = Deno.env.toObject();
  if (FAULT_CLOCK !== undefined) test?.advance(Date.parse(FAULT_CLOCK) - test.now());
  const random = crypto.getRandomValues(new Int32Array(1))[0] ?? 0;
  let failedAt = 0;
  for (const seed of FAULT_SEED === undefined ? [...seeds, random] : [Number(FAULT_SEED)]) {
    const property = fc.asyncProperty(histories, async (history) => {
      const startedAt = test?.now() ?? 0;
      await run(history).catch((error) => {
        failedAt = startedAt;
        throw error;
      });
    });
    const result = await fc.check(property, {
      seed,
      numRuns: Number(FAULT_ROUNDS),
      timeout: historyMsMax,
      interruptAfterTimeLimit: seedMsMax,
      ...(FAULT_PATH !== undefined && { path: FAULT_PATH }),
    });
    if (!result.failed) continue;
    const clock = test === undefined ? "" : ` FAULT_CLOCK=${new Date(failedAt).toISOString()}`;
    const variables = `FAULT_SEED=${seed} FAULT_PATH=${result.counterexamplePath}${clock}`;
    const report = await fc.asyncDefaultReportMessage(result);
    throw new Error(`Repeat it with ${variables}\n${report}`, { cause: result.errorInstance });
  }
}
