// Copies the log of a data file in use to the spool, takes turns with the writer, and begins a new chain after a gap. All of it
// blocks its thread; uploads and snapshots go on in between.
import {
  streamCatchUpBytes,
  streamCatchUpSteps,
  streamCheckpointFrames,
  streamCommitBytesMax,
  streamLogFramesMax,
  streamRetryFrames,
  streamSegmentBytesMax,
} from "../../../domain/stream_limits.ts";
import type { Connection } from "../connection.ts";
import { type EncryptionKeys, hashOf, seal } from "./envelope.ts";
import { LogGap, logHas, type LogPosition, readLog } from "./log_reader.ts";
import { chainName, encodeSegment, segmentName } from "./segment.ts";
import { reading, type Resume, type Spool } from "./spool.ts";
import type { Checkpoint, CopierTurns } from "./turns.ts";

/** An uninterrupted copy of the log. */
interface Chain {
  readonly name: string;
  /** The number of its last segment; before the first one, the number before that. */
  readonly number: number;
  readonly previous: string | null;
  /** Null for the beginning of the log's current round. */
  readonly position: LogPosition | null;
  /** The segment with which the current round of the log begins. */
  readonly roundFrom: number;
}

export interface CopierOptions {
  readonly path: string;
  readonly connection: Connection;
  readonly spool: Spool;
  readonly turns: Pick<CopierTurns, "isHeld" | "showLife" | "hold" | "checkpoint">;
  readonly keys: EncryptionKeys;
  readonly spoolBytesMax: number;
  readonly clock: () => number;
  /** For tests. */
  readonly limits?: typeof defaultLimits;
}

const defaultLimits = {
  checkpointFrames: streamCheckpointFrames,
  retryFrames: streamRetryFrames,
  logFramesMax: streamLogFramesMax,
  bytesMax: streamSegmentBytesMax,
  commitBytesMax: streamCommitBytesMax,
  catchUpBytes: streamCatchUpBytes,
};

export class Copier {
  readonly #options: CopierOptions;
  readonly #limits: typeof defaultLimits;
  #chain: Chain | null = null;
  /** Everything that was committed before this time is copied. */
  #completeAt = 0;
  #log: Deno.FsFile | undefined;
  /** The frame at which the last turn was taken, without completing the data file. */
  #turnedAt = -Infinity;
  /** True if the last turn ended without a checkpoint. */
  #isLate = false;
  /** True if the last turn found copied frames that SQLite didn't count yet: a command may be committing them, or will fail to. */
  #isAhead = false;

  constructor(options: CopierOptions) {
    this.#options = options;
    this.#limits = options.limits ?? defaultLimits;
  }

  /** Null while nothing is copied. */
  get chain(): Pick<Chain, "name" | "number" | "roundFrom"> | null {
    return this.#chain;
  }

  /** False if the data file may have what isn't copied. */
  get isHeld(): boolean {
    return this.#options.turns.isHeld;
  }

  /** The number of copied frames of the log's current round. */
  get frame(): number {
    return this.#chain?.position?.frame ?? 0;
  }

  /** Continues the copy of an earlier run. */
  resume({ head, hash, isSealed }: Resume): void {
    const { chain: name, number, position, roundFrom } = head;
    this.#completeAt = head.startedAt;
    this.#chain = { name, number, previous: hash, position: isSealed ? null : position, roundFrom };
  }

  /** Begins a new chain. Returns false if the writer doesn't respond. @param after The highest number that was ever used. */
  begin(after: number): boolean {
    if (!this.#options.turns.hold(true)) return false;
    this.#chain = {
      name: chainName(after + 1),
      number: after,
      previous: null,
      position: null,
      roundFrom: after + 1,
    };
    this.#turnedAt = -Infinity;
    this.#completeAt = 0;
    this.#isAhead = this.#isLate = false;
    return true;
  }

