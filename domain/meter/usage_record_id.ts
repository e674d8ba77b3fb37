// The public ids of usage records: what they say is when, and nothing about how many there are.
import { timeDigits } from "../id.ts";
import { createPermutation } from "./permutation.ts";

/** Where a record is: its place in the order of recording, and when it was recorded, in milliseconds since 1970. */
export interface UsageRecordPlace {
  readonly seq: number;
  readonly recordedAt: number;
}

/** The ids of one database's records. */
export interface UsageRecordIds {
  /** @returns The id of the record at a place. */
  of(place: UsageRecordPlace): string;
  /** @returns What gives the id of each record of one moment. */
  ofMoment(recordedAt: number): (seq: number) => string;
  /** @returns The place that an id names, or null for an invalid id. */
  parse(id: string): UsageRecordPlace | null;
}

/**
 * An id is `use_`, 12 hexadecimal digits of the record's time, and 12 that stand for its place, encrypted: without the key
 * ids do not show how many records a server takes. It sorts by the millisecond of recording and is stored nowhere.
 *
 * @param key Of the database, see `permutationKeyForm`.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * const ids = createUsageRecordIds("1a19181211100a0908020100");
 * const place = { seq: 41, recordedAt: 1_790_000_000_000 };
 * assert.deepEqual(ids.parse(ids.of(place)), place);
 * ```
 */
export function createUsageRecordIds(key: string): UsageRecordIds {
  const { hide, reveal } = createPermutation(key);
  const ofMoment = (recordedAt: number) => {
    const start = `use_${timeDigits(recordedAt)}`;
    return (seq: number) => start + hide(seq);
  };
  return {
    ofMoment,
    of: ({ seq, recordedAt }) => ofMoment(recordedAt)(seq),
    parse(id) {
      const [, time, place] = /^use_([0-9a-f]{12})([0-9a-f]{12})$/.exec(id) ?? [];
      if (time === undefined || place === undefined) return null;
      return { recordedAt: Number(`0x${time}`), seq: reveal(place) };
    },
  };
}
