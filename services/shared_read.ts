// A read of the same thing for many requests.

/** Reads at most once at a time, always after the requests that get the result. */
export class SharedRead<T> {
  readonly #read: () => Promise<T>;
  /** The read in progress. */
  #running: Promise<unknown> = Promise.resolve();
  /** The read that has not begun yet. */
  #next: Promise<T> | undefined;

  /** @param read Reads it. */
  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  /** @returns What a read finds that begins after this call. @throws What the read throws. */
  get(): Promise<T> {
    return this.#next ??= this.#start();
  }

  async #start(): Promise<T> {
    await this.#running;
    this.#next = undefined;
    const read = this.#read();
    this.#running = read.catch(() => {});
    return await read;
  }
}
