// Forward authentication: the request of a reverse proxy, the response, and where a rejected browser is sent.
// What is said here is believed by applications that check nothing themselves.
import { isRoleAtLeast } from "../permissions.ts";
import { safeReturnTo, withinReturnTo } from "../sign_in/return_to.ts";
import type { Membership, Role, Session } from "../sign_in/session.ts";

/** What a proxy asks for beyond somebody being there at all. */
export interface ForwardConditions {
  /** At least this role. */
  readonly role?: Role | undefined;
  /** A member, or a key, of this organization. */
  readonly organization?: string | undefined;
  /** Only people who have shown that their address is theirs. */
  readonly email?: "verified" | undefined;
}

/** Why a signed-in person is rejected. */
export type ForwardDenial =
  /** The person isn't a member of the required organization, which may not exist at all. */
  | { readonly reason: "organization" }
  /** The role is missing in `membership`; null for a person without an active organization. */
  | { readonly reason: "role"; readonly role: Role; readonly membership: Membership | null }
  | { readonly reason: "email" };

/**
 * Decides whether a signed-in person meets the conditions.
 *
 * @returns The membership in the required organization, or else in the active one; or why the person is rejected.
 */
export function judgeSession(
  session: Session,
  { organization, role, email }: ForwardConditions,
): { readonly membership: Membership | null } | ForwardDenial {
  const membership = organization === undefined
    ? session.organization
    : session.memberships.find(({ organizationId }) => organizationId === organization);
  if (membership === undefined) return { reason: "organization" };
  if (role !== undefined && (membership === null || !isRoleAtLeast(membership.role, role))) {
    return { reason: "role", role, membership };
  }
  if (email === "verified" && !session.user.emailVerified) return { reason: "email" };
  return { membership };
}

/** How an application knows people: by the id that never changes, or by their confirmed email address. */
export type ForwardUser = "id" | "email";

/** Who a request is from: a person or a key, in at most one organization. */
export interface ForwardIdentity {
  readonly userId?: string;
  readonly email?: string;
  /** Whether the person has shown that the address is theirs: anybody can sign up with any address. */
  readonly emailVerified?: boolean;
  readonly name?: string;
  readonly organizationId?: string | undefined;
  readonly role?: Role | undefined;
  readonly apiKeyId?: string;
}

/**
 * The headers that tell an application who somebody is. Every one of them is there, empty where there is nothing to say:
 * a proxy that copies them then replaces whatever the client itself said.
 *
 * @param user What `Remote-User` is. With `email` it is empty, unless the address is confirmed.
 * @returns Names and values, in ASCII without control characters.
 */
export function identityHeaders(
  identity: ForwardIdentity,
  user: ForwardUser = "id",
): Record<string, string> {
  const email = headerText(identity.email ?? "");
  const confirmed = identity.emailVerified === true ? email : "";
  return {
    "Remote-User": user === "email" ? confirmed : identity.userId ?? "",
    "Remote-Email": email,
    "Remote-Email-Verified": String(identity.emailVerified ?? ""),
    "Remote-Name": headerText(identity.name ?? ""),
    "Remote-Organization": identity.organizationId ?? "",
    "Remote-Role": identity.role ?? "",
    "Remote-Api-Key": identity.apiKeyId ?? "",
  };
}

/**
 * Writes a text so that every proxy passes it as it is: what is not printable ASCII, and the percent sign, as
 * percent-encoded UTF-8 (RFC 3986, section 2.1). No two texts are written alike.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert.equal(headerText("Ada Lovelace"), "Ada Lovelace");
 * assert.equal(headerText("Zoë 100%\n"), "Zo%C3%AB 100%25%0A");
 * assert.equal(decodeURIComponent(headerText("Zoë 100%\n")), "Zoë 100%\n");
 * ```
 */
export function headerText(text: string): string {
  return text.toWellFormed().replaceAll(/[^\x20-\x24\x26-\x7e]+/g, encodeURIComponent);
}

/** Headers by lower-case name. */
export type RequestHeaders = Readonly<Record<string, string | undefined>>;

/** Where a session cookie goes, and where somebody may be sent back to. */
export interface ForwardBounds {
  readonly baseUrl: URL;
  /** With a leading dot. */
  readonly cookieDomain: string | undefined;
  readonly isAllowedOrigin: (origin: string) => boolean;
}

/**
 * Finds the page that a browser is loading, if a rejected browser can be sent to a page of ours and back. `X-Forwarded-*` is
 * believed from every client, because it decides nothing else.
 *
 * @param headers Of the proxy's request.
 * @param bounds See {@linkcode ForwardBounds}.
 * @returns The address to return to, checked like every `return_to`. Null when this is not a browser loading a page, when
 *   that page may not be returned to, or when it would not get the cookie: its browser would be redirected forever.
 */
export function pageLoadTarget(headers: RequestHeaders, bounds: ForwardBounds): string | null {
  if (!isPageLoad(headers)) return null;
  const { baseUrl } = bounds;
  const scheme = headers["x-forwarded-proto"] ?? baseUrl.protocol.slice(0, -1);
  const host = headers["x-forwarded-host"] ?? "";
  const path = headers["x-forwarded-uri"] ?? "";
  if (!/^https?$/.test(scheme) || !/^[\w.:[\]-]+$/.test(host) || !path.startsWith("/")) return null;
  const address = withinReturnTo(`${scheme}://${host}${path}`);
  const target = safeReturnTo(address, { base: baseUrl, isAllowedOrigin: bounds.isAllowedOrigin });
  return target !== null && getsCookie(new URL(address), bounds) ? target : null;
}

/** The path of the page that tells a signed-in person why an application rejects them. */
export const accessPath = "/portal/access";

/**
 * @param target The address to return to, or null; see {@linkcode pageLoadTarget}.
 * @param conditions What the proxy asks for. The page judges the session by them again.
 * @returns The path and query of the page that says why someone is rejected, and leads back.
 */
export function accessAddress(target: string | null, conditions: ForwardConditions): string {
  const { organization, role, email } = conditions;
  const query = Object.entries({ return_to: target ?? undefined, organization, role, email })
    .flatMap(([name, value]) => value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]);
  return `${accessPath}?${query.join("&")}`;
}

/** A page in a tab; not what its scripts, images and frames ask for, nor a WebSocket. */
function isPageLoad(headers: RequestHeaders): boolean {
  const method = headers["x-forwarded-method"];
  if ((method !== "GET" && method !== "HEAD") || headers["upgrade"] !== undefined) return false;
  const mode = headers["sec-fetch-mode"];
  if (mode !== undefined) {
    return mode === "navigate" && (headers["sec-fetch-dest"] ?? "document") === "document";
  }
  // Browsers that do not say it ask for HTML; what scripts of old libraries ask for says that it is theirs.
  const isScript = headers["x-requested-with"] !== undefined || headers["hx-request"] !== undefined;
  return !isScript && /\btext\/html\b/i.test(headers["accept"] ?? "");
}

function getsCookie(address: URL, { baseUrl, cookieDomain }: ForwardBounds): boolean {
  if (baseUrl.protocol === "https:" && address.protocol !== "https:") return false;
  const { hostname } = address;
  return hostname === baseUrl.hostname ||
    (cookieDomain !== undefined && (`.${hostname}`).endsWith(cookieDomain));
}
