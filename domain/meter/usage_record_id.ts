// The public ids of usage records, which reveal their time but not their number.
import { timeDigits } from "../id.ts";
import { createPermutation } from "./permutation.ts";

/** `seq` is the record's place in the order of recording. `recordedAt`: milliseconds since 1970. */
export interface RecordReference {
  readonly seq: number;
  readonly recordedAt: number;
}

export type UsageRecordIds = ReturnType<typeof createUsageRecordIds>;

/**
 * Creates ids of a key. An id is `use_`, 12 hexadecimal digits of the record's time, and 12 of its encrypted `seq`, so that ids
 * don't reveal how many records a server has. Ids sort by the millisecond of recording and are not stored.
 *
 * @param key Of the database, see `permutationKeyForm`.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * const ids = createUsageRecordIds("1a19181211100a0908020100");
 * const reference = { seq: 41, recordedAt: 1_790_000_000_000 };
 * assert.deepEqual(ids.parse(ids.of(reference)), reference);
 * ```
 */
export function createUsageRecordIds(key: string) {
  const { hide, reveal } = createPermutation(key);
  const ofMoment = (recordedAt: number) => {
    const start = `use_${timeDigits(recordedAt)}`;
    return (seq: number) => start + hide(seq);
  };
  return {
    /** Returns a function from `seq` to id for the records of one moment. */
    ofMoment,
    of: ({ seq, recordedAt }: RecordReference) => ofMoment(recordedAt)(seq),
    /** Returns null for an invalid id. */
    parse(id: string): RecordReference | null {
      const [, time, hidden] = /^use_([0-9a-f]{12})([0-9a-f]{12})$/.exec(id) ?? [];
      if (time === undefined || hidden === undefined) return null;
      return { recordedAt: Number(`0x${time}`), seq: reveal(hidden) };
    },
  };
}
