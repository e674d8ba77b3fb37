// How much a run tests: each promise once, or everything with `./denow task test:full`. A quick run repeats the same choices.

/** True in a full run: random seeds, many rounds of faults, both databases everywhere. */
export const isFull = Deno.env.get("TEST_FULL") === "1";

const quickSeed = 20_261_128;

/** The seed of this run's random choices. `FAULT_SEED` sets it, and a full run prints a new one. */
export const runSeed = Number(
  Deno.env.get("FAULT_SEED") ??
    (isFull ? crypto.getRandomValues(new Uint32Array(1))[0] : quickSeed),
);

/** @returns How often to repeat a test's faults, histories or seconds. `FAULT_ROUNDS` overrides both numbers. */
export function repeats(numbers: { quick: number; full: number }): number {
  return Number(Deno.env.get("FAULT_ROUNDS") ?? (isFull ? numbers.full : numbers.quick));
}
