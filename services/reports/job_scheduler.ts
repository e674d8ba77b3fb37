// Schedules the reports thread. Jobs run in time slices of some milliseconds, shared by round robin between readers. A
// job that waits for its client holds no slice and doesn't count as running.
import { unavailableError } from "../../domain/errors.ts";
import type { JobReader } from "./job_reader.ts";

export interface JobLimits {
  /** Slices at the same time: one where reading is synchronous. */
  readonly slicesMax: number;
  /** Running jobs of one reader, without those that wait for their clients. */
  readonly runningPerReaderMax: number;
  /** Open jobs of one reader and, without work, of all: running, not yet started, or waiting for their clients. */
  readonly openPerReaderMax: number;
  readonly openMax: number;
}

interface Waiting {
  readonly resume: () => void;
  readonly reject: (error: unknown) => void;
}

/** The jobs of one reader: open ones, and those that wait for a slice. */
interface ReaderJobs {
  readonly isWork: boolean;
  /** Cancel open jobs, the newest last. */
  readonly open: Set<AbortController>;
  running: number;
  /** Not running: those that waited for their clients go before new ones. */
  readonly returning: Waiting[];
  readonly starting: Waiting[];
  /** Running, and waiting for the next slice. */
  readonly paused: Waiting[];
}

/** For this long after a slice, in milliseconds, messages that arrived during it may still be unread. */
const unreadMs = 5;

export class JobScheduler {
  readonly #limits: JobLimits;
  /** By name; the first one is served next. */
  readonly #readers = new Map<string, ReaderJobs>();
  #open = 0;
  #slices = 0;
  #waiting = 0;
  #sliceEndedAt = Number.NEGATIVE_INFINITY;
  #isScheduled = false;
  #isDraining = false;

  constructor(limits: JobLimits) {
    this.#limits = limits;
  }

  /**
   * Opens a job. When too many are open, the newest of the reader with the most is canceled in favor of a reader with fewer.
   *
   * @param cancel Cancels the job.
   * @returns The job's access to slices. Each method throws the signal's reason when the job was canceled.
   * @throws {AppError} `unavailable` when there are too many jobs.
   */
  enter({ name, isWork }: JobReader, cancel: AbortController) {
    const { signal } = cancel;
    const own = this.#readers.get(name) ??
      { isWork, open: new Set<AbortController>(), running: 0, returning: [], starting: [], paused: [] };
    if (this.#isDraining && !isWork) throw stoppingError();
    if (own.open.size >= this.#limits.openPerReaderMax) {
      throw unavailableError("Too many of your reports are open. Try again when one has finished.");
    }
    if (!isWork && this.#open >= this.#limits.openMax && !this.#makeRoom(own)) throw tooManyError();
    this.#readers.set(name, own);
    own.open.add(cancel);
    if (!isWork) this.#open++;
    const close = () => {
      if (own.open.delete(cancel) && !isWork) this.#open--;
    };
    // A canceled job may take a moment to leave. The next request must not find it open.
    signal.addEventListener("abort", close);
    let [hasSlice, isRunning] = [false, false];
    const release = ({ staysRunning }: { staysRunning: boolean }) => {
      if (hasSlice) {
        this.#slices--;
        this.#sliceEndedAt = performance.now();
      }
      hasSlice = false;
      if (isRunning && !staysRunning) {
        own.running--;
        isRunning = false;
      }
      this.#grantSoon();
    };
    const wait = async (queue: Waiting[]) => {
      await this.#wait(queue, signal);
      hasSlice = true;
      isRunning = true;
    };
    return {
      /** Waits for the first slice. @throws {AppError} `unavailable` when the program stops before it. */
      start: () => wait(own.starting),
      /** Ends the slice and waits for the next one. */
      pause: () => {
        const next = wait(own.paused);
        release({ staysRunning: true });
        return next;
      },
      /** Waits for something slow without holding a slice. */
      waitFor: async (slow: Promise<void>) => {
        release({ staysRunning: false });
        await slow;
        await wait(own.returning);
      },
      leave: () => {
        release({ staysRunning: false });
        close();
        if (own.open.size === 0 && this.#readers.get(name) === own) this.#readers.delete(name);
      },
    };
  }

  /** Cancels a job of the reader with the most. @returns True if that reader has more than this one will have. */
  #makeRoom(own: ReaderJobs): boolean {
    let largest = own;
    for (const other of this.#readers.values()) {
      if (!other.isWork && other.open.size > largest.open.size) largest = other;
    }
    const newest = [...largest.open].at(-1);
    if (newest === undefined || largest.open.size <= own.open.size + 1) return false;
    newest.abort(tooManyError());
    return true;
  }

  /** Rejects jobs that have not started, and new ones, except for work. */
  drain(): void {
    this.#isDraining = true;
    for (const { isWork, starting } of this.#readers.values()) {
      if (isWork) continue;
      for (const waiting of [...starting]) waiting.reject(stoppingError());
    }
  }

  #wait(queue: Waiting[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const end = () => {
        signal.removeEventListener("abort", cancel);
        const index = queue.indexOf(waiting);
        if (index >= 0) queue.splice(index, 1);
        this.#waiting--;
      };
      const cancel = () => waiting.reject(signal.reason);
      const waiting: Waiting = {
        resume: () => (end(), resolve()),
        reject: (error) => (end(), reject(error)),
      };
      signal.addEventListener("abort", cancel);
      this.#waiting++;
      queue.push(waiting);
      // No message is received during a slice: right after it, others may have arrived before the one being handled.
      if (performance.now() - this.#sliceEndedAt < unreadMs) this.#grantSoon();
      else if (!this.#isScheduled) this.#grant();
    });
  }

  /** Grants after the messages that have arrived: one may cancel a job, another may start one that comes first. */
  #grantSoon(): void {
    if (this.#isScheduled || this.#waiting === 0) return;
    this.#isScheduled = true;
    setTimeout(() => {
      this.#isScheduled = false;
      this.#grant();
    }, 0);
  }

  #grant(): void {
    while (this.#slices < this.#limits.slicesMax) {
      const waiting = this.#next();
      if (waiting === undefined) return;
      this.#slices++;
      waiting.resume();
    }
  }

  #next(): Waiting | undefined {
    for (const [name, own] of this.#readers) {
      const [next = own.starting[0]] = own.returning;
      const canStart = next !== undefined && own.running < this.#limits.runningPerReaderMax;
      const waiting = canStart ? next : own.paused[0];
      if (waiting === undefined) continue;
      if (canStart) own.running++;
      this.#readers.delete(name);
      this.#readers.set(name, own);
      return waiting;
    }
    return undefined;
  }
}

function tooManyError() {
  return unavailableError("Too many reports are open. Try again shortly.");
}

function stoppingError() {
  return unavailableError("The service is shutting down. Try again shortly.");
}
