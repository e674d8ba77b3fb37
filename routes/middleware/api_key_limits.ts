// Limits on API keys: how often one key may call, and how often one address may be refused.
import { addressGroup } from "../../domain/address_group.ts";
import { AppError } from "../../domain/errors.ts";
import { refusedApiKeysPerMinuteMax } from "../../domain/limits.ts";
import { RateLimiter, type RateLimitState } from "../../services/rate_limiter.ts";
import type { AppContext, AppParts } from "../env.ts";

/** The limits of one server; several servers on one database count each for itself. */
export interface ApiKeyLimits {
  /** @returns Whether keys were refused too often from the client's address. */
  isSuspicious(c: AppContext): boolean;
  /**
   * Counts one call of a key and sets the headers `RateLimit` and `RateLimit-Policy`
   * (draft-ietf-httpapi-ratelimit-headers).
   *
   * @throws {AppError} `rate_limited`.
   */
  admit(c: AppContext, keyHash: string): void;
  /**
   * Counts a refused key against the client's address.
   *
   * @param error What a request with a key failed with.
   * @returns The error to answer with: `rate_limited` instead of `invalid_api_key` when the address was refused too
   *   often; any other error as it is.
   */
  noteFailure(c: AppContext, error: unknown): unknown;
}

/** @param parts The settings, the clock and the audit log. */
export function createApiKeyLimits({ config, services }: AppParts): ApiKeyLimits {
  const perSecond = config.apiKeyRequestsPerSecond;
  const { clock } = services;
  const calls = new RateLimiter({ points: perSecond, windowMs: 1_000, clock });
  const refusals = new RateLimiter({ points: refusedApiKeysPerMinuteMax, windowMs: 60_000, clock });
  const policy = `"key";q=${perSecond};w=1`;

  return {
    isSuspicious: (c) => refusals.size > 0 && !refusals.peek(addressGroup(c.get("client").address)).isAllowed,
    admit(c, keyHash) {
      if (perSecond === 0) return;
      const state = calls.take(keyHash);
      c.set("responseHeaders", [
        ["ratelimit", `"key";r=${state.remaining};t=${Math.ceil(state.resetMs / 1000)}`],
        ["ratelimit-policy", policy],
      ]);
      if (state.isAllowed) return;
      services.audit.noteLimitedApiKey(keyHash, c.get("client"));
      throw tooMany(state, `This key may make ${perSecond} requests a second.`);
    },
    noteFailure(c, error) {
      if (!(error instanceof AppError) || error.code !== "invalid_api_key") return error;
      const state = refusals.take(addressGroup(c.get("client").address));
      return state.isAllowed ? error : tooMany(state, "Too many refused API keys from this address.");
    },
  };
}

function tooMany(state: RateLimitState, message: string): AppError {
  return new AppError("rate_limited", message, {
    retryAfterSeconds: Math.max(1, Math.ceil(state.resetMs / 1000)),
  });
}
