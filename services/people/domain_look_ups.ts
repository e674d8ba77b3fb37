// Looks up the TXT records of verified domains again, in the background: a domain can get another owner.
import { insertAuditEvent } from "../../db/access/mod.ts";
import { insertCompanySignInMails } from "../../db/people/company_domains.ts";
import { type DueDomain, findDueDomains, updateLookedUpDomain } from "../../db/people/domain_look_ups.ts";
import {
  domainLookUpMs,
  domainLookUpsPerStepMax,
  domainMissingLookUpMs,
  domainMissingMaxMs,
  txtRecordName,
} from "../../domain/people/company_sign_in.ts";
import type { Context } from "../context.ts";
import { findTxtRecords } from "../outbox/mod.ts";
import { system } from "./company_domains.ts";

type LookUpContext = Pick<Context, "database" | "clock" | "config" | "mail">;

/**
 * Looks up some domains that are due. One whose record has been missing for two weeks isn't verified anymore. Owners get an email when
 * it is first missing, and then.
 *
 * @returns True if there may be more.
 */
export async function lookUpDomains(context: LookUpContext): Promise<boolean> {
  const limit = domainLookUpsPerStepMax;
  const due = await findDueDomains(context.database, { now: context.clock(), limit });
  await Promise.all(due.map((domain) => lookUp(context, domain)));
  return due.length === limit;
}

async function lookUp({ database, clock, config, mail }: LookUpContext, due: DueDomain): Promise<void> {
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
