// SQL of sign-ins that wait for their second step. Only the SHA-256 of a token is stored.
import { secondStepAttemptsMax } from "../../domain/limits.ts";
import {
  domainPermits,
  hasAddress,
  hasTwoStep,
  identityMaySignIn,
  type IdentityUse,
  ifAudited,
  isFreeIdentity,
  providerMaySignIn,
} from "../access/mod.ts";
import { type Database, type DatabaseReader, sql, type Statement } from "../engine/database.ts";

export interface NewPendingSignIn {
  readonly tokenHash: string;
  readonly userId: string;
  readonly expiresAt: number;
  /** True if the user is signed in and only confirms their identity. */
  readonly isInSession?: boolean;
}

/**
 * Inserts a pending sign-in, unless the user is disabled, has changed the password since, or has turned off two-step sign-in, or if
 * their address's domain requires a provider.
 */
export function insertPendingSignIn(pending: NewPendingSignIn, passwordHash: string): Statement {
  return insertPendingIf(pending, { condition: sql`u.password_hash = ${passwordHash}` });
}

/** The identity that a sign-in began with. `email`: the provider's last word. */
export interface PendingIdentity extends IdentityUse {
  readonly email: string | null;
}

/** `isNew`: no account has it yet. Confirming the account's address connects it. */
type EnteringIdentity = PendingIdentity & { readonly isNew: boolean };

/** A condition: the identity signs the user `u` in, or will once it is connected. */
function identityMayEnter(identity: EnteringIdentity): Statement {
  if (!identity.isNew) return identityMaySignIn(identity);
  const isOwn = hasAddress(identity.email ?? "", { isConfirmed: true });
  return sql`${isFreeIdentity(identity)} AND ${isOwn} AND ${providerMaySignIn(identity)}`;
}

/** Returns true if an identity signs a user in, or will once it is connected. */
export async function mayEnter(
  database: DatabaseReader,
  userId: string,
  identity: EnteringIdentity,
): Promise<boolean> {
  const found = sql`SELECT 1 FROM users u WHERE u.id = ${userId} AND ${identityMayEnter(identity)}`;
  return await database.readFirst(found) !== undefined;
}

/** Does the same for a sign-in with a provider, unless it may not sign the user in. */
export function insertPendingProviderSignIn(
  pending: NewPendingSignIn,
  identity: EnteringIdentity,
): Statement {
  return insertPendingIf(pending, { condition: identityMayEnter(identity), identity });
}

function insertPendingIf(
  { tokenHash, userId, expiresAt, isInSession = false }: NewPendingSignIn,
  { condition, identity }: { condition: Statement; identity?: PendingIdentity },
) {
  const { providerId = null, issuer = null, subject = null, email = null } = identity ?? {};
  const isPermitted = isInSession
    ? sql`true`
    : domainPermits(sql`u.email`, { providerId: sql`${providerId}` });
  return sql`
    INSERT INTO pending_sign_ins (token_hash, user_id, expires_at, attempts, provider_id, issuer, subject, identity_email)
    SELECT ${tokenHash}, u.id, ${expiresAt}, 0, ${providerId}, ${issuer}, ${subject}, ${email} FROM users u
    WHERE u.id = ${userId} AND u.disabled_at IS NULL AND ${condition} AND ${isPermitted}
      AND ${hasTwoStep}`;
}

export interface SecondStep {
  readonly tokenHash: string;
  readonly userId: string;
  readonly now: number;
}

const isPending = (now: number) =>
  sql`p.expires_at > ${now}
    AND EXISTS (SELECT 1 FROM users u WHERE u.id = p.user_id AND u.disabled_at IS NULL AND ${hasTwoStep})`;

/** A condition: the sign-in is pending, and its user is not disabled and has not turned off two-step sign-in. */
export function ifSecondStepPending({ tokenHash, userId, now }: SecondStep) {
  return sql`EXISTS (SELECT 1 FROM pending_sign_ins p
    WHERE p.token_hash = ${tokenHash} AND p.user_id = ${userId} AND ${isPending(now)})`;
}

/** `provider`: its name. The identity is null for a password. */
export interface PendingSignIn extends Record<keyof PendingIdentity, string | null> {
  readonly tokenHash: string;
  readonly userId: string;
  readonly provider: string | null;
}

/** Finds the pending sign-ins of some tokens, newest last. */
export function findPendingSignIns(
  database: Database,
  { tokenHashes, now }: { tokenHashes: readonly string[]; now: number },
): Promise<PendingSignIn[]> {
  return database.read(sql`
    SELECT p.token_hash AS tokenHash, p.user_id AS userId,
      (SELECT i.name FROM identity_providers i WHERE i.id = p.provider_id) AS provider,
      p.provider_id AS providerId, p.issuer, p.subject, p.identity_email AS email
    FROM pending_sign_ins p
    WHERE p.token_hash IN (SELECT value FROM json_each(${JSON.stringify(tokenHashes)}))
      AND p.attempts < ${secondStepAttemptsMax} AND ${isPending(now)}
    ORDER BY p.expires_at`);
}

/** Counts a code before it is checked. Returns the number of `attempts` including this one, or no row if there were too many. */
export function countSecondStepAttempt(step: SecondStep) {
  return sql`
    UPDATE pending_sign_ins SET attempts = attempts + 1
    WHERE token_hash = ${step.tokenHash} AND attempts < ${secondStepAttemptsMax} AND ${
    ifSecondStepPending(step)
  }
    RETURNING attempts`;
}

/** Deletes a pending sign-in that has no attempts left. */
export function deleteSpentPendingSignIn(tokenHash: string) {
  return sql`
    DELETE FROM pending_sign_ins WHERE token_hash = ${tokenHash} AND attempts >= ${secondStepAttemptsMax}`;
}

export function consumePendingSignIn(tokenHash: string, { audited }: { audited: string }) {
  return sql`DELETE FROM pending_sign_ins WHERE token_hash = ${tokenHash} AND ${ifAudited(audited)}
    RETURNING token_hash`;
}

/** Deletes everyone's unfinished sign-ins. */
export const deleteAllPendingSignIns: Statement = sql`DELETE FROM pending_sign_ins`;

/** Deletes a user's unfinished sign-ins, after an audited change of how they sign in. */
export function deleteUnfinishedSignIns(userId: string, { audited }: { audited: string }): Statement[] {
  return [
    sql`DELETE FROM pending_sign_ins WHERE user_id = ${userId} AND ${ifAudited(audited)}`,
    sql`DELETE FROM passkey_challenges WHERE user_id = ${userId} AND ${ifAudited(audited)}`,
  ];
}
