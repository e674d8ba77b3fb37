// The domains of an organization, each proved by a TXT record. Only then its provider is believed for their addresses. The records are
// looked up again in the background: a domain can get another owner.
import { beginShortening, ifAudited, insertAuditEvent } from "../../db/access/mod.ts";
import {
  type CompanyDomainRow,
  deleteCompanyDomain,
  type DueDomain,
  findCompanyDomains,
  findDueDomains,
  findVerifiedDomain,
  insertCompanyDomain,
  insertCompanySignInMails,
  markDomainVerified,
  releaseDomain,
  selectCompanyDomain,
  updateLookedUpDomain,
} from "../../db/people/company_domains.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { AppError, notFoundError, validationError } from "../../domain/errors.ts";
import {
  type CompanyDomain,
  companyDomainsMax,
  domainLookUpMs,
  domainLookUpsPerStepMax,
  domainMissingLookUpMs,
  domainMissingMaxMs,
  domainTakenError,
  domainUnprovedError,
  parseCompanyDomain,
  txtRecordName,
} from "../../domain/people/company_sign_in.ts";
import { isoTime } from "../../domain/time.ts";
import {
  type MemberAccess,
  newToken,
  requireAllowed,
  requirePermission,
  requireRecentAuthentication,
  rowOf,
  writeAndRead,
  writeChange,
  type Writer,
} from "../access/mod.ts";
import type { Context, SessionContext } from "../context.ts";
import { findTxtRecords } from "../outbox/mod.ts";

/**
 * Adds a domain that is not verified yet, or returns the existing one.
 *
 * @throws {AppError} `forbidden`, `proof_required`, `validation_failed`, `limit_reached`.
 */
export async function addCompanyDomain(
  context: SessionContext,
  access: MemberAccess,
  text: string,
): Promise<CompanyDomain> {
  const by = requireCompanyManager(context, access);
  const parsed = parseCompanyDomain(text);
  if ("fault" in parsed) throw validationError([{ path: "domain", message: parsed.fault }]);
  const { organizationId } = access;
  const { domain } = parsed;
  const token = `gatehouse-domain=${newToken()}`;
  const { isMade, row } = await writeAndRead<CompanyDomainRow>(context, by, {
    statement: insertCompanyDomain(organizationId, { domain, token, now: context.clock() }),
    entry: { action: "sso.domain_added", organizationId, target: { id: domain, name: domain } },
  }, selectCompanyDomain(organizationId, domain));
  const isThere = isMade ||
    (await findCompanyDomains(context.database, organizationId)).some((one) => one.domain === domain);
  if (isThere) return toCompanyDomain(row());
  throw new AppError(
    "limit_reached",
    `An organization can have at most ${companyDomainsMax} domains. Remove one first.`,
  );
}

/** Removes a domain. From then on, the provider isn't believed for its addresses. @throws {AppError} `forbidden`, `proof_required`, `not_found`. */
export async function removeCompanyDomain(
  context: SessionContext,
  access: MemberAccess,
  domain: string,
): Promise<void> {
  const by = requireCompanyManager(context, access);
  const { organizationId } = access;
  const isRemoved = await writeChange(context, by, {
    statement: deleteCompanyDomain(organizationId, domain),
    entry: { action: "sso.domain_removed", organizationId, target: { id: domain, name: domain } },
  });
  if (!isRemoved) throw notFoundError();
}

/**
 * Looks for a domain's TXT record, and marks the domain as verified. It moves here from an organization whose own record is gone.
 *
 * @throws {AppError} `forbidden`, `proof_required`, `not_found`, `domain_unproved`, `domain_taken`, `rate_limited`.
 */
