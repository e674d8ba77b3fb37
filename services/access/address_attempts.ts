// Attempts by client address. Only failures use up an address's budget. Several people behind one address may sign in at the
// same time, so an attempt that finds nothing left waits while others are undecided.
import { addressAttemptsWaitingMax } from "../../domain/limits.ts";
import type { RateLimiter, RateLimitState } from "../rate_limiter.ts";

interface Running {
  count: number;
  /** Called one after the other, as attempts end. */
  readonly waiting: (() => void)[];
}

export interface AttemptCounter {
  /**
   * Counts an attempt as a failure before it is decided, so that concurrent guesses get no further than sequential ones. If it
   * is allowed, {@linkcode AttemptCounter.end} must follow.
   */
  begin(address: string): Promise<RateLimitState>;
  /** Ends an attempt that was allowed, and gives its count back unless it failed. */
  end(address: string, outcome: AttemptOutcome): void | Promise<void>;
}

export interface Attempts {
  /** Failed sign-ins, codes and passkeys. For an unknown proxy, those that run at the same time. */
  readonly failures: AttemptCounter;
  /** Never counts a failure; only bounds how many password checks of one address run at the same time. */
  readonly sessionChecks: AttemptCounter;
}

export interface AttemptOutcome {
  readonly isFailure: boolean;
}

/** Counts attempts on the main thread, for all threads. */
export class AddressAttempts implements AttemptCounter {
  readonly #failures: RateLimiter;
  readonly #running = new Map<string, Running>();

  constructor(failures: RateLimiter) {
    this.#failures = failures;
  }

  async begin(address: string): Promise<RateLimitState> {
    for (;;) {
      const state = this.#failures.take(address);
      const running = this.#running.get(address);
      if (state.isAllowed) {
        if (running === undefined) this.#running.set(address, { count: 1, waiting: [] });
        else running.count++;
        return state;
      }
      if (running === undefined || running.waiting.length >= addressAttemptsWaitingMax) return state;
      await new Promise<void>((resolve) => running.waiting.push(resolve));
    }
  }

  end(address: string, { isFailure }: AttemptOutcome): void {
    if (!isFailure) this.#failures.giveBack(address);
    const running = this.#running.get(address);
    if (running === undefined) return;
    running.count--;
    if (running.count > 0) return running.waiting.shift()?.();
    this.#running.delete(address);
    for (const resume of running.waiting) resume();
  }
}
