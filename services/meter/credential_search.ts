// Finds the operator tokens and API keys of verifications.
import { findCredentials, type FoundCredentials } from "../../db/meter/key_verification.ts";
import type { LimitStandingRow } from "../../db/meter/limit_standings.ts";
import type { ActiveOperatorToken } from "../../db/access/mod.ts";
import { rememberedOperatorTokensMax, verificationsPerReadMax } from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";
import { GatheredReads } from "../gathered_reads.ts";

interface CredentialQuery {
  readonly tokenHash: string;
  /** Null for a malformed key. */
  readonly keyHash: string | null;
  /** Products and metrics whose limits are read too. */
  readonly series: readonly { readonly productSlug: string; readonly metric: string }[];
}

/** The result of the queries that share a read. */
interface Found extends Pick<FoundCredentials, "tokens" | "keys" | "hasValueLimits" | "now"> {
  readonly limitsOf: ReadonlyMap<CredentialQuery, ReadonlyMap<string, LimitStandingRow>>;
}

/** Returns the distinct products and metrics of a query. */
function seriesOf(query: CredentialQuery, keyHash: string) {
  const names = new Set(query.series.map(({ productSlug, metric }) => `${productSlug} ${metric}`));
  return [...names].map((name) => {
    // Slugs have no spaces.
    const [productSlug = "", metric = ""] = name.split(" ");
    return { query, usage: [keyHash, productSlug, metric] as const };
  });
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
      const asked = queries.flatMap((query) => query.keyHash === null ? [] : seriesOf(query, query.keyHash));
      const query = { tokenHashes, keyHashes, usage: asked.map(({ usage }) => usage), now: clock() };
      const { limits, ...found } = await findCredentials(database, query);
      const limitsOf = new Map<CredentialQuery, Map<string, LimitStandingRow>>();
      for (const [index, { query }] of asked.entries()) {
        const own = limitsOf.get(query) ?? new Map<string, LimitStandingRow>();
        limitsOf.set(query, own);
        for (const limit of limits[index] ?? []) own.set(limit.limitId, limit);
      }
      return { ...found, limitsOf };
    }, verificationsPerReadMax);
  }

  async find(query: CredentialQuery) {
    const { tokens, keys, limitsOf, hasValueLimits, now } = await this.#reads.find([query]);
    return {
      token: tokens.get(query.tokenHash),
      key: keys.get(query.keyHash ?? ""),
      /** Each limit once. */
      limits: [...limitsOf.get(query)?.values() ?? []],
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
