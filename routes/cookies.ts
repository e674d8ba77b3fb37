// The one cookie: `access_token`, shared by every product under the cookie domain.
import { serialize } from "hono/utils/cookie";
import { getDomain } from "tldts";
import type { Config } from "../config.ts";
import { clearedCookiesCharactersMax, secondStepTimeoutMs } from "../domain/limits.ts";
import type { AppContext } from "./env.ts";

/** The cookie's name is part of the contract. */
export const sessionCookieName = "access_token";
const daySeconds = 24 * 3600;

/** A session cookie as it came along. */
export interface SessionCookie {
  readonly token: string;
  /** The domain that it says it was set for: with a leading dot, empty for this host alone. */
  readonly domain: string;
  /** It was set as the settings say now: for the domain, or for this host alone. */
  readonly isCurrent: boolean;
}

/**
 * Reads every session cookie that came along. A sibling subdomain can plant a cookie of the same name, and a browser
 * then sends both; taking the first, as cookie helpers do, would let it choose who is signed in.
 *
 * Browsers do not tell the domain of a cookie. So the value of one with a domain ends with it, as in
 * `TOKEN.example.com`: that is how a cookie from before `COOKIE_DOMAIN` was set is known.
 *
 * @param header The `Cookie` header.
 * @returns The cookies, those first that were set as the settings say now.
 */
export function sessionCookies(header: string | undefined, config: Config): SessionCookie[] {
  const cookies = cookieValues(header, sessionCookieName).map((value) => {
    const { token, domain } = partsOf(value);
    return { token, domain, isCurrent: domain === (config.cookieDomain ?? "") };
  });
  return cookies.length < 2 ? cookies : cookies.sort((a, b) => Number(b.isCurrent) - Number(a.isCurrent));
}

/** @returns The tokens of all session cookies that came along. */
export function sessionTokens(header: string | undefined): string[] {
  return cookieValues(header, sessionCookieName).map((value) => partsOf(value).token);
}

/** @returns A cookie's token, and the domain that it says it was set for: with a leading dot, empty for a host alone. */
function partsOf(value: string): { token: string; domain: string } {
  const end = value.indexOf(".");
  return end === -1 ? { token: value, domain: "" } : { token: value.slice(0, end), domain: value.slice(end) };
}

function cookieValues(header: string | undefined, name: string): string[] {
  if (header === undefined) return [];
  const tokens: string[] = [];
  for (const pair of header.split(";")) {
    const at = pair.indexOf("=");
    // Exactly: a proxy that takes the token away would not know one that is written otherwise.
    if (at > 0 && pair.slice(0, at).replace(/^[ \t]+/, "") === name) {
      tokens.push(pair.slice(at + 1).trim().replace(/^"(.*)"$/, "$1"));
    }
  }
  return tokens;
}

/**
 * Puts a session's token into the cookie, and takes away what the browser has of it in another form.
 *
 * @param given `maxAge`: seconds that the session has left, where it is not a new one.
 */
export function setSessionCookie(
  c: AppContext,
  config: Config,
  given: { token: string; maxAge?: number },
): void {
  const { cookieDomain: domain } = config;
  const { token, maxAge = config.sessionMaxDays * daySeconds } = given;
  clearFormerCookies(c, config);
  appendCookie(c, config, { value: token + (domain ?? ""), maxAge, domain });
}

/**
 * Takes away what is not of the form that the settings say now, and leaves what is: the host-only cookie where a domain
 * is set, and those of the request's `formerDomains`. No other: a second Gatehouse, such as one for trials under
 * `staging.example.com`, gets the first one's cookies of `.example.com` too.
 */
export function clearFormerCookies(c: AppContext, config: Config): void {
  if (config.cookieDomain !== undefined) {
    appendCookie(c, config, { value: "", maxAge: 0, domain: undefined });
  }
  for (const domain of c.get("formerDomains") ?? []) {
    appendCookie(c, config, { value: "", maxAge: 0, domain });
  }
}

