// Fixed-window rate limits, counted by all threads of a process together in memory that they share. The number of windows is
// fixed: clients can't exhaust memory. See docs/decisions/0004 for why this is not a library, and docs/decisions/0032.
import { hash } from "node:crypto";

export interface RateLimitState {
  readonly isAllowed: boolean;
  /** Negative if the name had more points when it took them. */
  readonly remaining: number;
  /** Milliseconds until the window ends. */
  readonly resetMs: number;
  /** When the window ends: no other window of the name ends then. */
  readonly endsAt: number;
}

interface RateLimiterOptions {
  readonly points: number;
  /** The length of a window. `Infinity`: until the process ends. */
  readonly windowMs: number;
  readonly clock: () => number;
  readonly windows: RateLimitWindows;
  /** True if all names are SHA-256 hashes as lowercase hex digits, so they needn't be hashed. */
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

  /** True if every name has all points: faster than asking for one name. False for up to a second longer. */
  get isUnused(): boolean {
    return this.#windows.latestEnd <= this.#clock();
  }

  /** Takes one point if there is one. @param points Per window, if this name has other ones. */
  take(name: string, points = this.#points): RateLimitState {
    return this.#count(name, 1, points).state;
  }

  /** Checks for a point without taking it. */
  peek(name: string): RateLimitState {
    return this.#count(name, 0, this.#points).state;
  }

  /** Takes `count` points if one is left. */
  takeMany(name: string, count: number): RateLimitState {
    return this.#count(name, count, this.#points).state;
  }

  /** Returns how many points were given back. @param count At most as many as were taken. */
  giveBack(name: string, count = 1): number {
    return -this.#count(name, -count, this.#points).change;
  }

  /**
   * Takes one point while an action runs, which gets the number of points that are left.
   *
   * @param points As of {@linkcode take}. @throws The error that `newError` returns, if there is no point.
   */
  async during<T>(
    name: string,
    act: (remaining: number) => Promise<T>,
    newError: () => Error,
    points = this.#points,
  ): Promise<T> {
    const { isAllowed, remaining } = this.take(name, points);
    if (!isAllowed) throw newError();
    try {
      return await act(remaining);
    } finally {
      this.giveBack(name);
    }
  }

  #count(name: string, change: number, points: number): { state: RateLimitState; change: number } {
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
      const before = used;
      const isAllowed = used < points;
      if (change > 0 ? isAllowed : change < 0 && used > 0) {
        used = Math.max(0, used + change);
        windows.set(found ?? windows.leastUsed(bucket, now), { tag, endsAt, used });
      }
      const state = { isAllowed, remaining: points - used, resetMs: endsAt - now, endsAt };
      return { state, change: used - before };
    } finally {
      windows.unlock(bucket);
    }
  }
}

const limitersMax = 48;
/** A limiter's windows are in buckets, by the hash of their names. */
const bucketsPerLimiter = 1_024;
const windowsPerBucket = 20;
/** 64-bit numbers of a window: the tag of its name, its end in milliseconds since 1970, and the points used. */
const windowNumbers = 3;
/** 64-bit numbers of a bucket: its lock, and its windows. */
const bucketNumbers = 1 + windowsPerBucket * windowNumbers;
/** 64-bit numbers of a limiter: when its latest window ends, and its buckets. */
const limiterNumbers = 1 + bucketsPerLimiter * bucketNumbers;

const unlocked = 0;
const locked = 1;
const lockedAndAwaited = 2;
/** A bucket is locked for microseconds. After this time, the thread that locked it must have been terminated. */
const lockTimeoutMs = 1_000;

/** Digits of a hash that tell names in a bucket apart: as many as fit into a number. The digits after them choose the bucket. */
const tagDigits = 13;
const bucketDigits = 3;

/** The memory of a process's rate limits. */
export class RateLimitMemory {
  /** Can be posted to other threads. */
  readonly buffer: SharedArrayBuffer;

  /** @param buffer The `buffer` of another thread's memory; new by default. */
  constructor(buffer?: SharedArrayBuffer) {
    // 23 MB of addresses. The system provides a page of memory when a window on it is first used.
    this.buffer = buffer ?? new SharedArrayBuffer(limitersMax * limiterNumbers * 8);
  }

