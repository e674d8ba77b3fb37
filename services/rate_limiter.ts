// Fixed-window rate limits, counted by all threads of a process together. For why this is not a library, see
// docs/decisions/0004.
import { hash } from "node:crypto";
import { type RateLimitWindows, tagOf } from "./rate_limit_memory.ts";

/** The remaining points of a name. */
export interface RateLimitState {
  /** Whether a point was available. */
  readonly isAllowed: boolean;
  /** Negative if the name had more points when it took them. */
  readonly remaining: number;
  /** Until the window ends, in milliseconds. */
  readonly resetMs: number;
}

/** Options of a {@linkcode RateLimiter}. */
export interface RateLimiterOptions {
  /** Points per window. */
  readonly points: number;
  /** How long a window lasts. `Infinity`: until the process ends. */
  readonly windowMs: number;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Where points are counted. */
  readonly windows: RateLimitWindows;
  /** Whether all names are SHA-256 hashes as lowercase hex digits, so they needn't be hashed. */
  readonly hashedNames?: boolean;
}

/** Counts points by name, in windows that begin with a name's first point. */
export class RateLimiter {
  readonly #points: number;
  readonly #windowMs: number;
  readonly #clock: () => number;
  readonly #windows: RateLimitWindows;
  readonly #hashedNames: boolean;

  constructor(options: RateLimiterOptions) {
    this.#points = options.points;
    this.#windowMs = options.windowMs;
    this.#clock = options.clock;
    this.#windows = options.windows;
    this.#hashedNames = options.hashedNames ?? false;
  }

  /** Whether every name has all points: faster than asking for one name. False for up to a second longer. */
  get isUnused(): boolean {
    return this.#windows.latestEnd <= this.#clock();
  }

  /** Takes one point if there is one. @param points Per window, if this name has other ones. */
  take(name: string, points = this.#points): RateLimitState {
    return this.#count(name, 1, points);
  }

  /** Checks for a point without taking it. @param points Per window, if this name has other ones. */
  peek(name: string, points = this.#points): RateLimitState {
    return this.#count(name, 0, points);
  }

  /** Returns one point. */
  giveBack(name: string): void {
    this.#count(name, -1, this.#points);
  }

  #count(name: string, change: 1 | 0 | -1, points: number): RateLimitState {
    const nameHash = this.#hashedNames ? name : hash("sha256", name, "hex");
    const tag = tagOf(nameHash);
    const windows = this.#windows;
    const bucket = windows.lock(nameHash);
    try {
      // Read while the bucket is locked: a window that another thread has just begun must not seem to be in the future.
      const now = this.#clock();
      const latestEnd = now + this.#windowMs;
      const found = windows.find(bucket, tag);
      let used = 0;
      let endsAt = latestEnd;
      // A window that ends later than a new one began before the clock was set back.
      if (found !== undefined && windows.endsAt(found) > now && windows.endsAt(found) <= latestEnd) {
        used = windows.used(found);
        endsAt = windows.endsAt(found);
      }
      const isAllowed = used < points;
      if (change === 1 ? isAllowed : change === -1 && used > 0) {
        used += change;
        windows.set(found ?? windows.leastUsed(bucket, now), { tag, endsAt, used });
      }
      return { isAllowed, remaining: points - used, resetMs: endsAt - now };
    } finally {
      windows.unlock(bucket);
    }
  }
}
