// Random choices that can be repeated with a printed seed, and pauses between faults.
import { isFull, runSeed } from "./extent.ts";
import type {} from "./time_limit.ts";

/**
 * Time limit of tests that kill a server or fail a write over and over, and wait each time until all is well again. That of a full run with
 * a given number of rounds.
 */
export const faultsTimeoutMs = isFull || Deno.env.has("FAULT_ROUNDS") ? 1_200_000 : 300_000;

/** Choices determined by a seed. */
export interface Random {
  /** @returns A whole number from `min` to `max`, inclusive. */
  between(min: number, max: number): number;
  /** @returns True with the given probability. */
  chance(probability: number): boolean;
  /** @returns One of the items. @throws When there are none. */
  pick<T>(items: readonly T[]): T;
}

/** @param seed A 32-bit integer. @returns Choices by mulberry32. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    between: (min, max) => min + Math.floor(next() * (max - min + 1)),
    chance: (probability) => next() < probability,
    pick: (items) => {
      if (items.length === 0) throw new Error("nothing to pick from");
      return items[Math.floor(next() * items.length)] as (typeof items)[number];
    },
  };
}

/**
 * Prints the run's seed and returns choices determined by it. The same seed plans the same load and faults, although
 * processes may interleave differently.
 */
export function faultRandom(test: string): Random {
  Deno.stdout.writeSync(new TextEncoder().encode(`${test}: FAULT_SEED=${runSeed}\n`));
  return seededRandom(runSeed);
}

/** Lets other processes run for some milliseconds before a fault, because there is nothing to poll for. */
export function letOthersRun(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
