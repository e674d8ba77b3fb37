// The API keys that a thread knows: their organizations, how many requests per second they may make, and from which addresses.
// They never say whether a key still works. Requests are counted by these rates.
import { findActiveApiKey, findImportedKeys, type KeyTerms } from "../../db/access/mod.ts";
import type { KeyLookup } from "../../domain/keys/imported_key.ts";
import { rememberedApiKeysMax, verificationsPerReadMax } from "../../domain/limits.ts";
import { isAllowedFrom } from "../address_blocks.ts";
import type { BaseContext } from "../base_context.ts";
import { GatheredReads } from "../gathered_reads.ts";
import type { RateLimitState } from "../rate_limiter.ts";
import type { RateLimits } from "../rate_limits.ts";

/** A key with its terms as of the last lookup or commit with it. */
interface KnownKey extends KeyTerms {
  /** Never changes. */
  readonly organizationId: string;
}

/** The client of a request: null if its address isn't known. */
export interface KeyClient {
  readonly address: string | null;
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

  /**
   * Returns a key that may be used from the client's address, or undefined. Before a client is denied, the key is read again, as its
   * addresses may have changed.
   */
  async findFor({ keyHash, isForeign }: KeyLookup, client: KeyClient): Promise<KnownKey | undefined> {
    const key = await this.find(keyHash, { isForeign });
    if (key === undefined || isAllowedFrom(key.addresses, client)) return key;
    const current = await this.#read(keyHash, isForeign);
    return current !== undefined && isAllowedFrom(current.addresses, client) ? current : undefined;
  }

  /** Notes the terms of a key that was just read: the next request is judged by them. */
  noteTerms(keyHash: string, { requestsPerSecond, ownRequestsPerSecond, addresses }: KeyTerms): void {
    const key = this.#known.get(keyHash);
    const isKnown = key === undefined ||
      (key.requestsPerSecond === requestsPerSecond && key.ownRequestsPerSecond === ownRequestsPerSecond &&
        key.addresses === addresses);
    if (isKnown) return;
    const { organizationId } = key;
    this.#known.set(keyHash, { organizationId, requestsPerSecond, ownRequestsPerSecond, addresses });
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
    const { organizationId, requestsPerSecond, ownRequestsPerSecond, addresses } = key;
    const [oldest] = this.#known.keys();
    const isFull = this.#known.size >= rememberedApiKeysMax && !this.#known.has(keyHash);
    if (isFull && oldest !== undefined) this.#known.delete(oldest);
    const found = { organizationId, requestsPerSecond, ownRequestsPerSecond, addresses };
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

/** Counts a request by the rate that is known of its key. Returns undefined for an invalid key, also from this client's address. */
export async function countRequest(
  context: RateContext & { readonly recorder: { readonly keys: KnownKeys } },
  lookup: KeyLookup,
  client: KeyClient,
): Promise<CountedRequest | undefined> {
  const key = await context.recorder.keys.findFor(lookup, client);
  return key && { ...countAtRate(context, lookup.keyHash, key), organizationId: key.organizationId };
}

export function countAtRate(
  { config, rateLimits }: RateContext,
  keyHash: string,
  { requestsPerSecond, ownRequestsPerSecond }: KeyTerms,
): Omit<CountedRequest, "organizationId"> {
  const ofOrganization = requestsPerSecond ?? config.apiKeyRequestsPerSecond;
  const perSecond = ofOrganization === 0
    ? ownRequestsPerSecond ?? 0
    : Math.min(ofOrganization, ownRequestsPerSecond ?? ofOrganization);
  if (perSecond === 0) return { keyHash, limit: null };
  return { keyHash, limit: { perSecond, state: rateLimits.apiKeyRequests.take(keyHash, perSecond) } };
}

export function isAllowed({ limit }: Pick<CountedRequest, "limit">): boolean {
  return limit === null || limit.state.isAllowed;
}
