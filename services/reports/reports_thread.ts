// Owns the reports thread, in the main thread. Other threads talk to it directly, each on a port of its own.
import { DatabaseError, type DatabaseSource } from "../../db/engine/database.ts";
import { requireDescriptorsForThread } from "../file_descriptors.ts";
import type { ReportsThreadRequest, ReportsThreadResponse } from "./job_messages.ts";

export interface ReportsConnector {
  /**
   * Transfers a port to the reports thread, and starts that thread if necessary.
   *
   * @returns Resolves when the reports thread was closed.
   * @throws {AppError} `unavailable` when it can't start. The next port may start it.
   * @throws {DatabaseError} `unavailable` when it failed or is closed. The next port goes to a new thread.
   */
  connect(port: MessagePort): Promise<void>;
}

interface Running {
  readonly worker: Worker;
  /** Settles when the thread has ended. */
  readonly ended: PromiseWithResolvers<void>;
}

/** Returns the reports thread, not yet connected to a database. */
export function newReportsWorker(): Worker {
  return new Worker(new URL("./reports_worker.ts", import.meta.url), { type: "module" });
}

/** Starts the reports thread when it is first needed, and again after it failed. */
export class ReportsThread implements ReportsConnector {
  readonly #source: DatabaseSource;
  readonly #onFailure: (error: Error) => void;
  readonly #newWorker: () => Worker;
  #running: Running | undefined;
  #isClosed = false;

  /** @param source What to read. @param options `onFailure`: called when the thread failed. `newWorker`: for tests. */
  constructor(
    source: DatabaseSource,
    options: { onFailure: (error: Error) => void; newWorker?: () => Worker },
  ) {
    this.#source = source;
    this.#onFailure = options.onFailure;
    this.#newWorker = options.newWorker ?? newReportsWorker;
  }

  async connect(port: MessagePort): Promise<void> {
    try {
      this.#running ??= this.#start();
    } catch (error) {
      port.close();
      throw error;
    }
    const { worker, ended } = this.#running;
    worker.postMessage({ type: "connect", port } satisfies ReportsThreadRequest, [port]);
    await ended.promise;
  }

  /** Ends all jobs and the thread. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#running === undefined) return;
    const { worker, ended } = this.#running;
    worker.postMessage({ type: "close" } satisfies ReportsThreadRequest);
    await ended.promise.catch(() => {});
  }

  #start(): Running {
    if (this.#isClosed) throw new DatabaseError("unavailable", "the reports thread is closed");
    requireDescriptorsForThread();
    const worker = this.#newWorker();
    const ended = Promise.withResolvers<void>();
    // Without connected threads, nothing waits for it.
    ended.promise.catch(() => {});
    const end = () => {
      worker.terminate();
      this.#running = undefined;
    };
    worker.onmessage = (_closed: MessageEvent<ReportsThreadResponse>) => {
      end();
      ended.resolve();
    };
    worker.onerror = (event) => {
      event.preventDefault();
      end();
      const error = new DatabaseError("unavailable", `the reports thread failed: ${event.message}`);
      ended.reject(error);
      this.#onFailure(error);
    };
    worker.postMessage({ type: "open", source: this.#source } satisfies ReportsThreadRequest);
    return { worker, ended };
  }
}
