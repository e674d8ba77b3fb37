// Remembers how the last write ended, in memory that all threads share.

/** Why writes fail. `write_failed`: for any other reason, such as a quota or an unreachable server. */
export type WriteProblem = "disk_full" | "database_locked" | "write_failed";

export interface LastWrite {
  /** Why it failed; null if it succeeded, if there was none, or if it was long ago. */
  readonly problem: WriteProblem | null;
  /** The time of the last success; 0 for none. */
  readonly succeededAt: number;
}

const problems: readonly LastWrite["problem"][] = [null, "disk_full", "database_locked", "write_failed"];
const problemCell = 0;
const successCell = 1;
const failureCell = 2;
/** A failure counts for this long if no other write follows. A health check tries one itself. */
const problemMs = 60_000;

/** The state that all threads of a program share. */
export class WriteState {
  readonly #cells: BigInt64Array<SharedArrayBuffer>;

  /** @param buffer Of another thread's state. */
  constructor(readonly buffer = new SharedArrayBuffer(3 * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.#cells = new BigInt64Array(buffer);
  }

  get last(): LastWrite {
    const failedMsAgo = Date.now() - Number(Atomics.load(this.#cells, failureCell));
    const problem = problems[Number(Atomics.load(this.#cells, problemCell))] ?? null;
    return {
      problem: failedMsAgo < problemMs ? problem : null,
      succeededAt: Number(Atomics.load(this.#cells, successCell)),
    };
  }

  noteSuccess(): void {
    Atomics.store(this.#cells, successCell, BigInt(Date.now()));
    Atomics.store(this.#cells, problemCell, 0n);
  }

  /** @param message Of a `DatabaseError`, which starts with SQLite's result code. */
  noteFailure(message: string): void {
    Atomics.store(this.#cells, failureCell, BigInt(Date.now()));
    Atomics.store(this.#cells, problemCell, BigInt(problems.indexOf(problemOf(message))));
  }
}

function problemOf(message: string): WriteProblem {
  if (/^SQLITE_(FULL|IOERR_SHMSIZE)\b/.test(message)) return "disk_full";
  return /^SQLITE_(BUSY|LOCKED)/.test(message) ? "database_locked" : "write_failed";
}
