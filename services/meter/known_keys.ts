// The API keys that a thread knows: their organizations, and how many requests per second they may make. They never say whether
// a key still works. Requests are counted by these rates.
import { findActiveApiKey, findImportedKeys } from "../../db/access/mod.ts";
import type { KeyLookup } from "../../domain/keys/imported_key.ts";
import { rememberedApiKeysMax, verificationsPerReadMax } from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";
import { GatheredReads } from "../gathered_reads.ts";
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
  /** Anyone can send any number of texts that an imported key could be: those of one turn cost one read. */
  readonly #imported: GatheredReads<string, ReadonlyMap<string, KnownKey>>;

  constructor(context: BaseContext) {
    this.#context = context;
    this.#imported = new GatheredReads(async (keyHashes) => {
      const found = await findImportedKeys(context.database, keyHashes, context.clock());
      return new Map(found.map(({ keyHash, ...key }) => [keyHash, key]));
    }, verificationsPerReadMax);
  }

  /** Returns a known key without a lookup. */
  known(keyHash: string): KnownKey | undefined {
    return this.#known.get(keyHash);
  }

  /**
   * Returns a key from memory or from the database, or undefined when it is invalid.
   *
   * @param options `isForeign`: look only for an imported key.
   */
  async find(keyHash: string, { isForeign = false } = {}): Promise<KnownKey | undefined> {
    return this.#known.get(keyHash) ?? await this.#lookUp(keyHash, isForeign);
  }

  /** Notes the rate of a key that was just read: the next request is counted by it. */
  noteRate(keyHash: string, requestsPerSecond: number | null): void {
    const key = this.#known.get(keyHash);
    if (key === undefined || key.requestsPerSecond === requestsPerSecond) return;
    this.#known.set(keyHash, { ...key, requestsPerSecond });
  }

  #lookUp(keyHash: string, isForeign: boolean): Promise<KnownKey | undefined> {
    const lookup = this.#lookups.get(keyHash) ??
      this.#read(keyHash, isForeign).finally(() => this.#lookups.delete(keyHash));
    this.#lookups.set(keyHash, lookup);
    return lookup;
  }

  async #read(keyHash: string, isForeign: boolean): Promise<KnownKey | undefined> {
    const { database, clock } = this.#context;
    const key = isForeign
      ? (await this.#imported.find([keyHash])).get(keyHash)
      : await findActiveApiKey(database, keyHash, clock());
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
  lookup: KeyLookup,
): Promise<CountedRequest | undefined> {
  const key = await context.recorder.keys.find(lookup.keyHash, lookup);
  return key &&
    { ...countAtRate(context, lookup.keyHash, key.requestsPerSecond), organizationId: key.organizationId };
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
