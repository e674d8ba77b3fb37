// Rate limits by client address. Failures behind an unknown proxy don't count, because one client could lock out all others;
// requests that create rows or send emails have a wider limit there.
import type { ClientInfo } from "../domain/access/actor.ts";
import { addressGroup } from "../domain/address_group.ts";
import type { RateLimiter, RateLimitState } from "./rate_limiter.ts";

type LimitedClient = Pick<ClientInfo, "address" | "isUnknownProxy">;

const unlimited: RateLimitState = { isAllowed: true, remaining: Infinity, resetMs: 0, endsAt: 0 };

export class AddressLimiter {
  readonly #limiter: RateLimiter;
  readonly #forwarded: RateLimiter | null;

  /** @param forwarded A wider limit for unknown proxies; none by default. */
  constructor(limiter: RateLimiter, forwarded: RateLimiter | null = null) {
    this.#limiter = limiter;
    this.#forwarded = forwarded;
  }

  get isUnused(): boolean {
    return this.#limiter.isUnused;
  }

  /** @param kind Counted apart from other kinds. */
  take(client: LimitedClient, kind = ""): RateLimitState {
    return this.#of(client)?.take(kind + addressGroup(client.address)) ?? unlimited;
  }

  /** Counts for someone who is signed in, so that others at the same address can't block them. */
  takeForUser(userId: string): RateLimitState {
    return this.#limiter.take(userId);
  }

  peek(client: LimitedClient): RateLimitState {
    return this.#of(client)?.peek(addressGroup(client.address)) ?? unlimited;
  }

  giveBack(client: LimitedClient, count = 1): void {
    this.#of(client)?.giveBack(addressGroup(client.address), count);
  }

  #of({ isUnknownProxy }: LimitedClient): RateLimiter | null {
    return isUnknownProxy ? this.#forwarded : this.#limiter;
  }
}
