// How the copier and the writer take turns, over memory that both share. While the log is held, it is checkpointed only in a turn:
// the copier has then copied everything up to a mark that it holds as a reader, and a checkpoint never goes beyond a reader's mark.
import { streamAnswerMs, streamSilenceMs, streamTurnMs } from "../../../domain/stream_limits.ts";
import { checkpointPages, type Connection } from "../connection.ts";
import { DatabaseError } from "../database.ts";
import type { WriterSignal } from "../writer.ts";

/** `hold`: stop automatic checkpoints. `release`: start them again. `seal`: like `turn`, and complete the data file. */
export type Request = "hold" | "release" | "turn" | "seal";
const requests: readonly Request[] = ["hold", "release", "turn", "seal"];

/** The states. `paused`: the writer waits; `copied`: it may go on; `late`: it didn't wait any longer; from `asked` on: the requests. */
const [idle, done, failed, working, paused, copied, late, asked] = [0, 1, 2, 3, 4, 5, 6, 7] as const;
const [stateCell, lifeCell, heldCell, framesCell, doneFramesCell] = [0, 1, 2, 3, 4] as const;

/** The frames of the log, as SQLite counts them. */
export interface Checkpoint {
  readonly log: number;
  readonly checkpointed: number;
}

export type TurnMemory = SharedArrayBuffer;

/** @param options `isHeld`: true if an earlier run's copy is continued: until the copier runs, nothing may be checkpointed. */
export function newTurnMemory({ isHeld }: { isHeld: boolean }): TurnMemory {
  const memory = new SharedArrayBuffer(5 * Int32Array.BYTES_PER_ELEMENT);
  new Int32Array(memory)[heldCell] = isHeld ? 1 : 0;
  return memory;
}

/** The writer's side. */
export class WriterTurns {
  readonly #connection: Connection;
  readonly #cells: Int32Array<SharedArrayBuffer>;
  readonly #silenceMs: number;
  #life = 0;
  #aliveAt = 0;
  /** True if the data file is complete and nothing was written since. */
  isSealed = false;

