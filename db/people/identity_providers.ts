// All SQL that changes providers: those of the whole service, and organizations' own. A change is made only to a provider that is
// still as it was read.
import type { IdentityProvider } from "../../domain/people/identity_provider.ts";
import { connectedCountMax } from "../../domain/people/provider_limits.ts";
import { type Audited, findProviders, ifAudited, type StoredProvider } from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

export type NewProvider = Omit<StoredProvider, "position" | "createdAt" | "updatedAt">;

/** A condition: the provider's owner is this organization, or the service for null. */
const isOf = (organizationId: string | null): Statement => sql`organization_id IS ${organizationId}`;

/** The version of a provider changes with each change of what people set. */
const nextVersion = (now: number): Statement => sql`updated_at = max(updated_at + 1, ${now})`;

const flag = (value: boolean) => value ? 1 : 0;

/** Returns providers with their stored secrets, those of the whole service first. */
export function findCheckedProviders(database: DatabaseReader, { limit }: { limit: number }) {
  return findProviders(
    database,
    sql`true ORDER BY organization_id IS NOT NULL, position, id LIMIT ${limit}`,
  );
}

/**
 * Inserts a provider after all others of its owner, unless its slug is taken or the owner has `max` of them. An organization's has its
 * name.
 */
export function insertProvider(provider: NewProvider, { max, now }: { max: number; now: number }): Statement {
  const { id, organizationId, slug, kind, name, issuer, clientId, clientSecret, role, sessionMaxDays } =
    provider;
  return sql`
    INSERT INTO identity_providers (id, organization_id, slug, kind, name, issuer, client_id, client_secret, trust_email, sign_up,
      position, role, session_max_days, created_at, updated_at)
    SELECT ${id}, ${organizationId}, ${slug}, ${kind}, coalesce(o.name, ${name}), ${issuer}, ${clientId}, ${clientSecret},
      ${flag(provider.trustEmail)}, ${
    flag(provider.signUp)
  }, others.last + 1, ${role}, ${sessionMaxDays}, ${now}, ${now}
    FROM (SELECT count(*) AS count, coalesce(max(position), 0) AS last FROM identity_providers
      WHERE ${isOf(organizationId)}) AS others LEFT JOIN organizations o ON o.id = ${organizationId}
    WHERE others.count < ${max} AND o.id IS ${organizationId} AND o.deleted_at IS NULL
    ON CONFLICT DO NOTHING`;
}

/** Changes what people set, and when it was tested, of a provider that is still as it was `before`. */
export function updateProvider(before: StoredProvider, after: StoredProvider, now: number): Statement {
  const { id, organizationId, name, issuer, clientId, clientSecret, pendingSecret } = after;
  const { role, sessionMaxDays, testedAt } = after;
  // Secrets are also encrypted again, which is no new version.
  return sql`
    UPDATE identity_providers SET name = ${name}, issuer = ${issuer}, client_id = ${clientId}, client_secret = ${clientSecret},
      pending_secret = ${pendingSecret}, trust_email = ${flag(after.trustEmail)}, sign_up = ${
    flag(after.signUp)
  },
      role = ${role}, enforced = ${
    flag(after.enforced)
  }, session_max_days = ${sessionMaxDays}, tested_at = ${testedAt},
      ${nextVersion(now)}
    WHERE id = ${id} AND ${isOf(organizationId)} AND updated_at = ${before.updatedAt}
      AND client_secret = ${before.clientSecret} AND pending_secret IS ${before.pendingSecret}`;
}

export function deleteProvider({ id, organizationId }: Pick<IdentityProvider, "id" | "organizationId">) {
  return sql`DELETE FROM identity_providers WHERE id = ${id} AND ${isOf(organizationId)}`;
}

/**
 * Numbers the providers of the service from 1 after an audited change.
 *
 * @param moved The provider that gets a position, and the others keep their order; null for none.
 */
export function numberServiceProviders(
  moved: { readonly id: string; readonly position: number } | null,
  audited: string,
): Statement {
  const { id, position } = moved ?? { id: "", position: 0 };
  return sql`
    UPDATE identity_providers SET position = numbered.position FROM (
      SELECT id, row_number() OVER (ORDER BY place) AS position FROM (
        SELECT id, CASE WHEN id = ${id} THEN 2 * ${position} - 1
          ELSE 2 * row_number() OVER (PARTITION BY id = ${id} ORDER BY position, id) END AS place
        FROM identity_providers WHERE ${isOf(null)})) AS numbered
    WHERE numbered.id = identity_providers.id AND ${ifAudited(audited)}`;
}

/** Counts the accounts that are connected to an issuer, up to {@linkcode connectedCountMax}, and those of them without a password. */
export async function countConnected(database: DatabaseReader, issuer: string) {
  const row = await database.readFirst<{ accounts: number; withoutPassword: number }>(sql`
    SELECT count(*) AS accounts, coalesce(sum(has_password = 0), 0) AS withoutPassword FROM (
      SELECT DISTINCT u.id, u.has_password FROM identities i JOIN users u ON u.id = i.user_id
      WHERE i.issuer = ${issuer} LIMIT ${connectedCountMax})`);
  return row ?? { accounts: 0, withoutPassword: 0 };
}

/**
 * Records a successful test with exactly these credentials, by someone with an address of a verified domain. A pending secret, which is
 * then the one that was tested, replaces the one before.
 */
export function markProviderTested(
  { provider, domain, now }: {
    provider: Pick<StoredProvider, "id" | "issuer" | "clientId" | "clientSecret">;
    domain: string;
    now: number;
  },
): Statement {
  const { id, issuer, clientId, clientSecret } = provider;
  const tested = sql`coalesce(pending_secret, client_secret)`;
  return sql`UPDATE identity_providers SET tested_at = ${now}, client_secret = ${tested}, pending_secret = NULL,
      ${nextVersion(now)}
    WHERE id = ${id} AND issuer = ${issuer} AND client_id = ${clientId} AND ${tested} = ${clientSecret}
    AND EXISTS (SELECT 1 FROM organization_domains d WHERE d.organization_id = identity_providers.organization_id
      AND d.domain = ${domain} AND d.verified_at IS NOT NULL)`;
}

/** Gives an organization's provider its new name. */
export function renameCompanyProvider(organizationId: string, name: string, { now, audited }: Audited) {
  return sql`UPDATE identity_providers SET name = ${name}, ${nextVersion(now)}
    WHERE organization_id = ${organizationId} AND ${ifAudited(audited)}`;
}

/** Deletes providers and frees the domains of organizations, after an audited change. @param organizations Selects their ids. */
export function endCompanySignIn(
  organizations: Statement,
  { audited }: Pick<Audited, "audited">,
): Statement[] {
  const ofThem = sql`organization_id IN (${organizations}) AND ${ifAudited(audited)}`;
  return [
    sql`DELETE FROM identity_providers WHERE ${ofThem}`,
    sql`DELETE FROM organization_domains WHERE ${ofThem}`,
  ];
}
