// Limits per value, as the statements of other limits need them.
import type { Statement } from "../engine/database.ts";

/** Where a limit per value stands. */
export interface CountedValue {
  /** The property. */
  readonly by: string;
  /** That of a record. */
  readonly value: string;
  /** The value of its counter. */
  readonly counter: string;
  readonly countsFrom: number;
}

/** The statements that count a group against limits per value. */
export interface CountedValues {
  /** Adds up the group by value. */
  readonly open: (series: string, now: number) => readonly Statement[];
  /** Ends holds that have expired of organizations that have too little room, also in other limits. */
  readonly endHolds: (now: number) => readonly Statement[];
  /** @param asking The numbers of the requests that cutoff limits deny, in JSON; null for none. */
  readonly reject: (
    records: string,
    series: string,
    now: number,
    asking: string | null,
  ) => readonly Statement[];
  readonly addAgain: (series: string, now: number) => readonly Statement[];
  readonly addToCounters: readonly Statement[];
  readonly note: (now: number) => readonly Statement[];
  readonly selectStates: (now: number) => readonly Statement[];
  readonly end: readonly Statement[];
}