  constructor(connection: Connection, memory: TurnMemory, { silenceMs = streamSilenceMs } = {}) {
    this.#connection = connection;
    this.#cells = new Int32Array(memory);
    this.#silenceMs = silenceMs;
    if (this.#cells[heldCell] === 1) connection.checkpointAt(0);
    this.#noteLife();
  }

  /** Handles a request of the copier, if there is one. Call it between two transactions. */
  serve(): void {
    const state = Atomics.load(this.#cells, stateCell);
    const request = requests[state - asked];
    if (request === undefined) return this.#releaseIfSilent();
    // Otherwise the copier has just given up.
    if (Atomics.compareExchange(this.#cells, stateCell, state, working) !== state) return;
    try {
      if (request === "hold" || request === "release") this.#hold(request === "hold");
      else if (!this.#turn(request)) return;
      this.#end(done);
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      this.#end(failed);
    }
  }

  /** Notes that something was written. */
  noteCommit(): void {
    this.isSealed = false;
  }

  #hold(isHeld: boolean): void {
    // The checkpoint of this commit may complete the data file. Then the next commit begins a new round of the log.
    this.#commitPage();
    this.#connection.checkpointAt(isHeld ? 0 : checkpointPages);
    if (isHeld) this.#commitPage();
    Atomics.store(this.#cells, heldCell, isHeld ? 1 : 0);
    this.#noteLife();
  }

  /** Returns false if the copier took too long. */
  #turn(request: "turn" | "seal"): boolean {
    const connection = this.#connection;
    // As every checkpoint, it follows a commit of the same connection (decision 64).
    this.#commitPage();
    const version = connection.dataVersion();
    this.#end(paused);
    Atomics.wait(this.#cells, stateCell, paused, request === "seal" ? streamAnswerMs : streamTurnMs);
    Atomics.compareExchange(this.#cells, stateCell, paused, late);
    if (Atomics.compareExchange(this.#cells, stateCell, copied, working) !== copied) return false;
    const { busy, log, checkpointed } = connection.checkpointNow(request === "seal" ? "TRUNCATE" : "PASSIVE");
    Atomics.store(this.#cells, framesCell, log);
    Atomics.store(this.#cells, doneFramesCell, checkpointed);
    if (request === "turn") return true;
    // The copier had everything if no other connection has committed since.
    if (busy !== 0 || connection.dataVersion() !== version) {
      this.#end(failed);
      return false;
    }
    return this.isSealed = true;
  }

  /** Writes a page, even though the value stays the same. */
  #commitPage(): void {
    this.#connection.exec("PRAGMA user_version = 0");
    this.isSealed = false;
  }

  #end(state: number): void {
    Atomics.store(this.#cells, stateCell, state);
    Atomics.notify(this.#cells, stateCell);
  }

  /** A copier that has died or hangs must not let the log grow. */
  #releaseIfSilent(): void {
    if (Atomics.load(this.#cells, heldCell) === 0) return;
    if (Atomics.load(this.#cells, lifeCell) !== this.#life) return this.#noteLife();
    if (performance.now() - this.#aliveAt < this.#silenceMs) return;
    Atomics.store(this.#cells, heldCell, 0);
    this.#connection.checkpointAt(checkpointPages);
  }

  #noteLife(): void {
    this.#life = Atomics.load(this.#cells, lifeCell);
    this.#aliveAt = performance.now();
  }
}

/** The copier's side. All methods block the thread. */
export class CopierTurns {
  readonly #cells: Int32Array<SharedArrayBuffer>;
  readonly #signal: WriterSignal;

  constructor(memory: TurnMemory, signal: WriterSignal) {
    this.#cells = new Int32Array(memory);
    this.#signal = signal;
  }

  /** False if the log may have been checkpointed without the copier. */
  get isHeld(): boolean {
    return Atomics.load(this.#cells, heldCell) === 1;
  }

  showLife(): void {
    Atomics.add(this.#cells, lifeCell, 1);
  }

  /** Returns false if the writer did not do it. */
  hold(isHeld: boolean): boolean {
    return this.#ask(isHeld ? "hold" : "release") === done;
  }

  /**
   * Asks for a checkpoint.
   *
   * @param copy Called while the writer waits. Must begin a read transaction and copy the log.
   * @returns After a turn the frames that the log has, and those of them that are in the data file; null if there was no checkpoint.
   */
  checkpoint(request: "turn" | "seal", copy: () => void): Checkpoint | null {
    if (this.#ask(request) !== paused) return null;
    let isCopied = false;
    try {
      copy();
      isCopied = Atomics.compareExchange(this.#cells, stateCell, paused, copied) === paused;
    } finally {
      Atomics.compareExchange(this.#cells, stateCell, paused, late);
      Atomics.notify(this.#cells, stateCell);
    }
    if (!isCopied) return null;
    this.#waitWhile(copied);
    // The writer must not checkpoint once the copier's mark has ended.
    Atomics.compareExchange(this.#cells, stateCell, copied, late);
    if (this.#waitWhile(working) !== done) return null;
    const [log, checkpointed] = [framesCell, doneFramesCell].map((cell) => Atomics.load(this.#cells, cell));
    // Negative if another program was checkpointing.
    return Number(log) < 0 ? null : { log, checkpointed } as Checkpoint;
  }

  /** Returns the state that follows a request; `idle` if the writer doesn't respond. */
  #ask(request: Request): number {
    const code = asked + requests.indexOf(request);
    Atomics.store(this.#cells, stateCell, code);
    Atomics.add(this.#signal, 0, 1);
    Atomics.notify(this.#signal, 0);
    Atomics.wait(this.#cells, stateCell, code, streamAnswerMs);
    if (Atomics.compareExchange(this.#cells, stateCell, code, idle) === code) return idle;
    return this.#waitWhile(working);
  }

  /** Returns the next state, or the same one if the writer has died. */
  #waitWhile(state: number): number {
    for (let n = 0; n < 10 && Atomics.load(this.#cells, stateCell) === state; n++) {
      Atomics.wait(this.#cells, stateCell, state, streamAnswerMs);
    }
    return Atomics.load(this.#cells, stateCell);
  }
}
