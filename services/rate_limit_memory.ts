// The windows of all rate limits of a process, in memory that its threads share. The number of windows is fixed: clients can't
// exhaust memory. See docs/decisions/0032.

const limitersMax = 24;
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
    // 12 MB of addresses. The system provides a page of memory when a window on it is first used.
    this.buffer = buffer ?? new SharedArrayBuffer(limitersMax * limiterNumbers * 8);
  }

  /**
   * @param limiter The number of a limiter, from 0: the same in all threads.
   * @throws {RangeError} If there is no memory for so many limiters.
   */
  windows(limiter: number): RateLimitWindows {
    return new RateLimitWindows(this.buffer, limiter * limiterNumbers * 8);
  }
}

/** The windows of one limiter. Except for {@linkcode latestEnd}, they must only be used while their bucket is locked. */
export class RateLimitWindows {
  readonly #numbers: Float64Array;
  readonly #locks: Int32Array;
  readonly #latestEndSeconds: Uint32Array;

  /** @param offset Where the limiter's memory begins, in bytes. */
  constructor(buffer: SharedArrayBuffer, offset: number) {
    this.#numbers = new Float64Array(buffer, offset, limiterNumbers);
    this.#locks = new Int32Array(buffer, offset, limiterNumbers * 2);
    this.#latestEndSeconds = new Uint32Array(buffer, offset, 1);
  }

  /** When all windows have ended, rounded up to a second, in milliseconds since 1970. */
  get latestEnd(): number {
    return Atomics.load(this.#latestEndSeconds, 0) * 1_000;
  }

  /** Waits until no other thread uses a bucket. @param hash The hash of a name, as hex digits. @returns Its bucket. */
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

  /** Ends what {@linkcode lock} began. */
  unlock(bucket: number): void {
    const lock = bucket * 2;
    if (Atomics.exchange(this.#locks, lock, unlocked) === lockedAndAwaited) {
      Atomics.notify(this.#locks, lock, 1);
    }
  }

  /** @returns The window with a tag, or undefined. */
  find(bucket: number, tag: number): number | undefined {
    const end = bucket + bucketNumbers;
    for (let window = bucket + 1; window < end; window += windowNumbers) {
      if (this.#numbers[window] === tag) return window;
    }
    return undefined;
  }

  /** @returns The window that loses least: one that has ended, or else with the fewest points, or else that ends first. */
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

  /** @returns When a window ends, in milliseconds since 1970; 0 if it was never used. */
  endsAt(window: number): number {
    return this.#numbers[window + 1] as number;
  }

  /** @returns The points used in a window. */
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

/** @returns What tells a name from others in its bucket. @param hash The hash of the name, as hex digits. */
export function tagOf(hash: string): number {
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
