// Fixed-window rate limits in memory. For why this is not a library, see docs/decisions/0004.

/** The remaining points of a name. */
export interface RateLimitState {
  /** Whether a point was available. */
  readonly isAllowed: boolean;
  readonly remaining: number;
  /** Until the window ends, in milliseconds. */
  readonly resetMs: number;
}

/** With this many names, those whose window has ended are deleted. */
const namesBeforeSweep = 10_000;

/** Counts points by name, in windows that begin with a name's first point. */
export class RateLimiter {
  readonly #points: number;
  readonly #windowMs: number;
  readonly #clock: () => number;
  readonly #windows = new Map<string, { endsAt: number; used: number }>();
  #sweepAt = namesBeforeSweep;

  /** @param options `points` per window of `windowMs` milliseconds. `clock`: milliseconds since 1970. */
  constructor(options: { points: number; windowMs: number; clock: () => number }) {
    this.#points = options.points;
    this.#windowMs = options.windowMs;
    this.#clock = options.clock;
  }

  /** The number of names; 0 when no point was taken recently. */
  get size(): number {
    return this.#windows.size;
  }

  /** Takes one point if there is one. */
  take(name: string): RateLimitState {
    const window = this.#window(name);
    const isAllowed = window.used < this.#points;
    if (isAllowed) window.used++;
    return this.#state(window, isAllowed);
  }

  /** Checks for a point without taking it. */
  peek(name: string): RateLimitState {
    const now = this.#clock();
    const window = this.#windows.get(name);
    const isRunning = window !== undefined && window.endsAt > now && window.endsAt <= now + this.#windowMs;
    const current = isRunning ? window : { endsAt: now + this.#windowMs, used: 0 };
    return this.#state(current, current.used < this.#points);
  }

  /** Returns one point. */
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
    // The last condition replaces a window that would not end for long, because the clock was set back.
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
