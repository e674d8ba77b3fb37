// Which organization an API key belongs to, remembered for fair shares of the recorder's queue. A key never changes its
// organization, but it can end: this never says whether a key still works.
import { findActiveApiKey } from "../../db/api_keys.ts";
import { rememberedApiKeysMax } from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";

/** Organizations of API keys, by the keys' hashes. */
export class KeyOrganizations {
  readonly #context: BaseContext;
  readonly #known = new Map<string, string>();
  /** Keys that are being looked up: requests that arrive meanwhile share the result. */
  readonly #lookUps = new Map<string, Promise<string | undefined>>();

  /** @param context See {@linkcode BaseContext}. */
  constructor(context: BaseContext) {
    this.#context = context;
  }

  /** @returns The id of a key's organization, or undefined when it is not remembered. */
  known(keyHash: string): string | undefined {
    return this.#known.get(keyHash);
  }

  /**
   * Looks a key up in the database.
   *
   * @returns The id of its organization, or undefined when no such key works.
   * @throws {DatabaseError}
   */
  find(keyHash: string): Promise<string | undefined> {
    let lookUp = this.#lookUps.get(keyHash);
    if (lookUp === undefined) {
      lookUp = this.#lookUp(keyHash).finally(() => this.#lookUps.delete(keyHash));
      this.#lookUps.set(keyHash, lookUp);
    }
    return lookUp;
  }

  async #lookUp(keyHash: string): Promise<string | undefined> {
    const { database, clock } = this.#context;
    const key = await findActiveApiKey(database, keyHash, clock());
    if (key === undefined) return undefined;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size >= rememberedApiKeysMax) this.#known.delete(oldest);
    this.#known.set(keyHash, key.organizationId);
    return key.organizationId;
  }
}
