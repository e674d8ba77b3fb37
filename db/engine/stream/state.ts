// How far a continuous backup is, in memory that all threads share.

/**
 * `ok`: everything up to a few seconds ago can be restored, or will be when its upload has ended. `snapshot`: the first snapshot of
 * the copy isn't complete, so that only what an earlier one has can be restored. `gap`: nothing is copied; a new copy begins as
 * soon as that is possible. `refused`: another server uses the target. `failed`: the copier has died.
 */
export const streamStates = ["snapshot", "ok", "gap", "refused", "failed"] as const;

export interface StreamReport {
  readonly state: typeof streamStates[number];
  /** Everything that was committed before can be restored from the target; null if nothing can. Milliseconds since 1970. */
  readonly safeAt: number | null;
  readonly spoolBytes: number;
  /** Since the start. */
  readonly gaps: number;
  readonly failures: number;
}

const cells = { state: 0, safeAt: 1, spoolBytes: 2, gaps: 3, failures: 4 } as const;
type Cell = keyof typeof cells;

export class StreamState {
  readonly #cells: BigInt64Array<SharedArrayBuffer>;

  /** @param buffer Of another thread's state. */
  constructor(readonly buffer = new SharedArrayBuffer(5 * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.#cells = new BigInt64Array(buffer);
  }

  get report(): StreamReport {
    const value = (cell: Cell) => Number(Atomics.load(this.#cells, cells[cell]));
    return {
      state: streamStates[value("state")] ?? "failed",
      safeAt: value("safeAt") || null,
      spoolBytes: value("spoolBytes"),
      gaps: value("gaps"),
      failures: value("failures"),
    };
  }

  /** For `/health/ready`. `behindSeconds`: null if nothing can be restored. */
  health(now: number): { state: StreamReport["state"]; behindSeconds: number | null } {
    const { state, safeAt } = this.report;
    return { state, behindSeconds: safeAt === null ? null : Math.max(0, Math.round((now - safeAt) / 1000)) };
  }

  setState(state: StreamReport["state"]): void {
    this.#set("state", streamStates.indexOf(state));
  }

  setSafeAt(at: number): void {
    this.#set("safeAt", at);
  }

  setSpoolBytes(bytes: number): void {
    this.#set("spoolBytes", bytes);
  }

  count(what: "gaps" | "failures"): void {
    Atomics.add(this.#cells, cells[what], 1n);
  }

  #set(cell: Cell, value: number): void {
    Atomics.store(this.#cells, cells[cell], BigInt(Math.round(value)));
  }
}
