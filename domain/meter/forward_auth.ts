// Forward authentication: the conditions of a reverse proxy, the headers of the response, and where a denied browser is sent.
// Applications trust these headers without checking anything themselves.
import type { Environment } from "../environment.ts";
import { isRoleAtLeast } from "../access/permissions.ts";
import { safeReturnTo, withinReturnTo } from "../people/return_to.ts";
import type { Membership, Role, Session } from "../access/session.ts";

/** Conditions of a proxy beyond being signed in. */
export interface ForwardConditions {
  readonly role?: Role | undefined;
  /** A member, or a key, of this organization. */
  readonly organization?: string | undefined;
  readonly email?: "verified" | undefined;
}

export type ForwardDenial =
  /** Not a member of the required organization, which may not even exist. */
  | { readonly reason: "organization" }
  /** The role in `membership` is too low; null for a person without an active organization. */
  | { readonly reason: "role"; readonly role: Role; readonly membership: Membership | null }
  | { readonly reason: "email" };

/** Returns a person's membership in the required organization, or else in the active one; or why the person is denied. */
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

/** Applications identify people by their permanent id, or by their confirmed email address. */
export type ForwardUser = "id" | "email";

/** The sender of a request: a person or an API key, in at most one organization. */
export interface ForwardIdentity {
  readonly userId?: string;
  readonly email?: string;
  /** True if the address is confirmed: anyone can sign up with any address. */
  readonly emailVerified?: boolean;
  readonly name?: string;
  readonly organizationId?: string | undefined;
  readonly role?: Role | undefined;
  readonly apiKeyId?: string;
  readonly environment?: Environment;
  readonly permissions?: readonly string[];
  /** Features of the organization's plan. */
  readonly features?: readonly string[];
}

/**
 * Returns the headers that identify the sender to an application, in ASCII without control characters. All of them are always
 * present, some empty, so that a proxy that copies them overwrites those of the client.
 *
 * @param user The content of `Remote-User`. With `email` it is empty unless the address is confirmed.
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
    "Remote-Key-Environment": identity.environment ?? "",
    "Remote-Permissions": identity.permissions?.join(",") ?? "",
    "Remote-Features": identity.features?.join(",") ?? "",
  };
}

/** In lists of headers that proxies copy. */
export const identityHeaderNames = Object.keys(identityHeaders({}));

/**
 * Encodes a text so that every proxy passes it unchanged: percent signs and everything but printable ASCII as percent-encoded
 * UTF-8 (RFC 3986, section 2.1).
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
type RequestHeaders = Readonly<Record<string, string | undefined>>;

/** The hosts that get the session cookie, and the origins that a browser may return to. */
interface ForwardBounds {
  readonly baseUrl: URL;
  /** With a leading dot. */
  readonly cookieDomain: string | undefined;
  readonly isAllowedOrigin: (origin: string) => boolean;
}

/**
 * Finds the page that a denied browser was loading, to return to it later. `X-Forwarded-*` is trusted from every client,
 * because it decides nothing else. The URL is checked like every `return_to`. Null when the client is not a browser loading a
 * page, when returning there is not allowed, or when the page would not get the cookie: its browser would be redirected
 * forever.
 *
 * @param headers Of the proxy's request.
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

/** This page explains to a signed-in person why an application denies access. */
export const accessPath = "/portal/access";

/**
 * Returns the path and query of {@linkcode accessPath}.
 *
 * @param target The URL to return to, or null; see {@linkcode pageLoadTarget}.
 * @param conditions Those of the proxy, which the page checks again.
 */
export function accessAddress(target: string | null, conditions: ForwardConditions): string {
  const { organization, role, email } = conditions;
  const query = Object.entries({ return_to: target ?? undefined, organization, role, email })
    .flatMap(([name, value]) => value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]);
  return `${accessPath}?${query.join("&")}`;
}

/** True if the request loads a page in a tab, rather than a script, image, frame or WebSocket. */
function isPageLoad(headers: RequestHeaders): boolean {
  const method = headers["x-forwarded-method"];
  if ((method !== "GET" && method !== "HEAD") || headers["upgrade"] !== undefined) return false;
  const mode = headers["sec-fetch-mode"];
  if (mode !== undefined) {
    return mode === "navigate" && (headers["sec-fetch-dest"] ?? "document") === "document";
  }
  // Older browsers don't send this header, but they request HTML. Requests by scripts have headers of their libraries.
  const isScript = headers["x-requested-with"] !== undefined || headers["hx-request"] !== undefined;
  return !isScript && /\btext\/html\b/i.test(headers["accept"] ?? "");
}

function getsCookie(address: URL, { baseUrl, cookieDomain }: ForwardBounds): boolean {
  if (baseUrl.protocol === "https:" && address.protocol !== "https:") return false;
  const { hostname } = address;
  return hostname === baseUrl.hostname ||
    (cookieDomain !== undefined && (`.${hostname}`).endsWith(cookieDomain));
}
