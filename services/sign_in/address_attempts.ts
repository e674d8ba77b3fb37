// Attempts of client addresses: only those that fail use up what an address has. Several people behind one address may sign in
// at the same moment, so an attempt that finds nothing left waits while others are not decided yet.
import { addressAttemptsWaitingMax, addressFailuresMax, addressWindowMs } from "../../domain/limits.ts";
import { RateLimiter, type RateLimitState } from "../rate_limiter.ts";

/** Attempts of one address that are under way. */
interface UnderWay {
  count: number;
  /** Told one after the other, as attempts end. */
  readonly waiting: (() => void)[];
}

/** Counts failed attempts by address. */
export class AddressAttempts {
  readonly #failures: RateLimiter;
  readonly #underWay = new Map<string, UnderWay>();

  /** @param clock Milliseconds since 1970. */
  constructor(clock: () => number) {
    this.#failures = new RateLimiter({ points: addressFailuresMax, windowMs: addressWindowMs, clock });
  }

  /**
   * Counts an attempt as a failure before it is decided, so that of many guesses at once no more are looked at than one after
   * the other. Where it is allowed, {@linkcode end} must follow.
   */
  async begin(address: string): Promise<RateLimitState> {
    for (;;) {
      const state = this.#failures.take(address);
      const underWay = this.#underWay.get(address);
      if (state.isAllowed) {
        if (underWay === undefined) this.#underWay.set(address, { count: 1, waiting: [] });
        else underWay.count++;
        return state;
      }
      if (underWay === undefined || underWay.waiting.length >= addressAttemptsWaitingMax) return state;
      await new Promise<void>((resolve) => underWay.waiting.push(resolve));
    }
  }

  /** Ends an attempt that was allowed. Its own count is given back unless it failed; those of others stay. */
  end(address: string, { isFailure }: { isFailure: boolean }): void {
    if (!isFailure) this.#failures.giveBack(address);
    const underWay = this.#underWay.get(address);
    if (underWay === undefined) return;
    underWay.count--;
    if (underWay.count > 0) return underWay.waiting.shift()?.();
    this.#underWay.delete(address);
    for (const tell of underWay.waiting) tell();
  }

  /** Counts a failure that is known. */
  countFailure(address: string): RateLimitState {
    return this.#failures.take(address);
  }

  /** Says whether an address may fail once more. */
  peek(address: string): RateLimitState {
    return this.#failures.peek(address);
  }
}
