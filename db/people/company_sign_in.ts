// All SQL of organizations' own providers and domains. Conditions such as “tested with these very settings” stand in the statements.
import type { MailFields } from "../../domain/outbox/mail.ts";
import { dailyBudget } from "../../domain/outbox/mail_budget.ts";
import {
  companyChangeMailsPerDayMax,
  companyDomainsMax,
  type CompanyRole,
  domainLookUpMs,
} from "../../domain/people/company_sign_in.ts";
import { type Audited, ifAudited } from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { insertMails, takeMail } from "../outbox/mod.ts";

/** `clientSecret`: as `Secrets` stores it. `enforced`: 0 or 1. */
export interface CompanyProviderRow {
  readonly id: string;
  readonly slug: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Waits for a test; null without one. */
  readonly pendingSecret: string | null;
  readonly role: CompanyRole;
  readonly enforced: number;
  readonly sessionMaxDays: number | null;
  readonly testedAt: number | null;
}

/** The fields that admins set. */
export type CompanyProviderFields = Omit<CompanyProviderRow, "id" | "slug" | "testedAt">;

export function findCompanyProvider(database: DatabaseReader, organizationId: string) {
  return database.readFirst<CompanyProviderRow>(selectCompanyProvider(organizationId));
}

export const selectCompanyProvider = (organizationId: string): Statement =>
  sql`SELECT id, slug, issuer, client_id AS clientId, client_secret AS clientSecret,
    pending_secret AS pendingSecret, role, enforced,
    session_max_days AS sessionMaxDays, tested_at AS testedAt
  FROM identity_providers WHERE organization_id = ${organizationId}`;

/** Inserts a provider, unless the organization has one. It isn't tested, so it can't be enforced yet. */
export function insertCompanyProvider(
  organizationId: string,
  { id, slug, fields, now }: { id: string; slug: string; fields: CompanyProviderFields; now: number },
): Statement {
  const { issuer, clientId, clientSecret, role, sessionMaxDays } = fields;
  return sql`
    INSERT INTO identity_providers (id, organization_id, slug, kind, name, issuer, client_id, client_secret, position,
      role, session_max_days, created_at, updated_at)
    SELECT ${id}, o.id, ${slug}, 'oidc', o.name, ${issuer}, ${clientId}, ${clientSecret}, 0, ${role}, ${sessionMaxDays},
      ${now}, ${now} FROM organizations o WHERE o.id = ${organizationId} AND o.deleted_at IS NULL
    ON CONFLICT (organization_id) DO NOTHING`;
}

/**
 * Changes a provider that is still as it was read. Other credentials need another test. Does nothing if it would then be enforced
 * without one.
 */
export function updateCompanyProvider(
  organizationId: string,
  { before, after, now }: { before: CompanyProviderRow; after: CompanyProviderFields; now: number },
): Statement {
  const { issuer, clientId, clientSecret, pendingSecret, role, enforced, sessionMaxDays } = after;
  const isSame = sql`issuer = ${issuer} AND client_id = ${clientId} AND client_secret = ${clientSecret}`;
  return sql`
    UPDATE identity_providers SET issuer = ${issuer}, client_id = ${clientId}, client_secret = ${clientSecret},
      pending_secret = ${pendingSecret}, role = ${role}, enforced = ${enforced}, session_max_days = ${sessionMaxDays},
      tested_at = iif(${isSame}, tested_at, NULL), updated_at = ${now}
    WHERE id = ${before.id} AND organization_id = ${organizationId} AND ${hasCredentials(before)}
      AND pending_secret IS ${before.pendingSecret} AND enforced = ${before.enforced} AND session_max_days IS ${before.sessionMaxDays} AND role = ${before.role}
      AND (${enforced} = 0 OR (tested_at IS NOT NULL AND ${isSame}))`;
}

const hasCredentials = (
  { issuer, clientId, clientSecret }: Pick<CompanyProviderRow, "issuer" | "clientId" | "clientSecret">,
): Statement => sql`issuer = ${issuer} AND client_id = ${clientId} AND client_secret = ${clientSecret}`;

/**
 * Records a successful test with exactly these credentials, by someone with an address of a verified domain. A pending secret, which is
 * then the one that was tested, replaces the one before.
 */
export function markCompanyProviderTested(
  { provider, domain, now }: {
    provider: Pick<CompanyProviderRow, "id" | "issuer" | "clientId" | "clientSecret">;
    domain: string;
    now: number;
  },
): Statement {
  const { id, issuer, clientId, clientSecret } = provider;
  const tested = sql`coalesce(pending_secret, client_secret)`;
  return sql`UPDATE identity_providers SET tested_at = ${now}, client_secret = ${tested}, pending_secret = NULL
    WHERE id = ${id} AND issuer = ${issuer} AND client_id = ${clientId} AND ${tested} = ${clientSecret}
    AND EXISTS (SELECT 1 FROM organization_domains d WHERE d.organization_id = identity_providers.organization_id
      AND d.domain = ${domain} AND d.verified_at IS NOT NULL)`;
}

