// SQL of identities: how providers name people. The pair of issuer and subject is unique, so that it names one account.
import type { ProviderIdentity } from "../../domain/people/identity_provider.ts";
import { identitiesPerUserMax } from "../../domain/people/provider_limits.ts";
import { ifAudited } from "./audit.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { providerMaySignIn } from "./identity_providers.ts";

export interface IdentityRow extends ProviderIdentity {
  readonly id: string;
  readonly userId: string;
  /** The provider's last word, only to be shown. */
  readonly email: string | null;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

const select = sql`
  SELECT id, user_id AS userId, issuer, subject, email, created_at AS createdAt, last_used_at AS lastUsedAt
  FROM identities WHERE`;

export function findIdentity(database: DatabaseReader, { issuer, subject }: ProviderIdentity) {
  return database.readFirst<IdentityRow>(sql`${select} issuer = ${issuer} AND subject = ${subject}`);
}

/** Returns a user's identities, oldest first. */
export function findIdentitiesOfUser(database: DatabaseReader, userId: string): Promise<IdentityRow[]> {
  return database.read(sql`${select} user_id = ${userId} ORDER BY id`);
}

/** A condition: the identity is of the user `u`. */
const hasIdentity = ({ issuer, subject }: ProviderIdentity): Statement =>
  sql`EXISTS (SELECT 1 FROM identities i
    WHERE i.issuer = ${issuer} AND i.subject = ${subject} AND i.user_id = u.id)`;

/** An identity, and the provider that it signs in with. */
export interface IdentityUse extends ProviderIdentity {
  readonly providerId: string;
}

/** A condition: the identity is of the user `u`, and the provider may sign them in. */
export const identityMaySignIn = (use: IdentityUse): Statement =>
  sql`${hasIdentity(use)} AND ${providerMaySignIn(use)}`;

/** A condition: no account has the identity. */
export const isFreeIdentity = ({ issuer, subject }: ProviderIdentity): Statement =>
  sql`NOT EXISTS (SELECT 1 FROM identities i WHERE i.issuer = ${issuer} AND i.subject = ${subject})`;

/**
 * Adds an identity to a user `u` who is not disabled, if the condition holds, the identity is free and the user hasn't too many.
 * Changes no row otherwise.
 */
export function insertIdentity(identity: Omit<IdentityRow, "lastUsedAt">, condition: Statement) {
  const { id, userId, issuer, subject, email, createdAt } = identity;
  return sql`
    INSERT INTO identities (id, user_id, issuer, subject, email, created_at)
    SELECT ${id}, u.id, ${issuer}, ${subject}, ${email}, ${createdAt} FROM users u
    WHERE u.id = ${userId} AND u.disabled_at IS NULL AND ${condition}
      AND (SELECT count(*) FROM identities WHERE user_id = u.id) < ${identitiesPerUserMax}
    ON CONFLICT (issuer, subject) DO NOTHING`;
}

/** Records an audited use of an identity. */
export function updateIdentityUsed(
  { issuer, subject }: ProviderIdentity,
  { email, now, audited }: { email: string | null; now: number; audited: string },
) {
  return sql`
    UPDATE identities SET last_used_at = ${now}, email = coalesce(${email}, email)
    WHERE issuer = ${issuer} AND subject = ${subject} AND ${ifAudited(audited)}`;
}

export function deleteIdentities(userId: string, { audited }: { audited: string }) {
  return sql`DELETE FROM identities WHERE user_id = ${userId} AND ${ifAudited(audited)}`;
}

/** A condition: the user's address is still this one, and confirmed or not. */
export const hasAddress = (email: string, { isConfirmed }: { isConfirmed: boolean }): Statement =>
  sql`u.email = ${email} AND u.email_verified_at IS ${isConfirmed ? sql`NOT NULL` : sql`NULL`}`;

/** Confirms the address of an account that never did, for its owner. Changes no row unless the condition holds. */
export function takeUserBack(
  { userId, email, now }: { userId: string; email: string; now: number },
  condition: Statement,
) {
  return sql`
    UPDATE users AS u SET email_verified_at = ${now} WHERE u.id = ${userId} AND u.disabled_at IS NULL
      AND ${hasAddress(email, { isConfirmed: false })} AND ${condition}`;
}

/** Makes a password unusable after an audited change. Setting the hash of an account without one would give it one. */
export function unsetPassword(userId: string, { hash, audited }: { hash: string; audited: string }) {
  return sql`UPDATE users SET password_hash = ${hash}, has_password = 0
    WHERE id = ${userId} AND has_password = 1 AND ${ifAudited(audited)}`;
}
