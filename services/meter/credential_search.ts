// Finds the operator tokens and API keys of verifications.
import { findCredentials, type FoundCredentials } from "../../db/meter/key_verification.ts";
import type { ActiveOperatorToken } from "../../db/access/mod.ts";
import { rememberedOperatorTokensMax, verificationsPerReadMax } from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";
import { GatheredReads } from "../gathered_reads.ts";

interface CredentialQuery {
  readonly tokenHash: string;
  /** Null for a malformed key. */
  readonly keyHash: string | null;
  /** The product and metric whose limits are read too. */
  readonly series: { readonly productSlug: string; readonly metric: string } | null;
}

/** The result of the queries that share a read. */
interface Found extends Pick<FoundCredentials, "tokens" | "keys" | "hasValueLimits" | "now"> {
  readonly limitsOf: ReadonlyMap<CredentialQuery, FoundCredentials["limits"][number]>;
}

/** Finds credentials, those of concurrent requests together. */
export class CredentialSearch {
  readonly #reads: GatheredReads<CredentialQuery, Found>;
  /** By hash. */
  readonly #tokens = new Map<string, ActiveOperatorToken>();

  constructor({ database, clock }: BaseContext) {
    this.#reads = new GatheredReads(async (queries) => {
      const tokenHashes = [...new Set(queries.map(({ tokenHash }) => tokenHash))];
      const keyHashes = queries.flatMap(({ keyHash }) => keyHash ?? []);
      const withUsage = queries.filter(({ keyHash, series }) => keyHash !== null && series !== null);
      const usage = withUsage.map(({ keyHash, series }) =>
        [keyHash ?? "", series?.productSlug ?? "", series?.metric ?? ""] as const
      );
      const query = { tokenHashes, keyHashes, usage, now: clock() };
      const { limits, ...found } = await findCredentials(database, query);
      return { ...found, limitsOf: new Map(withUsage.map((query, index) => [query, limits[index] ?? []])) };
    }, verificationsPerReadMax);
  }

  async find(query: CredentialQuery) {
    const { tokens, keys, limitsOf, hasValueLimits, now } = await this.#reads.find([query]);
    return {
      token: tokens.get(query.tokenHash),
      key: keys.get(query.keyHash ?? ""),
      limits: limitsOf.get(query) ?? [],
      hasValueLimits,
      now,
    };
  }

  /**
   * Returns a token that was accepted earlier, with its id, scopes and addresses, which never change. Only the transaction that
   * records with it knows if it still works.
   */
  knownToken(tokenHash: string): ActiveOperatorToken | undefined {
    return this.#tokens.get(tokenHash);
  }

  rememberToken(tokenHash: string, token: ActiveOperatorToken): void {
    if (!this.#tokens.has(tokenHash) && this.#tokens.size >= rememberedOperatorTokensMax) {
      this.#tokens.clear();
    }
    this.#tokens.set(tokenHash, token);
  }

  forgetToken(tokenHash: string): void {
    this.#tokens.delete(tokenHash);
  }
}
