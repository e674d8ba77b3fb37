// The API keys that a thread knows: their organizations, and how many requests per second they may make. They never say whether
// a key still works. Requests are counted by these rates.
import { findActiveApiKey } from "../../db/api_keys.ts";
import { rememberedApiKeysMax } from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";
import type { RateLimitState } from "../rate_limiter.ts";
import type { RateLimits } from "../rate_limits.ts";

interface KnownKey {
  /** Never changes. */
  readonly organizationId: string;
  /** As of the last lookup or commit with the key. Null for the one of the setting; 0 for no limit. */
  readonly requestsPerSecond: number | null;
}

export class KnownKeys {
  readonly #context: BaseContext;
  readonly #known = new Map<string, KnownKey>();
  /** Lookups in progress: requests that arrive meanwhile share the result. */
  readonly #lookups = new Map<string, Promise<KnownKey | undefined>>();

  constructor(context: BaseContext) {
    this.#context = context;
  }

  /** Returns what is known of a key, without a lookup. */
  known(keyHash: string): KnownKey | undefined {
    return this.#known.get(keyHash);
  }

  /** Returns a key from memory or from the database, or undefined when it is invalid. */
  async find(keyHash: string): Promise<KnownKey | undefined> {
    return this.#known.get(keyHash) ?? await this.#lookUp(keyHash);
  }

  /** Notes the rate of a key that was just read: the next request is counted by it. */
  noteRate(keyHash: string, requestsPerSecond: number | null): void {
    const key = this.#known.get(keyHash);
    if (key === undefined || key.requestsPerSecond === requestsPerSecond) return;
    this.#known.set(keyHash, { ...key, requestsPerSecond });
  }

  #lookUp(keyHash: string): Promise<KnownKey | undefined> {
    const lookup = this.#lookups.get(keyHash) ??
      this.#read(keyHash).finally(() => this.#lookups.delete(keyHash));
    this.#lookups.set(keyHash, lookup);
    return lookup;
  }

  async #read(keyHash: string): Promise<KnownKey | undefined> {
    const { database, clock } = this.#context;
    const key = await findActiveApiKey(database, keyHash, clock());
    if (key === undefined) return undefined;
    const { organizationId, requestsPerSecond } = key;
    const [oldest] = this.#known.keys();
    if (this.#known.size >= rememberedApiKeysMax && oldest !== undefined) this.#known.delete(oldest);
    const found = { organizationId, requestsPerSecond };
    this.#known.set(keyHash, found);
    return found;
  }
}

export interface CountedRequest {
  readonly keyHash: string;
  readonly organizationId: string;
  /** Null for no limit. */
  readonly limit: { readonly perSecond: number; readonly state: RateLimitState } | null;
}

interface RateContext extends Pick<BaseContext, "config"> {
  readonly rateLimits: RateLimits;
}

/** Counts a request by the rate that is known of its key. Returns undefined for an invalid key. */
export async function countRequest(
  context: RateContext & { readonly recorder: { readonly keys: KnownKeys } },
  keyHash: string,
): Promise<CountedRequest | undefined> {
  const key = await context.recorder.keys.find(keyHash);
  return key &&
    { ...countAtRate(context, keyHash, key.requestsPerSecond), organizationId: key.organizationId };
}

export function countAtRate(
  { config, rateLimits }: RateContext,
  keyHash: string,
  requestsPerSecond: number | null,
): Omit<CountedRequest, "organizationId"> {
  const perSecond = requestsPerSecond ?? config.apiKeyRequestsPerSecond;
  if (perSecond === 0) return { keyHash, limit: null };
  return { keyHash, limit: { perSecond, state: rateLimits.apiKeyRequests.take(keyHash, perSecond) } };
}

export function isAllowed({ limit }: Pick<CountedRequest, "limit">): boolean {
  return limit === null || limit.state.isAllowed;
}