  /** @param limiter A number from 0, the same in all threads. @throws {RangeError} If there is no memory for it. */
  windows(limiter: number): RateLimitWindows {
    return new RateLimitWindows(this.buffer, limiter * limiterNumbers * 8);
  }
}

/** The windows of one limiter. Except for {@linkcode latestEnd}, they must only be used while their bucket is locked. */
class RateLimitWindows {
  readonly #numbers: Float64Array;
  readonly #locks: Int32Array;
  readonly #latestEndSeconds: Uint32Array;

  /** @param offset Where the limiter's memory begins, in bytes. */
  constructor(buffer: SharedArrayBuffer, offset: number) {
    this.#numbers = new Float64Array(buffer, offset, limiterNumbers);
    this.#locks = new Int32Array(buffer, offset, limiterNumbers * 2);
    this.#latestEndSeconds = new Uint32Array(buffer, offset, 1);
  }

  /** When all windows have ended, rounded up to a second. */
  get latestEnd(): number {
    return Atomics.load(this.#latestEndSeconds, 0) * 1_000;
  }

  /** Waits until no other thread uses the bucket of a name, and returns it. @param hash The hash of the name, as hex digits. */
  lock(hash: string): number {
    const number = hexValue(hash, tagDigits, tagDigits + bucketDigits) % bucketsPerLimiter;
    const bucket = 1 + number * bucketNumbers;
    const lock = bucket * 2;
    if (Atomics.compareExchange(this.#locks, lock, unlocked, locked) === unlocked) return bucket;
    while (Atomics.exchange(this.#locks, lock, lockedAndAwaited) !== unlocked) {
      if (Atomics.wait(this.#locks, lock, lockedAndAwaited, lockTimeoutMs) === "timed-out") break;
    }
    return bucket;
  }

  unlock(bucket: number): void {
    const lock = bucket * 2;
    if (Atomics.exchange(this.#locks, lock, unlocked) === lockedAndAwaited) {
      Atomics.notify(this.#locks, lock, 1);
    }
  }

  find(bucket: number, tag: number): number | undefined {
    const end = bucket + bucketNumbers;
    for (let window = bucket + 1; window < end; window += windowNumbers) {
      if (this.#numbers[window] === tag) return window;
    }
    return undefined;
  }

  /** Returns the window that loses least: one that has ended, or else with the fewest points, or else that ends first. */
  leastUsed(bucket: number, now: number): number {
    const end = bucket + bucketNumbers;
    let least = bucket + 1;
    for (let window = least; window < end; window += windowNumbers) {
      if (this.endsAt(window) <= now) return window;
      const difference = this.used(window) - this.used(least);
      if (difference < 0 || (difference === 0 && this.endsAt(window) < this.endsAt(least))) least = window;
    }
    return least;
  }

  /** Returns when a window ends; 0 if it was never used. */
  endsAt(window: number): number {
    return this.#numbers[window + 1] as number;
  }

  used(window: number): number {
    return this.#numbers[window + 2] as number;
  }

  /** Changes a window. @param state `endsAt`: in milliseconds since 1970. */
  set(window: number, { tag, endsAt, used }: { tag: number; endsAt: number; used: number }): void {
    this.#numbers[window] = tag;
    this.#numbers[window + 1] = endsAt;
    this.#numbers[window + 2] = used;
    const seconds = Math.min(Math.ceil(endsAt / 1_000), 2 ** 32 - 1);
    for (;;) {
      const latest = Atomics.load(this.#latestEndSeconds, 0);
      if (latest >= seconds) return;
      if (Atomics.compareExchange(this.#latestEndSeconds, 0, latest, seconds) === latest) return;
    }
  }
}

/** Tells a name from others in its bucket. @param hash The hash of the name, as hex digits. */
function tagOf(hash: string): number {
  return hexValue(hash, 0, tagDigits);
}

/** As `parseInt` of that part of the text, in half the time. */
function hexValue(text: string, from: number, to: number): number {
  let value = 0;
  for (let index = from; index < to; index++) {
    const code = text.charCodeAt(index);
    value = value * 16 + (code <= 57 ? code - 48 : code - 87);
  }
  return value;
}
