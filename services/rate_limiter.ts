// A limit of so many points in a window of time, for each name, in memory. Why not a library: docs/decisions/0004.

/** What is left of a name's points. */
export interface RateLimitState {
  /** Whether the point that was asked for was there. */
  readonly isAllowed: boolean;
  readonly remaining: number;
  /** Until the window ends, in milliseconds. */
  readonly resetMs: number;
}

/** Names kept before those whose window has ended are swept out. */
const namesBeforeSweep = 10_000;

/** Counts points by name in fixed windows that begin with a name's first point. */
export class RateLimiter {
  readonly #points: number;
  readonly #windowMs: number;
  readonly #clock: () => number;
  readonly #windows = new Map<string, { endsAt: number; used: number }>();
  #sweepAt = namesBeforeSweep;

  /** @param options `points` for each window of `windowMs` milliseconds; `clock`: milliseconds since 1970. */
  constructor(options: { points: number; windowMs: number; clock: () => number }) {
    this.#points = options.points;
    this.#windowMs = options.windowMs;
    this.#clock = options.clock;
  }

  /** How many names are kept; 0: nobody took a point of late. */
  get size(): number {
    return this.#windows.size;
  }

  /** Takes one point, or says that there is none. */
  take(name: string): RateLimitState {
    const window = this.#window(name);
    const isAllowed = window.used < this.#points;
    if (isAllowed) window.used++;
    return this.#state(window, isAllowed);
  }

  /** Says whether there is a point, and takes none. */
  peek(name: string): RateLimitState {
    const now = this.#clock();
    const window = this.#windows.get(name);
    const isRunning = window !== undefined && window.endsAt > now && window.endsAt <= now + this.#windowMs;
    const shown = isRunning ? window : { endsAt: now + this.#windowMs, used: 0 };
    return this.#state(shown, shown.used < this.#points);
  }

  /** Gives one point back. */
  giveBack(name: string): void {
    const window = this.#window(name);
    if (window.used > 0) window.used--;
  }

  #state(window: { endsAt: number; used: number }, isAllowed: boolean): RateLimitState {
    return { isAllowed, remaining: this.#points - window.used, resetMs: window.endsAt - this.#clock() };
  }

  #window(name: string): { endsAt: number; used: number } {
    const now = this.#clock();
    let window = this.#windows.get(name);
    // A clock that was set back must not leave a window that lasts for ever.
    if (window === undefined || window.endsAt <= now || window.endsAt > now + this.#windowMs) {
      window = { endsAt: now + this.#windowMs, used: 0 };
      this.#windows.set(name, window);
      if (this.#windows.size >= this.#sweepAt) this.#sweep(now);
    }
    return window;
  }

  #sweep(now: number): void {
    for (const [name, { endsAt }] of this.#windows) if (endsAt <= now) this.#windows.delete(name);
    this.#sweepAt = Math.max(namesBeforeSweep, this.#windows.size * 2);
  }
}
