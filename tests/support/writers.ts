// Reuses the writer of a closed database for the next one, because starting a thread takes longer than many tests.

/** Writers that have closed their database. */
const idle: Writer[] = [];

class Writer extends Worker {
  #hasClosed = false;

  constructor() {
    super(new URL("./writer_worker.ts", import.meta.url), { type: "module" });
    this.addEventListener("message", ({ data }) => this.#hasClosed = data.type === "closed");
  }

  override terminate(): void {
    if (this.#hasClosed) idle.push(this);
    else super.terminate();
  }
}

/** @returns A writer without a database. */
export function newWriter(): Worker {
  return idle.pop() ?? new Writer();
}
