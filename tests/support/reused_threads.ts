// Reuses threads that have closed their database, because starting one takes longer than many tests.

/** @param module The thread's module in this folder. @returns Like a constructor: starts a thread, or returns one that is idle. */
function reused(module: string): () => Worker {
  const idle: Worker[] = [];
  class Reused extends Worker {
    #hasClosed = false;

    constructor() {
      super(new URL(module, import.meta.url), { type: "module" });
      this.addEventListener("message", ({ data }) => this.#hasClosed = data.type === "closed");
    }

    override terminate(): void {
      if (!this.#hasClosed) return super.terminate();
      this.#hasClosed = false;
      idle.push(this);
    }
  }
  return () => idle.pop() ?? new Reused();
}

/** The writer of a data file. */
export const newWriter = reused("./reused_writer.ts");
/** The reports thread. */
export const newReportsThread = reused("./reused_reports.ts");
