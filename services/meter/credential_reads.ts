// Finds the operator tokens and API keys of concurrent verifications together.
import { findCredentials, type FoundCredentials } from "../../db/meter/key_verification.ts";
import { verificationsPerReadMax } from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";
import { GatheredReads } from "../gathered_reads.ts";

/** What one verification reads, by hash. The key is null if it is malformed. */
interface CredentialQuery {
  readonly tokenHash: string;
  readonly keyHash: string | null;
}

/** Reads credentials. */
export type CredentialReads = GatheredReads<CredentialQuery, FoundCredentials>;

/** @returns What reads the credentials of one thread's requests. */
export function createCredentialReads({ database, clock }: BaseContext): CredentialReads {
  return new GatheredReads((queries) => {
    const tokenHashes = [...new Set(queries.map(({ tokenHash }) => tokenHash))];
    const keyHashes = queries.flatMap(({ keyHash }) => keyHash ?? []);
    return findCredentials(database, { tokenHashes, keyHashes }, clock());
  }, verificationsPerReadMax);
}
