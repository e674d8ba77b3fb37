// Counts requests with an API key against how many it may make per second.
import type { Context } from "../context.ts";
import type { RateLimitState } from "../rate_limiter.ts";

/** A request with a key, counted. */
export interface CountedRequest {
  readonly keyHash: string;
  /** What the rate allows, and where the key stands; null for no limit. */
  readonly limit: { readonly perSecond: number; readonly state: RateLimitState } | null;
}

/** Counts a request by the rate that is known of its key. Returns undefined for an invalid key. @throws {DatabaseError} */
export async function countRequest(context: Context, keyHash: string): Promise<CountedRequest | undefined> {
  const key = await context.recorder.keys.find(keyHash);
  return key && countAtRate(context, keyHash, key.requestsPerSecond);
}

/** Counts a request by a rate. */
export function countAtRate(
  { config, rateLimits }: Context,
  keyHash: string,
  requestsPerSecond: number | null,
): CountedRequest {
  const perSecond = requestsPerSecond ?? config.apiKeyRequestsPerSecond;
  if (perSecond === 0) return { keyHash, limit: null };
  return { keyHash, limit: { perSecond, state: rateLimits.apiKeyRequests.take(keyHash, perSecond) } };
}

/** Returns true if the key may make the request. */
export function isAllowed({ limit }: CountedRequest): boolean {
  return limit === null || limit.state.isAllowed;
}