/** Stops requiring the provider, unless it isn't required. */
export function endEnforcement(organizationId: string, now: number): Statement {
  return sql`UPDATE identity_providers SET enforced = 0, updated_at = ${now}
    WHERE organization_id = ${organizationId} AND enforced = 1`;
}

export function deleteCompanyProvider(organizationId: string): Statement {
  return sql`DELETE FROM identity_providers WHERE organization_id = ${organizationId}`;
}

/** The provider has the organization's name. */
export function renameCompanyProvider(organizationId: string, name: string, audited: string): Statement {
  return sql`UPDATE identity_providers SET name = ${name} WHERE organization_id = ${organizationId} AND ${
    ifAudited(audited)
  }`;
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

export interface CompanyDomainRow {
  readonly domain: string;
  readonly token: string;
  readonly verifiedAt: number | null;
  readonly missingSince: number | null;
}

const selectDomains = (organizationId: string): Statement =>
  sql`SELECT domain, token, verified_at AS verifiedAt, missing_since AS missingSince FROM organization_domains
    WHERE organization_id = ${organizationId}`;

export function findCompanyDomains(database: DatabaseReader, organizationId: string) {
  return database.read<CompanyDomainRow>(sql`${selectDomains(organizationId)} ORDER BY domain`);
}

export const selectCompanyDomain = (organizationId: string, domain: string): Statement =>
  sql`${selectDomains(organizationId)} AND domain = ${domain}`;

/** Finds the organization that has verified a domain. */
export function findVerifiedDomain(database: DatabaseReader, domain: string) {
  return database.readFirst<{ organizationId: string; organizationName: string; token: string }>(
    sql`SELECT o.id AS organizationId, o.name AS organizationName, d.token
      FROM organization_domains d JOIN organizations o ON o.id = d.organization_id
      WHERE d.domain = ${domain} AND d.verified_at IS NOT NULL`,
  );
}

/** Adds a domain, unless the organization has it or is full. */
export function insertCompanyDomain(
  organizationId: string,
  { domain, token, now }: { domain: string; token: string; now: number },
): Statement {
  return sql`
    INSERT INTO organization_domains (organization_id, domain, token, created_at)
    SELECT o.id, ${domain}, ${token}, ${now} FROM organizations o
    WHERE o.id = ${organizationId} AND o.deleted_at IS NULL
      AND (SELECT count(*) FROM organization_domains d WHERE d.organization_id = o.id) < ${companyDomainsMax}
    ON CONFLICT (organization_id, domain) DO NOTHING`;
}

export function deleteCompanyDomain(organizationId: string, domain: string): Statement {
  return sql`DELETE FROM organization_domains WHERE organization_id = ${organizationId} AND domain = ${domain}`;
}

/** Takes a verified domain from an organization whose record is gone, if the other one has just proved it. */
export function releaseDomain(
  domain: string,
  { from, to }: Readonly<Record<"from" | "to", { organizationId: string; token: string }>>,
): Statement {
  return sql`
    UPDATE organization_domains SET verified_at = NULL, missing_since = NULL
    WHERE organization_id = ${from.organizationId} AND domain = ${domain} AND token = ${from.token}
      AND verified_at IS NOT NULL AND EXISTS (SELECT 1 FROM organization_domains d
        WHERE d.organization_id = ${to.organizationId} AND d.domain = ${domain} AND d.token = ${to.token})`;
}

/** Marks a domain as verified, unless another organization has it. */
export function markDomainVerified(
  organizationId: string,
  { domain, token, now }: { domain: string; token: string; now: number },
): Statement {
  return sql`
    UPDATE organization_domains SET verified_at = ${now}, look_up_at = ${now + domainLookUpMs}
    WHERE organization_id = ${organizationId} AND domain = ${domain} AND token = ${token} AND verified_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM organization_domains d WHERE d.domain = ${domain} AND d.verified_at IS NOT NULL)`;
}

/** Writes an email about an audited change to all owners with a confirmed address, unless there were too many today. */
export function insertCompanySignInMails(
  organizationId: string,
  fields: MailFields["single_sign_on_changed"],
  { now, audited }: Audited,
): Statement[] {
  const budget = dailyBudget("single_sign_on_changed", organizationId, companyChangeMailsPerDayMax);
  return [
    takeMail(budget, { now, only: ifAudited(audited) }),
    insertMails(
      "single_sign_on_changed",
      sql`SELECT u.email FROM memberships m JOIN users u ON u.id = m.user_id
        WHERE m.organization_id = ${organizationId} AND m.role = 'OWNER' AND u.disabled_at IS NULL
          AND u.email_verified_at IS NOT NULL AND changes() > 0`,
      { fields, now },
    ),
  ];
}
