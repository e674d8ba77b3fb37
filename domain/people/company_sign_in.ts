// An organization's own provider, and the domains that it proves to own. The provider is believed only for addresses of these domains.
import { hash } from "node:crypto";
import { domainToASCII } from "node:url";
import { parse } from "tldts";
import { AppError } from "../errors.ts";
import type { IdentityProvider, ProviderClaims } from "./identity_provider.ts";

export const companyRoles = ["MEMBER", "ADMIN"] as const;
/** The role of members who join by signing in with the provider. */
export type CompanyRole = typeof companyRoles[number];

type Shown = "issuer" | "clientId" | "enforced" | "sessionMaxDays";

/** An organization's own provider, as its owners see it: without its secret. */
export interface CompanyProvider extends Pick<IdentityProvider, Shown> {
  readonly role: CompanyRole;
  /** When someone last signed in with it for a test, with these credentials. */
  readonly testedAt: string | null;
  /** A new client secret waits for a test. Until then, people sign in with the previous one. */
  readonly hasPendingSecret: boolean;
}

/** The claims that came back from a test. `isSuccess`: the address is of a verified domain, so the provider can be required. */
export interface ProviderTest extends Pick<ProviderClaims, "email" | "name" | "vouches"> {
  readonly isSuccess: boolean;
  /** True if the test was of a new client secret, which replaces the previous one after a success. */
  readonly isOfNewSecret: boolean;
}

export interface CompanyDomain {
  readonly domain: string;
  /** The name of the TXT record, and the text that it must contain. */
  readonly recordName: string;
  readonly recordValue: string;
  readonly verifiedAt: string | null;
  /** The time since which daily look-ups haven't found the record; null if the last one did. */
  readonly missingSince: string | null;
}

export interface CompanySignIn {
  /** The provider's administrator enters it there. */
  readonly redirectUri: string;
  /** The page where members start to sign in. */
  readonly signInUrl: string;
  readonly provider: CompanyProvider | null;
  readonly domains: readonly CompanyDomain[];
}

export const companyDomainsMax = 20;
export const domainCharactersMax = 253;
/** Look-ups of TXT records for an organization. */
export const domainLookupsPerMinuteMax = 10;
/** Changes of an organization's provider, each of which emails all owners. */
export const companyChangeMailsPerDayMax = 20;
/** Time between two look-ups of a verified domain's record, and after one that didn't find it. */
export const domainLookUpMs = 7 * 24 * 3_600_000;
export const domainMissingLookUpMs = 24 * 3_600_000;
/** Time for which a record may be missing before its domain isn't verified anymore. */
export const domainMissingMaxMs = 14 * 24 * 3_600_000;
export const domainLookUpsPerStepMax = 10;
export const domainLookUpsIntervalMs = 60 * 60_000;
/** Timeout for looking up a TXT record. */
export const txtTimeoutMs = 5_000;

/** Anyone can get an address there, so no one can own their people. */
const mailProviders: ReadonlySet<string> = new Set(
  `gmail.com googlemail.com outlook.com outlook.de hotmail.com hotmail.co.uk hotmail.fr live.com
  msn.com yahoo.com yahoo.co.uk yahoo.fr yahoo.co.jp ymail.com rocketmail.com icloud.com me.com
  mac.com aol.com proton.me protonmail.com pm.me tutanota.com tuta.io fastmail.com hey.com zoho.com
  zohomail.com gmx.de gmx.net gmx.at gmx.ch gmx.com web.de t-online.de freenet.de posteo.de
  mailbox.org mail.com orange.fr free.fr laposte.net libero.it virgilio.it wp.pl o2.pl seznam.cz
  mail.ru yandex.ru yandex.com qq.com 163.com 126.com sina.com naver.com comcast.net att.net
  verizon.net`.split(/\s+/),
);

/**
 * Converts a typed domain to the form that addresses have: lower case and Punycode.
 *
 * @returns The domain, or the problem that makes it unusable, as the end of a sentence about the field.
 */
export function parseCompanyDomain(text: string): { readonly domain: string } | { readonly fault: string } {
  const typed = text.normalize("NFKC").trim().toLowerCase().replace(/^@/, "").replace(/\.$/, "");
  const domain = domainToASCII(typed);
  const isDomain = domain.length <= domainCharactersMax &&
    /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/.test(domain);
  if (!isDomain) return { fault: "must be a domain such as example.com." };
  const { publicSuffix } = parse(domain, { allowPrivateDomains: true });
  if (publicSuffix === domain) return { fault: "is a public suffix, which no organization owns." };
  if (mailProviders.has(domain)) {
    return { fault: "belongs to an email provider. Use your organization's own domain." };
  }
  return { domain };
}

/** Returns the name in the addresses of an organization's provider. It is known before the provider is, and tells nothing. */
export function companySlug(organizationId: string): string {
  return `sso-${hash("sha256", `sso:${organizationId}`).slice(0, 16)}`;
}

/** Returns the name of the TXT record that proves a domain. */
export function txtRecordName(domain: string): string {
  return `_gatehouse.${domain}`;
}

export function ssoRequiredError({ name, signInUrl }: { name: string; signInUrl: string }): AppError {
  return new AppError(
    "sso_required",
    `${name} requires single sign-on for this address. Sign in at ${signInUrl}.`,
  );
}

export function ssoUntestedError(): AppError {
  return new AppError(
    "sso_untested",
    "Test the provider with its current settings before you require it.",
  );
}

export function domainTakenError(domain: string): AppError {
  return new AppError(
    "domain_taken",
    `${domain} is verified for another organization. Remove its TXT record from _gatehouse.${domain} first.`,
  );
}

export function domainUnprovedError(domain: string): AppError {
  return new AppError(
    "domain_unproved",
    `We didn't find the TXT record at ${
      txtRecordName(domain)
    }. DNS changes can take an hour to arrive. Try again later.`,
  );
}
