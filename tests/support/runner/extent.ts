// How much a run tests: each promise once, or everything with `./denow task test:full`. A quick run repeats the same choices.

/** True in a full run: random seeds, many rounds of faults, both databases everywhere. */
export const isFull = Deno.env.get("TEST_FULL") === "1";

const quickSeed = 20_261_128;

/** The seed of this run's random choices: the same one in all quick runs. `FAULT_SEED` repeats a run. */
export const runSeed = Number(Deno.env.get("FAULT_SEED") ?? Deno.env.get("TEST_SEED") ?? quickSeed);

/** @returns How often to repeat a test's faults, histories or seconds. `FAULT_ROUNDS` overrides both numbers. */
export function repeats(numbers: { quick: number; full: number }): number {
  return Number(Deno.env.get("FAULT_ROUNDS") ?? (isFull ? numbers.full : numbers.quick));
}
