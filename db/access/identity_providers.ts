// SQL of the providers that people sign in with. Their secrets are as `Secrets` stores them.
import type { IdentityProvider, OfferedProvider } from "../../domain/people/identity_provider.ts";
import { offeredProvidersMax } from "../../domain/people/provider_limits.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { domainOf } from "./domain_rules.ts";

/** `clientSecret`: as stored. `pendingSecret`: a new one, which only tests use; null without one. */
export interface StoredProvider extends IdentityProvider {
  readonly clientSecret: string;
  readonly pendingSecret: string | null;
}

export type ProviderRow =
  & Omit<StoredProvider, "trustEmail" | "signUp" | "enforced">
  & Readonly<Record<"trustEmail" | "signUp" | "enforced", 0 | 1>>;

const select = sql`
  SELECT id, organization_id AS organizationId, slug, kind, name, issuer, client_id AS clientId,
    client_secret AS clientSecret, pending_secret AS pendingSecret, trust_email AS trustEmail, sign_up AS signUp, position, role, enforced,
    session_max_days AS sessionMaxDays, tested_at AS testedAt, created_at AS createdAt, updated_at AS updatedAt
  FROM identity_providers WHERE`;

/** Selects providers as {@linkcode ProviderRow}s. @param which Their condition. */
export const selectProviders = (which: Statement): Statement => sql`${select} ${which}`;

export function toProvider(row: ProviderRow): StoredProvider {
  const isOn = (name: "trustEmail" | "signUp" | "enforced") => row[name] === 1;
  return { ...row, trustEmail: isOn("trustEmail"), signUp: isOn("signUp"), enforced: isOn("enforced") };
}

export async function findProviders(database: DatabaseReader, which: Statement): Promise<StoredProvider[]> {
  return (await database.read<ProviderRow>(selectProviders(which))).map(toProvider);
}

export async function findProviderBySlug(database: DatabaseReader, slug: string) {
  return (await findProviders(database, sql`slug = ${slug}`))[0];
}

/** Finds a provider that people may visit: one of the whole service, or of an organization with a verified domain. */
export async function findOpenProvider(database: DatabaseReader, slug: string) {
  return (await findProviders(
    database,
    sql`slug = ${slug} AND (organization_id IS NULL OR EXISTS (SELECT 1 FROM organization_domains d
      WHERE d.organization_id = identity_providers.organization_id AND d.verified_at IS NOT NULL))`,
  ))[0];
}

/** Lists the providers that every page for signing in offers, in their order. */
export function listSignInProviders(database: DatabaseReader): Promise<OfferedProvider[]> {
  return database.read(sql`
    SELECT slug, kind, name FROM identity_providers WHERE organization_id IS NULL
    ORDER BY position, id LIMIT ${offeredProvidersMax}`);
}

/** Returns true if any organization has a provider of its own. */
export async function hasCompanyProviders(database: DatabaseReader): Promise<boolean> {
  const found = sql`SELECT 1 FROM identity_providers WHERE organization_id IS NOT NULL LIMIT 1`;
  return await database.readFirst(found) !== undefined;
}

/** A condition: a domain is verified for the organization of the provider `p`. */
const isVerifiedFor = (domain: Statement): Statement =>
  sql`EXISTS (SELECT 1 FROM organization_domains d WHERE d.organization_id = p.organization_id
    AND d.verified_at IS NOT NULL AND d.domain = ${domain})`;

/** Names a provider, and the issuer that it had when it made its claims. */
export interface ProviderUse {
  readonly providerId: string;
  readonly issuer: string;
}

/**
 * A condition: the provider `p` may sign the user `u` in. An organization's own provider may while their confirmed address is of one
 * of its verified domains.
 */
export const signsIn: Statement = sql`p.id IN (
  SELECT x.id FROM identity_providers x WHERE x.organization_id IS NULL
  UNION ALL SELECT x.id FROM organization_domains d CROSS JOIN identity_providers x ON x.organization_id = d.organization_id
    WHERE d.domain = ${
  domainOf(sql`u.email`)
} AND d.verified_at IS NOT NULL AND u.email_verified_at IS NOT NULL)`;

/** A condition: the provider still exists and may sign the user `u` in. */
export const providerMaySignIn = ({ providerId, issuer }: ProviderUse): Statement =>
  sql`EXISTS (SELECT 1 FROM identity_providers p WHERE p.id = ${providerId} AND p.issuer = ${issuer}
    AND ${signsIn})`;

/** A condition: the provider still exists, and is believed for a domain. */
export const providerIsBelieved = (
  { providerId, issuer }: ProviderUse,
  domain: string,
): Statement =>
  sql`EXISTS (SELECT 1 FROM identity_providers p WHERE p.id = ${providerId} AND p.issuer = ${issuer}
    AND (p.organization_id IS NULL OR ${isVerifiedFor(sql`${domain}`)}))`;

export async function isProviderBelieved(database: DatabaseReader, use: ProviderUse, domain: string) {
  return await database.readFirst(sql`SELECT 1 WHERE ${providerIsBelieved(use, domain)}`) !== undefined;
}
