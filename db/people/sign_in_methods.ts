// SQL of the ways in which a person signs in: their password, passkeys, and identities whose provider exists.
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { offeredProvidersMax } from "../../domain/people/provider_limits.ts";
import type { ProviderKind } from "../../domain/people/identity_provider.ts";
import { signsIn } from "../access/mod.ts";

/** A condition: a passkey works at a host. */
export const worksAt = (host: string): Statement => sql`(host IS NULL OR host = ${host})`;

/**
 * A condition: the user `u` can sign in at a host without a passkey or an identity that is about to be deleted. It belongs to the statement that
 * deletes it, so that two deletions at the same time can't leave them without a way in.
 */
export const hasOtherWayIn = (
  { passkeyId = "", identityId = "", host }: { passkeyId?: string; identityId?: string; host: string },
): Statement =>
  sql`(u.has_password = 1
    OR EXISTS (SELECT 1 FROM passkeys k WHERE k.user_id = u.id AND k.id <> ${passkeyId} AND ${worksAt(host)})
    OR EXISTS (SELECT 1 FROM identities i JOIN identity_providers p ON p.issuer = i.issuer
      WHERE i.user_id = u.id AND i.id <> ${identityId} AND ${signsIn}))`;

/** Deletes an identity, unless it is its user's only way to sign in. */
export function deleteIdentity({ userId, id, host }: { userId: string; id: string; host: string }) {
  return sql`DELETE FROM identities WHERE id = ${id} AND user_id = ${userId}
    AND EXISTS (SELECT 1 FROM users u WHERE u.id = ${userId} AND ${hasOtherWayIn({ identityId: id, host })})`;
}

export interface ListedIdentityRow {
  readonly id: string;
  readonly issuer: string;
  readonly email: string | null;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
  /** The slug of the provider that signs the user in with it; null if there is none. */
  readonly slug: string | null;
  readonly name: string | null;
  readonly kind: ProviderKind | null;
}

/** Returns a user's identities, oldest first. */
export function findListedIdentities(database: DatabaseReader, userId: string): Promise<ListedIdentityRow[]> {
  return database.read(sql`
    SELECT i.id, i.issuer, i.email, i.created_at AS createdAt, i.last_used_at AS lastUsedAt, q.slug, q.name, q.kind
    FROM identities i JOIN users u ON u.id = i.user_id
    LEFT JOIN identity_providers q ON q.id = (SELECT p.id FROM identity_providers p
      WHERE p.issuer = i.issuer AND ${signsIn} ORDER BY p.organization_id IS NOT NULL, p.position, p.id LIMIT 1)
    WHERE i.user_id = ${userId} ORDER BY i.id`);
}

/** Returns the providers that can sign a user in and that they haven't connected. */
export function findLinkableProviders(
  database: DatabaseReader,
  userId: string,
): Promise<{ slug: string; name: string; kind: ProviderKind }[]> {
  return database.read(sql`
    SELECT p.slug, p.name, p.kind FROM identity_providers p JOIN users u ON u.id = ${userId}
    WHERE ${signsIn} AND NOT EXISTS (SELECT 1 FROM identities i WHERE i.user_id = u.id AND i.issuer = p.issuer)
    ORDER BY p.organization_id IS NOT NULL, p.position, p.id LIMIT ${offeredProvidersMax}`);
}
