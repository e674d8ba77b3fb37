// Providers that people sign in with, and the claims that they make about people.
import { emailCharactersMax, nameCharactersMax } from "../limits.ts";
import { canonicalEmail } from "../outbox/email.ts";
import { nameFault } from "../name.ts";

/** `github` speaks OAuth without ID tokens; all others speak OpenID Connect. */
export const providerKinds = ["oidc", "google", "microsoft", "github"] as const;
export type ProviderKind = (typeof providerKinds)[number];

/** The part of a provider that people can change. */
export interface ProviderSettings {
  readonly name: string;
  /** For GitHub, the address of its pages. */
  readonly issuer: string;
  readonly clientId: string;
  /** Believes every address. Never true for an organization's own provider. */
  readonly trustEmail: boolean;
  /** False if it admits only existing accounts, invitations and addresses of verified domains. */
  readonly signUp: boolean;
  readonly position: number;
  /** The role of new members; null for a provider of the whole service. */
  readonly role: "ADMIN" | "MEMBER" | null;
  /** People with addresses of the verified domains sign in only with it. */
  readonly enforced: boolean;
  /** Ends their sessions after this many days; null for the server's own limit. */
  readonly sessionMaxDays: number | null;
}

export interface IdentityProvider extends ProviderSettings {
  readonly id: string;
  /** The organization whose own provider it is; null for one of the whole service. */
  readonly organizationId: string | null;
  readonly slug: string;
  readonly kind: ProviderKind;
  readonly testedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

type Shown = "id" | "slug" | "kind" | "name" | "issuer" | "clientId" | "trustEmail" | "signUp" | "position";

/** A provider of the whole service, as operators see it: without its secret. */
export interface ServiceProvider extends Pick<IdentityProvider, Shown> {
  /** The address to register at the provider. */
  readonly redirectUri: string;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** A provider as a page offers it. */
export type OfferedProvider = Pick<IdentityProvider, "slug" | "kind" | "name">;

/** Ways to sign in that pages offer. */
export interface OfferedWays {
  readonly providers: readonly OfferedProvider[];
  /** True if any organization has a provider of its own. */
  readonly hasSingleSignOn: boolean;
}

/** Names a person at a provider, forever. */
export interface ProviderIdentity {
  readonly issuer: string;
  readonly subject: string;
}

/** A provider's answer about a person, after all its checks. */
export interface ProviderClaims extends ProviderIdentity {
  /** Canonical; null if the provider named none. */
  readonly email: string | null;
  /** True if the provider asserts that the address is the person's. */
  readonly vouches: boolean;
  /** Fit for a name of ours. */
  readonly name: string;
  /** When the person authenticated there, in milliseconds since 1970; null if the provider doesn't say. */
  readonly authenticatedAt: number | null;
}

/** `sign_in`: also signs up. `confirm`: recent authentication. `link`: to an account. `test`: of an organization's provider. */
export type VisitPurpose = "sign_in" | "confirm" | "link" | "test";

/** Claims of an ID token and of userinfo, which may contain anything. */
export type RawClaims = Readonly<Record<string, unknown>>;

/** Characters of a subject (OpenID Connect Core, section 2). */
const subjectCharactersMax = 255;

/**
 * Reads the claims of an OpenID provider. Only the boolean true is true: some providers send texts.
 *
 * @param claims Of one source: an address from one and its `email_verified` from another would be a different statement.
 * @returns Null without a valid subject.
 */
export function openIdClaims(
  provider: Pick<IdentityProvider, "kind" | "issuer" | "trustEmail" | "organizationId">,
  claims: RawClaims,
): ProviderClaims | null {
  const { sub, auth_time: authTime } = claims;
  if (!isSubject(sub)) return null;
  const email = emailOf(claims["email"]);
  const name = firstName(claims["name"], joined(claims["given_name"], claims["family_name"]));
  return {
    issuer: provider.issuer,
    subject: sub,
    email,
    vouches: email !== null && (provider.trustEmail || vouches(provider, claims)),
    name: name ?? firstName(claims["preferred_username"], email?.split("@")[0]) ?? "Unnamed",
    authenticatedAt: typeof authTime === "number" ? authTime * 1000 : null,
  };
}

function vouches(
  { kind, organizationId }: Pick<IdentityProvider, "kind" | "organizationId">,
  claims: RawClaims,
): boolean {
  const verified = kind === "microsoft" ? claims["xms_edov"] : claims["email_verified"];
  // An organization's own provider is believed for its own domains, which the database checks. Most of them send no such claim.
  return verified === true || (organizationId !== null && verified === undefined);
}

/** Reads GitHub's answers about a user and their addresses. Returns null without a valid id. */
export function githubClaims(issuer: string, { user, emails }: { user: RawClaims; emails: unknown }) {
  const { id } = user;
  if (typeof id !== "number" || !Number.isSafeInteger(id) || id <= 0) return null;
  const listed: readonly (RawClaims | null)[] = Array.isArray(emails) ? emails : [];
  const primary = listed.find((one) => one?.["primary"] === true && one["verified"] === true);
  const email = emailOf(primary?.["email"]);
  return {
    issuer,
    subject: String(id),
    email,
    vouches: email !== null,
    name: firstName(user["name"], user["login"]) ?? "Unnamed",
    authenticatedAt: null,
  } satisfies ProviderClaims;
}

function isSubject(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= subjectCharactersMax &&
    !/[\p{Cc}\p{Cs}]/u.test(value);
}

function emailOf(value: unknown): string | null {
  return typeof value === "string" && value.length <= emailCharactersMax ? canonicalEmail(value) : null;
}

function joined(...parts: readonly unknown[]): string {
  return parts.filter((part) => typeof part === "string").join(" ");
}

/** Returns the first text that is a valid name once it is cleaned and shortened. */
function firstName(...values: readonly unknown[]): string | undefined {
  return values.map(cleanName).find((name) => name !== "" && nameFault(name) === null);
}

function cleanName(value: unknown): string {
  if (typeof value !== "string") return "";
  // Cut first: the text may be long.
  const text = value.slice(0, 4 * nameCharactersMax).replace(
    /[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069\s]+/gu,
    " ",
  );
  return [...text.trim()].slice(0, nameCharactersMax).join("").trim();
}
