// SQL of visits to a provider that aren't complete. Only hashes of the values that the browser and the provider return are stored.
import type { VisitPurpose } from "../../domain/people/identity_provider.ts";
import { ifAudited } from "../access/mod.ts";
import { type DatabaseReader, sql } from "../engine/database.ts";

export interface ProviderAttempt {
  readonly purpose: VisitPurpose;
  /** The person who connects, confirms or tests; otherwise null. */
  readonly userId: string | null;
  readonly sessionId: string | null;
  /** Encrypted with a key that only the browser has. */
  readonly returnTo: string | null;
  readonly invitationHash: string | null;
}

interface NewProviderAttempt extends ProviderAttempt {
  readonly stateHash: string;
  readonly browserHash: string;
  readonly providerId: string;
  readonly expiresAt: number;
}

export function insertProviderAttempt(attempt: NewProviderAttempt) {
  const {
    stateHash,
    providerId,
    browserHash,
    purpose,
    userId,
    sessionId,
    returnTo,
    invitationHash,
    expiresAt,
  } = attempt;
  return sql`
    INSERT INTO provider_attempts (state_hash, provider_id, browser_hash, purpose, user_id, session_id, return_to,
      invitation_hash, expires_at)
    SELECT ${stateHash}, p.id, ${browserHash}, ${purpose}, ${userId}, ${sessionId}, ${returnTo}, ${invitationHash},
      ${expiresAt}
    FROM identity_providers p WHERE p.id = ${providerId}`;
}

/** True if a visit has this state. Anyone may ask about any state, so it isn't asked in the writer. */
export async function hasProviderAttempt(database: DatabaseReader, stateHash: string): Promise<boolean> {
  const found = sql`SELECT 1 FROM provider_attempts WHERE state_hash = ${stateHash}`;
  return await database.readFirst(found) !== undefined;
}

/** Uses an attempt up, and returns it with its `browserHash`; no row if none of the browsers began it, or if it has expired. */
export function takeProviderAttempt(
  { stateHash, providerId, browserHashes, now }: {
    stateHash: string;
    providerId: string;
    browserHashes: readonly string[];
    now: number;
  },
) {
  return sql`
    DELETE FROM provider_attempts WHERE state_hash = ${stateHash} AND provider_id = ${providerId}
      AND expires_at > ${now} AND browser_hash IN (SELECT value FROM json_each(${
    JSON.stringify(browserHashes)
  }))
    RETURNING purpose, user_id AS userId, session_id AS sessionId, return_to AS returnTo,
      invitation_hash AS invitationHash, browser_hash AS browserHash`;
}

/** Deletes the visits that a user began while signed in, after an audited change of how they sign in. */
export function deleteProviderAttempts(userId: string, { audited }: { audited: string }) {
  return sql`DELETE FROM provider_attempts WHERE user_id = ${userId} AND ${ifAudited(audited)}`;
}
