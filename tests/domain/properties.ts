// Property-based tests with a fixed seed, so that runs are repeatable.
import fc from "../support/runner/fast_check.ts";

/** The seed of every property. A failure report prints it with the path of the counterexample. */
const seed = 20261121;

/**
 * Checks a property with the same examples on every run.
 *
 * @param arbitrary Generates the examples.
 * @param check Throws if the property is violated.
 * @param options `runs`: the number of examples, 300 by default.
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
