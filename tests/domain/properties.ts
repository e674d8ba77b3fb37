// One way to check properties: fixed seeds, so that a run repeats, and a smaller example when one fails.
import fc from "../support/fast_check.ts";

/** The seed of every property, printed with a failure. `seed` and `path` of a report repeat it. */
const seed = 20261121;

/**
 * Checks a property on examples that are the same on every run.
 *
 * @param arbitrary What examples are made of.
 * @param check Throws when the property does not hold.
 * @param options `runs`: how many examples, 300 unless given.
 */
export function holds<T>(
  arbitrary: fc.Arbitrary<T>,
  check: (value: T) => void,
  options: { runs?: number } = {},
): void {
  fc.assert(
    fc.property(arbitrary, (value) => {
      check(value);
    }),
    { seed, numRuns: options.runs ?? 300 },
  );
}