/** @returns The domains, of those that a browser takes from our host, of cookies that are not of the form that is set now. */
export function formerDomains(cookies: readonly SessionCookie[], config: Config): string[] {
  if (cookies.every(({ isCurrent }) => isCurrent)) return [];
  const named = new Set(cookies.map(({ domain }) => domain));
  return ownDomains(config).filter((domain) => domain !== config.cookieDomain && named.has(domain));
}

/** Takes the cookie away, in its host-only form, in that of the domain, and in those of the request's `formerDomains`. */
export function clearSessionCookies(c: AppContext, config: Config): void {
  const { cookieDomain: domain } = config;
  clearFormerCookies(c, config);
  appendCookie(c, config, { value: "", maxAge: 0, domain });
}

/**
 * @returns Every domain, with a leading dot, for which a browser takes a cookie from our host: that of the host itself and
 *   its parents, and no public suffix.
 */
function ownDomains({ baseUrl: { hostname } }: Config): string[] {
  const top = getDomain(hostname, { allowPrivateDomains: true });
  if (top === null) return [];
  const labels = hostname.split(".");
  return labels.map((_, at) => `.${labels.slice(at).join(".")}`).filter((domain) =>
    domain.endsWith(`.${top}`)
  );
}

/** Segments of a path under which a planted cookie is looked for. */
const pathSegmentsMax = 8;

/**
 * Takes every cookie of this name away that the request can have come with: a sibling may have planted one for a part of
 * our paths alone, or for another of our domains, where each further request would meet it again.
 *
 * @param request `path`: as it stands in its address; anything may be in it.
 */
export function clearConflictingCookies(c: AppContext, config: Config, { path }: { path: string }): void {
  // Cookies of a folder may be kept with or without the slash at its end.
  const folders = path.split("/").slice(1, 1 + pathSegmentsMax)
    .map((_, at, segments) => `/${segments.slice(0, at + 1).join("/")}`)
    .flatMap((folder) => [folder, `${folder.replace(/\/$/, "")}/`]);
  // No Set-Cookie has such a path.
  const deep = [...new Set(folders)].filter((folder) => /^\/[\x21-\x3a\x3c-\x7e]+$/.test(folder));
  // First what a sibling can plant; a cookie of this host alone only the host itself has set.
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

/** Between the password and the second step of the portal's sign-in. No endpoint takes it for a session. */
const secondStepCookieName = "sign_in_step";
const secondStepCookie = { httpOnly: true, sameSite: "Strict", path: "/sign-in" } as const;

/** Puts the token of a sign-in that waits for its second step into a cookie of this host alone. */
export function setSecondStepCookie(c: AppContext, config: Config, token: string): void {
  const maxAge = secondStepTimeoutMs / 1000;
  const text = serialize(secondStepCookieName, token, { ...secondStepCookie, secure: config.secure, maxAge });
  c.header("Set-Cookie", text, { append: true });
}

/** Takes that cookie away. */
export function clearSecondStepCookie(c: AppContext, config: Config): void {
  const text = serialize(secondStepCookieName, "", { ...secondStepCookie, secure: config.secure, maxAge: 0 });
  c.header("Set-Cookie", text, { append: true });
}

/** @returns The tokens of sign-ins that wait for their second step; mostly one. */
export function secondStepTokens(header: string | undefined): string[] {
  return cookieValues(header, secondStepCookieName);
}

/** What a session's cookie says, or the one that takes it away. */
interface CookieForm {
  readonly value: string;
  /** Seconds; 0 takes it away. */
  readonly maxAge: number;
  /** With a leading dot; undefined for this host alone. */
  readonly domain: string | undefined;
  readonly path?: string;
}

function appendCookie(c: AppContext, config: Config, form: CookieForm): void {
  c.header("Set-Cookie", cookieText(config, form), { append: true });
}

function cookieText({ secure }: Config, { value, maxAge, domain, path = "/" }: CookieForm): string {
  return serialize(sessionCookieName, value, {
    httpOnly: true,
    sameSite: "Lax",
    path,
    secure,
    maxAge,
    ...(domain === undefined ? {} : { domain }),
  });
}
