// Forward authentication: what a reverse proxy asks, who it is told of, and where a browser is sent that nobody is
// signed in to. What is said here is believed by applications that check nothing themselves.
import { safeReturnTo, withinReturnTo, withReturnTo } from "./return_to.ts";
import type { Role } from "./session.ts";

/** What a proxy asks for beyond somebody being there at all. */
export interface ForwardConditions {
  /** At least this role. */
  readonly role?: Role | undefined;
  /** A member, or a key, of this organization. */
  readonly organization?: string | undefined;
  /** Only people who have shown that their address is theirs. */
  readonly email?: "verified" | undefined;
}

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
 * @returns Names and values, in ASCII without control characters.
 */
export function identityHeaders(identity: ForwardIdentity): Record<string, string> {
  return {
    "Remote-User": identity.userId ?? "",
    "Remote-Email": headerText(identity.email ?? ""),
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
 * Says where to send a browser that nobody is signed in to. What a proxy says of the request (`X-Forwarded-*`) is
 * believed from anybody, because it decides nothing else: who lies gets the address of the sign-in page.
 *
 * @param headers Of the proxy's request.
 * @param bounds See {@linkcode ForwardBounds}.
 * @returns The sign-in page, which leads back to the page that was asked for. Null when this is no browser that loads a
 *   page, when that page may not be returned to, or when it would not get the cookie: its browser would go in circles.
 */
export function signInAddress(headers: RequestHeaders, bounds: ForwardBounds): string | null {
  if (!isPageLoad(headers)) return null;
  const { baseUrl } = bounds;
  const scheme = headers["x-forwarded-proto"] ?? baseUrl.protocol.slice(0, -1);
  const host = headers["x-forwarded-host"] ?? "";
  const path = headers["x-forwarded-uri"] ?? "";
  if (!/^https?$/.test(scheme) || !/^[\w.:[\]-]+$/.test(host) || !path.startsWith("/")) return null;
  const address = withinReturnTo(`${scheme}://${host}${path}`);
  const target = safeReturnTo(address, { base: baseUrl, isAllowedOrigin: bounds.isAllowedOrigin });
  if (target === null || !getsCookie(new URL(address), bounds)) return null;
  return withReturnTo(`${baseUrl.origin}/sign-in`, target);
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