export async function verifyCompanyDomain(
  context: SessionContext,
  access: MemberAccess,
  domain: string,
): Promise<CompanyDomain> {
  const by = requireCompanyManager(context, access);
  const { database, config, rateLimits } = context;
  const { organizationId } = access;
  const own = await database.readFirst<CompanyDomainRow>(selectCompanyDomain(organizationId, domain));
  if (own === undefined) throw notFoundError();
  if (own.verifiedAt !== null) return toCompanyDomain(own);
  requireAllowed(rateLimits.domainLookups.take(organizationId));
  const records = await findTxtRecords(config, txtRecordName(domain));
  if (!records.includes(own.token)) throw domainUnprovedError(domain);
  const holder = await findVerifiedDomain(database, domain);
  if (holder !== undefined && records.includes(holder.token)) throw domainTakenError(domain);
  const now = context.clock();
  const to = { organizationId, token: own.token };
  const target = { id: domain, name: domain };
  const lost = insertAuditEvent(system, {
    action: "sso.domain_moved",
    organizationId: holder?.organizationId ?? null,
    target,
  }, { now });
  // The other organization doesn't learn who owns the domain now.
  const moved = holder === undefined ? [] : [
    releaseDomain(domain, { from: holder, to }),
    lost.statement,
    ...context.mail.mode === "none" ? [] : insertCompanySignInMails(
      holder.organizationId,
      { organization: holder.organizationName, change: "domain_lost", provider: domain },
      { now, audited: lost.id },
    ),
  ];
  const audit = insertAuditEvent(access.actor, { action: "sso.domain_verified", organizationId, target }, {
    now,
  });
  const results = await context.writeAs(by, [
    ...moved,
    markDomainVerified(organizationId, { domain, token: own.token, now }),
    audit.statement,
    ...beginShortening(organizationId, ifAudited(audit.id)),
    selectCompanyDomain(organizationId, domain),
  ]);
  const row = rowOf<CompanyDomainRow>(results, -1);
  // Another organization verified it meanwhile.
  if (row.verifiedAt === null) throw domainTakenError(domain);
  context.mail.wake();
  return toCompanyDomain(row);
}

const system: Actor = { type: "system", client: { address: "", userAgent: "", requestId: null } };

/**
 * Requires an owner who authenticated recently and has confirmed their address: their own sign-in with the provider would otherwise
 * take the account back, and end everything that it set up.
 *
 * @throws {AppError} `forbidden`, `proof_required`, `email_unverified`.
 */
export function requireCompanyManager({ clock }: SessionContext, access: MemberAccess): Writer {
  const by = requirePermission(access, "sso.manage");
  requireRecentAuthentication(access.actor, clock());
  if (!access.actor.user.emailVerified) {
    throw new AppError("email_unverified", "Confirm your email address before you set up single sign-on.");
  }
  return by;
}

export function toCompanyDomain(
  { domain, token, verifiedAt, missingSince }: CompanyDomainRow,
): CompanyDomain {
  return {
    domain,
    recordName: txtRecordName(domain),
    recordValue: token,
    verifiedAt: isoTime(verifiedAt),
    missingSince: isoTime(missingSince),
  };
}

/**
 * Looks up some domains that are due. One whose record has been missing for two weeks isn't verified anymore. Owners get an email when
 * it is first missing, and then.
 *
 * @returns True if there may be more.
 */
export async function lookUpDomains(context: Context): Promise<boolean> {
  const limit = domainLookUpsPerStepMax;
  const due = await findDueDomains(context.database, { now: context.clock(), limit });
  await Promise.all(due.map((domain) => lookUp(context, domain)));
  return due.length === limit;
}

async function lookUp({ database, clock, config, mail }: Context, due: DueDomain): Promise<void> {
  const { organizationId, organizationName, domain, token, missingSince } = due;
  const isFound = (await findTxtRecords(config, txtRecordName(domain))).includes(token);
  const now = clock();
  if (isFound) {
    await database.write([updateLookedUpDomain(due, { lookUpAt: now + domainLookUpMs, missingSince: null })]);
    return;
  }
  const isOver = missingSince !== null && now - missingSince >= domainMissingMaxMs;
  const next = isOver
    ? { lookUpAt: null, missingSince: null }
    : { lookUpAt: now + domainMissingLookUpMs, missingSince: missingSince ?? now };
  const change = isOver ? "domain_unverified" : "domain_missing";
  const { id: audited, statement } = insertAuditEvent(system, {
    action: `sso.${change}`,
    organizationId,
    target: { id: domain, name: domain },
  }, { now });
  const fields = { organization: organizationName, change, provider: domain } as const;
  await database.write([
    updateLookedUpDomain(due, next),
    ...isOver || missingSince === null
      ? [
        statement,
        ...mail.mode === "none" ? [] : insertCompanySignInMails(organizationId, fields, { now, audited }),
      ]
      : [],
  ]);
  mail.wake();
}
