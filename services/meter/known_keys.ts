// What the recorder remembers of API keys: their organizations, and how many requests per second they may make. It never says
// whether a key still works.
import { findActiveApiKey } from "../../db/api_keys.ts";
import { findRatesVersion, type KeyRate, type RateOfKey } from "../../db/meter/key_rates.ts";
import { rememberedApiKeysMax } from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";
import { GatheredReads } from "../gathered_reads.ts";

/** What is remembered of a key. */
export interface KnownKey {
  /** Never changes. */
  readonly organizationId: string;
  readonly rate: KeyRate;
}

/** Nothing of a group was recorded, because a rate of one of its requests has changed. */
export class OutdatedRateError extends Error {}

/** API keys by their hashes. */
export class KnownKeys {
  readonly #context: BaseContext;
  readonly #known = new Map<string, KnownKey>();
  /** Lookups in progress: requests that arrive meanwhile share the result. */
  readonly #lookups = new Map<string, Promise<KnownKey | undefined>>();
  readonly #version: GatheredReads<never, number>;

  constructor(context: BaseContext) {
    this.#context = context;
    this.#version = new GatheredReads(() => findRatesVersion(context.database), Infinity);
  }

  /** @returns What is remembered of a key, if anything. */
  known(keyHash: string): KnownKey | undefined {
    return this.#known.get(keyHash);
  }

  /** @returns A key from memory or from the database, or undefined when it is invalid. @throws {DatabaseError} */
  async find(keyHash: string): Promise<KnownKey | undefined> {
    return this.#known.get(keyHash) ?? await this.#lookUp(keyHash);
  }

  /** @returns A key with its rate as of now, or undefined when it is invalid. @throws {DatabaseError} */
  async current(keyHash: string): Promise<KnownKey | undefined> {
    const version = await this.#version.find([]);
    let key = this.#known.get(keyHash);
    // A lookup that began before this call may have an earlier version.
    while (key === undefined || key.rate.version < version) {
      key = await this.#lookUp(keyHash);
      if (key === undefined) return undefined;
    }
    return key;
  }

  /** @returns Whether one of the rates may have changed since it was read. @throws {DatabaseError} */
  async isAnyOutdated(rates: readonly RateOfKey[]): Promise<boolean> {
    const version = await this.#version.find([]);
    return rates.some(({ rate }) => rate.version < version);
  }

  /** Notes that rates were still right at a version. */
  confirm(rates: readonly RateOfKey[], version: number): void {
    for (const { keyHash, rate: { requestsPerSecond } } of rates) {
      const key = this.#known.get(keyHash);
      if (key === undefined || key.rate.version >= version) continue;
      this.#known.set(keyHash, { ...key, rate: { requestsPerSecond, version } });
    }
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
    const { organizationId, requestsPerSecond, ratesVersion } = key;
    const [oldest] = this.#known.keys();
    const isFull = this.#known.size >= rememberedApiKeysMax && !this.#known.has(keyHash);
    if (isFull && oldest !== undefined) this.#known.delete(oldest);
    const found = { organizationId, rate: { requestsPerSecond, version: ratesVersion } };
    this.#known.set(keyHash, found);
    return found;
  }
}
