// All SQL of organizations' domains, and of the emails about their single sign-on.
import type { MailFields } from "../../domain/outbox/mail.ts";
import { dailyBudget } from "../../domain/outbox/mail_budget.ts";
import {
  companyChangeMailsPerDayMax,
  companyDomainsMax,
  domainLookUpMs,
} from "../../domain/people/company_sign_in.ts";
import { type Audited, ifAudited } from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { insertMails, takeMail } from "../outbox/mod.ts";

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

/** A verified domain whose record must be looked up. */
export interface DueDomain {
  readonly organizationId: string;
  readonly organizationName: string;
  readonly domain: string;
  readonly token: string;
  readonly lookUpAt: number;
  /** When a look-up first didn't find the record; null if the last one did. */
  readonly missingSince: number | null;
}

export function findDueDomains(
  database: DatabaseReader,
  { now, limit }: { now: number; limit: number },
): Promise<DueDomain[]> {
  return database.read(sql`
    SELECT d.organization_id AS organizationId, o.name AS organizationName, d.domain, d.token,
      d.look_up_at AS lookUpAt, d.missing_since AS missingSince
    FROM organization_domains d JOIN organizations o ON o.id = d.organization_id
    WHERE d.verified_at IS NOT NULL AND d.look_up_at <= ${now} ORDER BY d.look_up_at LIMIT ${limit}`);
}

/** Stores the result of a look-up, unless another server did. @param next `lookUpAt`: null if the domain isn't verified anymore. */
export function updateLookedUpDomain(
  { organizationId, domain, token, lookUpAt }: DueDomain,
  next: { readonly lookUpAt: number | null; readonly missingSince: number | null },
): Statement {
  return sql`
    UPDATE organization_domains SET verified_at = iif(${next.lookUpAt} IS NULL, NULL, verified_at),
      look_up_at = ${next.lookUpAt}, missing_since = ${next.missingSince}
    WHERE organization_id = ${organizationId} AND domain = ${domain} AND token = ${token}
      AND look_up_at = ${lookUpAt} AND verified_at IS NOT NULL`;
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
