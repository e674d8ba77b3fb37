// Finds the operator tokens and API keys of concurrent verifications together.
import { findCredentials, type FoundCredentials } from "../../db/meter/key_verification.ts";
import { verificationsPerReadMax } from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";
import { GatheredReads } from "../gathered_reads.ts";

/** What one verification reads, by hash. */
export interface CredentialQuery {
  readonly tokenHash: string;
  /** Null for a malformed key. */
  readonly keyHash: string | null;
  /** The product and metric whose limits are read too. */
  readonly series: { readonly productSlug: string; readonly metric: string } | null;
}

/** What was found for the queries that share a read. */
interface Found extends Pick<FoundCredentials, "tokens" | "keys" | "now"> {
  readonly limitsOf: ReadonlyMap<CredentialQuery, FoundCredentials["limits"][number]>;
}

/** Reads credentials. */
export type CredentialReads = GatheredReads<CredentialQuery, Found>;

/** @returns What reads the credentials of one thread's requests. */
export function createCredentialReads({ database, clock }: BaseContext): CredentialReads {
  return new GatheredReads(async (queries) => {
    const tokenHashes = [...new Set(queries.map(({ tokenHash }) => tokenHash))];
    const keyHashes = queries.flatMap(({ keyHash }) => keyHash ?? []);
    const withUsage = queries.filter(({ keyHash, series }) => keyHash !== null && series !== null);
    const usage = withUsage.map(({ keyHash, series }) =>
      [keyHash ?? "", series?.productSlug ?? "", series?.metric ?? ""] as const
    );
    const { limits, ...found } = await findCredentials(database, {
      tokenHashes,
      keyHashes,
      usage,
      now: clock(),
    });
    return { ...found, limitsOf: new Map(withUsage.map((query, index) => [query, limits[index] ?? []])) };
  }, verificationsPerReadMax);
}
