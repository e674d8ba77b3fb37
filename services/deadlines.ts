// Deadlines of many short waits, checked by one timer: a timer for each request costs more than reading its body.

/** Waits with a time limit. The owner calls {@linkcode Deadlines.sweep} about once a second. */
export class Deadlines {
  readonly #clock: () => number;
  readonly #waits = new Map<
    (error: Error) => void,
    { readonly endsAt: number; readonly error: () => Error }
  >();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Waits for a promise until `timeoutMs`, rounded up to the next sweep, and then rejects with `error`. */
  within<T>(promise: Promise<T>, options: { timeoutMs: number; error: () => Error }): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waits.set(reject, { endsAt: this.#clock() + options.timeoutMs, error: options.error });
      promise.then((value) => {
        this.#waits.delete(reject);
        resolve(value);
      }, (error) => {
        this.#waits.delete(reject);
        reject(error);
      });
    });
  }

  sweep(): void {
    const now = this.#clock();
    for (const [reject, { endsAt, error }] of this.#waits) {
      if (endsAt > now) continue;
      this.#waits.delete(reject);
      reject(error());
    }
  }
}
