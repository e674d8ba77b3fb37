// Bounds what callers who write large batches have in progress together, so that all others wait for few of their rows.

/** Runs commits together while they have few rows. The others wait, in their order. */
export class CommitRoom {
  #left: number;
  readonly #waiting: { readonly rows: number; readonly start: () => void }[] = [];

  /** @param rows Of all commits in progress, and of the largest one. */
  constructor(rows: number) {
    this.#left = rows;
  }

  /** Returns the result of a commit with this many rows. */
  async run<T>(rows: number, commit: () => Promise<T>): Promise<T> {
    const isRunning = new Promise<void>((start) => this.#waiting.push({ rows, start }));
    this.#startNext();
    await isRunning;
    try {
      return await commit();
    } finally {
      this.#left += rows;
      this.#startNext();
    }
  }

  #startNext(): void {
    for (let [next] = this.#waiting; next !== undefined && next.rows <= this.#left; [next] = this.#waiting) {
      this.#waiting.shift();
      this.#left -= next.rows;
      next.start();
    }
  }
}
