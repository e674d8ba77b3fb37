// Reuses threads that have closed their database, because starting one takes longer than many tests.

/** A thread until it is terminated. What its user does later doesn't reach the next one. */
class ReusedThread implements Pick<Worker, "onmessage" | "onerror" | "terminate"> {
  onmessage: Worker["onmessage"] = null;
  onerror: Worker["onerror"] = null;
  readonly #idle: Worker[];
  readonly #worker: Worker;
  #hasClosed = false;
  #isTerminated = false;

  constructor(worker: Worker, idle: Worker[]) {
    this.#idle = idle;
    this.#worker = worker;
    worker.onmessage = (event) => {
      this.#hasClosed = event.data.type === "closed";
      this.onmessage?.call(worker, event);
    };
    worker.onerror = (event) => this.onerror?.call(worker, event);
  }

  postMessage(message: unknown, transfer: Transferable[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  terminate(): void {
    if (this.#isTerminated) return;
    this.#isTerminated = true;
    if (this.#hasClosed) this.#idle.push(this.#worker);
    else this.#worker.terminate();
  }
}

/** @param module The thread's module in this folder. @returns Starts a thread, or returns one that is idle. */
function reused(module: string): () => Worker {
  const idle: Worker[] = [];
  const start = () => new Worker(new URL(module, import.meta.url), { type: "module" });
  return () => new ReusedThread(idle.pop() ?? start(), idle) as unknown as Worker;
}

/** The writer of a data file. */
export const newWriter = reused("./reused_writer.ts");
/** The reports thread. */
export const newReportsThread = reused("./reused_reports.ts");
