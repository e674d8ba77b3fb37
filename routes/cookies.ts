// The session cookie `access_token`, which every product under the cookie domain shares, and the cookie of the second step.
import { serialize } from "hono/utils/cookie";
import { getDomain } from "tldts";
import type { Config } from "../config.ts";
import { clearedCookiesCharactersMax, secondStepTimeoutMs } from "../domain/limits.ts";
import { providerVisitTimeoutMs } from "../domain/people/provider_limits.ts";
import type { AppContext } from "./env.ts";

/** The name is part of the contract with products. */
export const sessionCookieName = "access_token";
const daySeconds = 24 * 3600;

export interface SessionCookie {
  readonly token: string;
  /** The domain it was set for, with a leading dot; empty for a host-only cookie. */
  readonly domain: string;
  /** It has the form that the current settings give it. */
  readonly isCurrent: boolean;
}

/**
 * Reads all session cookies. A sibling subdomain can plant a cookie of the same name, and browsers then send both: taking only
 * the first, as cookie libraries do, would let the sibling choose who is signed in.
 *
 * Browsers don't send a cookie's domain, so the value of a cookie with a domain ends with it, as in `TOKEN.example.com`. That
 * tells cookies from before `COOKIE_DOMAIN` was changed apart.
 *
 * @param header The `Cookie` header.
 * @returns The cookies, current ones first.
 */
export function sessionCookies(header: string | undefined, config: Config): SessionCookie[] {
  const cookies = cookieValues(header, sessionCookieName).map((value) => {
    const { token, domain } = splitValue(value);
    return { token, domain, isCurrent: domain === (config.cookieDomain ?? "") };
  });
  return cookies.length < 2 ? cookies : cookies.sort((a, b) => Number(b.isCurrent) - Number(a.isCurrent));
}

export function sessionTokens(header: string | undefined): string[] {
  return cookieValues(header, sessionCookieName).map((value) => splitValue(value).token);
}

function splitValue(value: string): { token: string; domain: string } {
  const end = value.indexOf(".");
  return end === -1 ? { token: value, domain: "" } : { token: value.slice(0, end), domain: value.slice(end) };
}

export function cookieValues(header: string | undefined, name: string): string[] {
  if (header === undefined) return [];
  const values: string[] = [];
  for (const pair of header.split(";")) {
    const at = pair.indexOf("=");
    // Exact: a proxy that removes the token wouldn't recognize another spelling.
    if (at > 0 && pair.slice(0, at).replace(/^[ \t]+/, "") === name) {
      values.push(pair.slice(at + 1).trim().replace(/^"(.*)"$/, "$1"));
    }
  }
  return values;
}

/** Sets the session cookie, and clears its former ones. @param given `maxAge`: in seconds, if the session isn't new. */
export function setSessionCookie(
  c: AppContext,
  config: Config,
  { token, maxAge = config.sessionMaxDays * daySeconds }: { token: string; maxAge?: number },
): void {
  const { cookieDomain: domain } = config;
  clearFormerCookies(c, config);
  appendCookie(c, config, { value: token + (domain ?? ""), maxAge, domain });
}

/**
 * Clears session cookies that don't have the current form: the host-only one if there is a domain, and those of the request's
 * `formerDomains`. No others: a second Gatehouse, such as one under `staging.example.com`, also gets the first one's cookies.
 */
export function clearFormerCookies(c: AppContext, config: Config): void {
  const domains = [
    ...(config.cookieDomain === undefined ? [] : [undefined]),
    ...(c.get("formerDomains") ?? []),
  ];
  for (const domain of domains) appendCookie(c, config, { value: "", maxAge: 0, domain });
}

/** Returns the domains of cookies that don't have the current form, if browsers accept those from our host. */
export function formerDomains(cookies: readonly SessionCookie[], config: Config): string[] {
  if (cookies.every(({ isCurrent }) => isCurrent)) return [];
  const named = new Set(cookies.map(({ domain }) => domain));
  return ownDomains(config).filter((domain) => domain !== config.cookieDomain && named.has(domain));
}

export function clearSessionCookies(c: AppContext, config: Config): void {
  clearFormerCookies(c, config);
  appendCookie(c, config, { value: "", maxAge: 0, domain: config.cookieDomain });
}

/** Returns every domain, with a leading dot, for which a browser accepts a cookie from our host: its own and its parents. */
function ownDomains({ baseUrl: { hostname } }: Config): string[] {
  const top = getDomain(hostname, { allowPrivateDomains: true });
  if (top === null) return [];
  const labels = hostname.split(".");
  return labels.map((_, at) => `.${labels.slice(at).join(".")}`).filter((domain) =>
    domain.endsWith(`.${top}`)
  );
}

/** The segments of a path under which planted cookies are cleared. */
const pathSegmentsMax = 8;

/**
 * Clears every session cookie that a request can have come with: a sibling may have planted one for some of our paths only, or
 * for another of our domains, where each further request would come with it again.
 *
 * @param request `path`: as the client sent it; it may contain anything.
 */
