// Rate limits by client address. They don't apply to unknown proxies, where one client could use up the points of all others.
import type { ClientInfo } from "../domain/actor.ts";
import { addressGroup } from "../domain/address_group.ts";
import type { RateLimiter, RateLimitState } from "./rate_limiter.ts";

/** Where a request comes from, as far as limits need it. */
type LimitedClient = Pick<ClientInfo, "address" | "isUnknownProxy">;

const unlimited: RateLimitState = { isAllowed: true, remaining: Infinity, resetMs: 0 };

/** A rate limit by client address. */
export class AddressLimiter {
  readonly #limiter: RateLimiter;

  constructor(limiter: RateLimiter) {
    this.#limiter = limiter;
  }

  /** See {@linkcode RateLimiter.isUnused}. */
  get isUnused(): boolean {
    return this.#limiter.isUnused;
  }

  /** Takes one point if there is one. */
  take(client: LimitedClient): RateLimitState {
    return client.isUnknownProxy ? unlimited : this.#limiter.take(addressGroup(client.address));
  }

  /** Checks for a point without taking it. */
  peek(client: LimitedClient): RateLimitState {
    return client.isUnknownProxy ? unlimited : this.#limiter.peek(addressGroup(client.address));
  }

  /** Returns one point. */
  giveBack(client: LimitedClient): void {
    if (!client.isUnknownProxy) this.#limiter.giveBack(addressGroup(client.address));
  }
}