  /**
   * Shows the writer that the log is being copied, and lets it be checkpointed when it is long. Call it about every second.
   *
   * @param options `isDue`: true to copy what was committed even if the log is short.
   * @returns True if everything is copied.
   * @throws {LogGap}
   */
  step({ isDue } = { isDue: true }): boolean {
    const { spool, turns, spoolBytesMax } = this.#options;
    turns.showLife();
    if (this.#chain === null) return false;
    this.#requireHeld();
    if (spool.bytes > spoolBytesMax) throw new LogGap("too many segments wait for their upload");
    try {
      const copies = isDue || this.#logHas(this.#turnFrames);
      if (copies) this.copy();
      this.#takeTurn();
      return copies;
    } catch (error) {
      // With a full disk the log waits, but it doesn't grow without end.
      if (error instanceof LogGap || !this.#logHas(this.#limits.logFramesMax)) throw error;
      throw new LogGap("the log is too long", { cause: error });
    }
  }

  /** Stops copying: the log is checkpointed again as without a copy. */
  end(): void {
    this.#chain = null;
    this.#options.turns.hold(false);
  }

  /** Completes the data file and notes that, if nothing else was committed. */
  seal(): boolean {
    const { path, spool, turns } = this.#options;
    // A turn compares what was copied with the log. After it, only the writer commits.
    if (this.#chain === null || !this.#turn()) return false;
    const { number } = this.#chain;
    const checkpoint = turns.checkpoint("seal", () => this.copy());
    if (checkpoint === null || this.#chain.number === number) return false;
    this.#requireHeld();
    spool.seal(path, this.#chain.number);
    return true;
  }

  close(): void {
    this.#log?.close();
  }

  /** Copies what was committed to the spool. Returns the size of the last part. @throws {LogGap} */
  copy(): number {
    const { path, spool, turns, keys, clock } = this.#options;
    let last = 0;
    for (let hasMore = true; hasMore && this.#chain !== null;) {
      this.#log ??= Deno.openSync(`${path}-wal`);
      const chain: Chain = this.#chain;
      const readAt = clock();
      const part = readLog(reading(this.#log), chain.position, this.#limits);
      // What was read before is complete only if the log is still held.
      this.#requireHeld();
      last = part === null ? 0 : part.pages.size * part.pageSize;
      // The rest of the log may have been committed before, too.
      const startedAt = part?.hasMore ? this.#completeAt : readAt;
      if (part === null) {
        this.#completeAt = startedAt;
        break;
      }
      turns.showLife();
      const number = chain.number + 1;
      const roundFrom = part.beginsRound ? number : chain.roundFrom;
      if (part.beginsRound) {
        if (this.#isAhead) throw new LogGap("a commit failed after it was copied");
        this.#turnedAt = -Infinity;
        this.#isLate = false;
      }
      const endedAt = clock();
      const name = segmentName(chain.name, number, endedAt);
      const head = { chain: chain.name, number, previous: chain.previous, startedAt, endedAt, roundFrom };
      const bytes = seal(name, encodeSegment(part, head), keys);
      spool.addSegment(name, bytes, startedAt);
      this.#completeAt = startedAt;
      this.#chain = { name: chain.name, number, previous: hashOf(bytes), position: part.position, roundFrom };
      hasMore = part.hasMore;
    }
    return last;
  }

  #requireHeld(): void {
    if (!this.isHeld) throw new LogGap("the log was checkpointed without this copy");
  }

  #takeTurn(): void {
    const { catchUpBytes, logFramesMax } = this.#limits;
    if (this.frame >= this.#turnFrames) {
      for (let n = 0; n < streamCatchUpSteps && this.copy() > catchUpBytes; n++);
      this.#isLate = !this.#turn();
      this.#turnedAt = this.frame;
    }
    if (this.#isLate && this.frame > logFramesMax) throw new LogGap("the log is too long");
  }

  /** Returns false if there was no checkpoint. @throws {LogGap} */
  #turn(): boolean {
    const { connection, turns } = this.#options;
    const { frame } = this;
    const roundFrom = this.#chain?.roundFrom;
    try {
      const checkpoint = turns.checkpoint("turn", () => {
        // The mark: the checkpoint doesn't go beyond it, and everything up to it is copied.
        connection.exec("BEGIN");
        connection.first({ sql: "SELECT 1 FROM sqlite_schema", args: [] });
        this.copy();
      });
      if (checkpoint !== null) {
        // A new round begins only after everything before was checkpointed.
        this.#noteTurn(checkpoint, { before: this.#chain?.roundFrom === roundFrom ? frame : 0 });
      }
      return checkpoint !== null;
    } finally {
      if (connection.inTransaction) connection.exec("ROLLBACK");
    }
  }

  /**
   * Compares what was copied with what SQLite counts.
   *
   * @param options `before`: the frame up to which was copied before the writer's own commit, which waited for all others.
   */
  #noteTurn({ log, checkpointed }: Checkpoint, { before }: { before: number }): void {
    if (log < before) throw new LogGap("a commit failed after it was copied");
    if (checkpointed > this.frame) throw new LogGap("the log has frames that can't be read");
    this.#isAhead = log < this.frame;
  }

  /** The number of copied frames at which the log is to be checkpointed. */
  get #turnFrames(): number {
    const { checkpointFrames, retryFrames } = this.#limits;
    return Math.max(checkpointFrames, this.#turnedAt + retryFrames);
  }

  #logHas(frames: number): boolean {
    return this.#log !== undefined && logHas(reading(this.#log), frames);
  }
}
