// Collects usage and sends it to Gatehouse in the background. record() never throws and never waits for the network.
import process from "node:process";
import { setTimeout } from "node:timers";
import { rejectUnknown } from "../errors.ts";
import { type MeterOptions, type MeterSettings, meterSettings } from "./options.ts";
import { Problems } from "./problems.ts";
import { MemoryQueue, type Queue } from "./queue.ts";
import { recordLine, type Usage } from "./record.ts";
import { Sender } from "./sender.ts";
import { SpoolQueue } from "./spool.ts";

export type { MeterOptions } from "./options.ts";
export type { MeterProblem, MeterProblemKind } from "./problems.ts";
export type { SentRecord, Usage } from "./record.ts";

/** Records since the start: `recorded` + `adopted` = `waiting` + `sent` + `rejected` + `dropped` + `damaged`. */
export interface MeterStats {
  /** Number of `record()` calls. */
  readonly recorded: number;
  /** Left in the spool by other processes. */
  readonly adopted: number;
  /** Not sent yet, or not acknowledged. */
  readonly waiting: number;
  /** Acknowledged by Gatehouse. */
  readonly sent: number;
  /** The part of `sent` that Gatehouse had already. */
  readonly duplicates: number;
  /** Invalid, or beyond a limit. */
  readonly rejected: number;
  /** Lost: there was no room, or the meter was closed and has no spool. */
  readonly dropped: number;
  /** Lines of the spool that could not be read. */
  readonly damaged: number;
  /** Quantities that were rounded to 6 decimal places. */
  readonly rounded: number;
}

const waitMs = 10_000;
/** The longest time of a timer. */
const timerMsMax = 2 ** 31 - 1;
const roundedNamesMax = 1_000;
/** A signal that the process sends to itself arrives within this time. */
const signalMsMax = 5_000;

/** Records usage. Create one for the life of a process, and close it at the end. */
export class Meter {
  readonly #settings: MeterSettings;
  readonly #problems: Problems;
  readonly #queue: Queue;
  readonly #sender: Sender;
  #recorded = 0;
  #invalid = 0;
  #dropped = 0;
  #rounded = 0;
  /** Products and metrics whose rounding was reported. */
  readonly #roundedNames = new Set<string>();
  #closing: Promise<boolean> | undefined;
  #isClosed = false;

  /** @throws {TypeError} Without an address or a credential, with an unknown option, or if other users can change the spool. */
  constructor(options: MeterOptions = {}) {
    this.#settings = meterSettings(options);
    const { spool, spoolBytesMax, waitingRecordsMax, onProblem, handleSigterm } = this.#settings;
    this.#problems = new Problems(onProblem);
    const memory = new MemoryQueue(waitingRecordsMax);
    this.#queue = spool === undefined ? memory : new SpoolQueue({
      folder: spool,
      bytesMax: spoolBytesMax,
      memory,
      problems: this.#problems,
      onAdopted: () => this.#sender?.wake(),
    });
    this.#sender = new Sender(this.#settings, this.#queue, this.#problems);
    this.#sender.wake();
    if (handleSigterm) process.on("SIGTERM", this.#endProcess);
  }

  /** Records usage. Returns immediately and never throws: `stats()` and `onProblem` report rejected and dropped usage. */
  record(usage: Usage): void {
    this.#recorded++;
    let line: string;
    try {
      const made = recordLine(usage, this.#settings.isOperator);
      line = made.line;
      if (made.isRounded) this.#reportRounded(usage);
    } catch (error) {
      this.#invalid++;
      this.#problems.report("rejected", { reason: messageOf(error), count: 1 });
      return;
    }
    const isKept = this.#queue.push(line);
    if (!isKept) this.#drop(1, this.#isClosed ? "the meter is closed" : "too many records wait");
    else this.#sender.wake();
  }

  /** Sends all usage recorded so far. Returns true if Gatehouse has recorded or rejected it in time. Default time: 10 seconds. */
  async flush({ timeoutMs = waitMs, ...unknown }: { timeoutMs?: number | undefined } = {}): Promise<boolean> {
    rejectUnknown(unknown, "flush()");
    return await this.#sender.flush(this.#queue.newest, Math.min(timeoutMs, timerMsMax));
  }

  /** Returns true if everything recorded so far is on disk, or settled. Never without a spool. */
  async sync(): Promise<boolean> {
    return await this.#queue.sync();
  }

  /**
   * Sends all usage, also of requests that are still served. The rest waits in the spool for the next process, or is dropped
   * without a spool. Returns true if everything was sent or rejected in time. Default time: 10 seconds.
   */
  async close({ timeoutMs = waitMs, ...unknown }: { timeoutMs?: number | undefined } = {}): Promise<boolean> {
    rejectUnknown(unknown, "close()");
    return await (this.#closing ??= this.#close(timeoutMs));
  }

  stats(): MeterStats {
    const { sent, duplicates, rejected } = this.#sender.counts;
    const { adopted, damaged } = this.#queue.counts;
    return {
      recorded: this.#recorded,
      adopted,
      waiting: this.#queue.count,
      sent,
      duplicates,
      rejected: rejected + this.#invalid,
      dropped: this.#dropped,
      damaged,
      rounded: this.#rounded,
    };
  }

  async #close(timeoutMs: number): Promise<boolean> {
    process.off("SIGTERM", this.#endProcess);
    const end = performance.now() + timeoutMs;
    this.#sender.hurry();
    await this.flush({ timeoutMs });
    // Requests that are still served record more meanwhile.
    const isDone = await this.flush({ timeoutMs: end - performance.now() });
    await this.#sender.stop();
    await this.#queue.sync();
    this.#isClosed = true;
    this.#drop(await this.#queue.close(), "the meter was closed");
    this.#problems.flush();
    return isDone;
  }

  /** Closes the meter on SIGTERM. Then the signal ends the process, unless the application listens to it. */
  readonly #endProcess = async (): Promise<void> => {
    await this.close();
    if (process.listenerCount("SIGTERM") > 0) return;
    process.kill(process.pid, "SIGTERM");
    // Deno handles signals in another thread: until then, the process must not end as if it had finished its work.
    setTimeout(() => {}, signalMsMax);
  };

  #drop(count: number, reason: string): void {
    if (count === 0) return;
    this.#dropped += count;
    this.#problems.report("dropped", { reason, count });
  }

  #reportRounded({ product, metric, quantity }: Usage): void {
    this.#rounded++;
    const name = `${product}/${metric}`;
    if (this.#roundedNames.has(name) || this.#roundedNames.size >= roundedNamesMax) return;
    this.#roundedNames.add(name);
    this.#problems.report("rounded", {
      reason: `${name}: ${quantity} has more than 6 decimal places`,
      count: 1,
    });
  }
}

function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return "invalid usage";
  }
}
