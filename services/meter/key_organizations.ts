// Which organization an API key belongs to, cached for the recorder's queue. A key never changes its organization, but it can
// be revoked: the cache never says whether a key still works.
import { findActiveApiKey } from "../../db/api_keys.ts";
import { rememberedApiKeysMax } from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";

/** Organizations of API keys, by the keys' hashes. */
export class KeyOrganizations {
  readonly #context: BaseContext;
  readonly #known = new Map<string, string>();
  /** Lookups in progress: requests that arrive meanwhile share the result. */
  readonly #lookups = new Map<string, Promise<string | undefined>>();

  constructor(context: BaseContext) {
    this.#context = context;
  }

  /** @returns The id of a key's organization, or undefined when it is not cached. */
  known(keyHash: string): string | undefined {
    return this.#known.get(keyHash);
  }

  /**
   * Looks a key up in the database.
   *
   * @returns The id of its organization, or undefined when the key is invalid.
   * @throws {DatabaseError}
   */
  find(keyHash: string): Promise<string | undefined> {
    const lookup = this.#lookups.get(keyHash) ??
      this.#lookup(keyHash).finally(() => this.#lookups.delete(keyHash));
    this.#lookups.set(keyHash, lookup);
    return lookup;
  }

  async #lookup(keyHash: string): Promise<string | undefined> {
    const { database, clock } = this.#context;
    const key = await findActiveApiKey(database, keyHash, clock());
    if (key === undefined) return undefined;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size >= rememberedApiKeysMax) this.#known.delete(oldest);
    this.#known.set(keyHash, key.organizationId);
    return key.organizationId;
  }
}