export function clearConflictingCookies(c: AppContext, config: Config, { path }: { path: string }): void {
  // A cookie's path may end with a slash or not.
  const folders = path.split("/").slice(1, 1 + pathSegmentsMax)
    .map((_, at, segments) => `/${segments.slice(0, at + 1).join("/")}`)
    .flatMap((folder) => [folder, `${folder.replace(/\/$/, "")}/`]);
  // Set-Cookie can't have other paths.
  const deep = [...new Set(folders)].filter((folder) => /^\/[\x21-\x3a\x3c-\x7e]+$/.test(folder));
  // The space is limited. First those that a sibling can plant; only the host itself can set host-only cookies.
  const own = ownDomains(config).reverse();
  const domains = [...new Set([config.cookieDomain ?? own[0], ...own, undefined])];
  const forms = [["/"], deep].flatMap((paths) =>
    domains.flatMap((domain) => paths.map((path) => ({ path, domain })))
  );
  let left = clearedCookiesCharactersMax;
  for (const form of forms) {
    const text = cookieText(config, { value: "", maxAge: 0, ...form });
    left -= text.length;
    if (left < 0) return;
    c.header("Set-Cookie", text, { append: true });
  }
}

/** The cookie between the password and the second step in the portal. No endpoint accepts it as a session. */
const secondStepCookieName = "sign_in_step";

/**
 * Puts the token of a pending sign-in into a host-only cookie.
 *
 * @param token Null clears the cookie.
 * @param options `isFromProvider`: the browser comes from another site, and would not send a strict cookie with the redirect.
 */
export function setSecondStepCookie(
  c: AppContext,
  { secure }: Config,
  token: string | null,
  { isFromProvider = false } = {},
): void {
  const maxAge = token === null ? 0 : secondStepTimeoutMs / 1000;
  const sameSite = isFromProvider ? "Lax" : "Strict";
  const options = { httpOnly: true, sameSite, path: "/sign-in", secure, maxAge } as const;
  c.header("Set-Cookie", serialize(secondStepCookieName, token ?? "", options), { append: true });
}

export function secondStepTokens(header: string | undefined): string[] {
  return cookieValues(header, secondStepCookieName);
}

/** The cookie of a browser that visits providers. With the prefix, no sibling host can plant one. */
function providerVisitCookieName({ secure }: Config): string {
  return secure ? "__Host-provider_visit" : "provider_visit";
}

/** Keeps the browser's token for as long as the visit may take. */
export function setProviderVisitCookie(c: AppContext, config: Config, token: string): void {
  const maxAge = providerVisitTimeoutMs / 1000;
  const options = { httpOnly: true, sameSite: "Lax", path: "/", secure: config.secure, maxAge } as const;
  c.header("Set-Cookie", serialize(providerVisitCookieName(config), token, options), { append: true });
}

export function providerVisitTokens(header: string | undefined, config: Config): string[] {
  return cookieValues(header, providerVisitCookieName(config));
}

/** The cookie that ties requests of applications and their consent forms to a browser. */
function oauthCookieName({ secure }: Config): string {
  return secure ? "__Host-oauth_request" : "oauth_request";
}

export function setOAuthBrowserCookie(c: AppContext, config: Config, token: string): void {
  const options = {
    httpOnly: true,
    sameSite: "Lax",
    path: "/",
    secure: config.secure,
    maxAge: 3600,
  } as const;
  c.header("Set-Cookie", serialize(oauthCookieName(config), token, options), { append: true });
}

export function oauthBrowserTokens(header: string | undefined, config: Config): string[] {
  return cookieValues(header, oauthCookieName(config));
}

const lastMethodCookieName = "last_sign_in";
const lastMethodSeconds = 365 * daySeconds;

/** Remembers how someone signed in at this browser, for the page that signs them in next. */
export function setLastMethodCookie(c: AppContext, { secure }: Config, method: string): void {
  const options = { httpOnly: true, sameSite: "Lax", path: "/", secure, maxAge: lastMethodSeconds } as const;
  c.header("Set-Cookie", serialize(lastMethodCookieName, method, options), { append: true });
}

/** Returns the slug of the provider, or another word for another way; null if none is known. */
export function lastMethod(c: AppContext): string | null {
  return cookieValues(c.get("headers")["cookie"], lastMethodCookieName)[0] ?? null;
}

interface CookieForm {
  readonly value: string;
  /** In seconds; 0 clears the cookie. */
  readonly maxAge: number;
  /** With a leading dot; undefined for a host-only cookie. */
  readonly domain: string | undefined;
  readonly path?: string;
}

function appendCookie(c: AppContext, config: Config, form: CookieForm): void {
  c.header("Set-Cookie", cookieText(config, form), { append: true });
}

function cookieText({ secure }: Config, { value, maxAge, domain, path = "/" }: CookieForm): string {
  const options = { httpOnly: true, sameSite: "Lax", path, secure, maxAge } as const;
  return serialize(sessionCookieName, value, { ...options, ...(domain === undefined ? {} : { domain }) });
}
