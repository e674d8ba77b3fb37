// The one cookie: `access_token`, shared by every product under the cookie domain.
import { serialize } from "hono/utils/cookie";
import type { Config } from "../config.ts";
import { secondStepTimeoutMs } from "../domain/limits.ts";
import type { AppContext } from "./env.ts";

/** The cookie's name is part of the contract. */
export const sessionCookieName = "access_token";
const daySeconds = 24 * 3600;

/**
 * Reads every session token that came along. A sibling subdomain can plant a cookie of the same name, and a browser
 * then sends both; taking the first, as cookie helpers do, would let it choose who is signed in.
 *
 * @param header The `Cookie` header.
 * @returns Their values, in order.
 */
export function sessionTokens(header: string | undefined): string[] {
  return cookieValues(header, sessionCookieName);
}

function cookieValues(header: string | undefined, name: string): string[] {
  if (header === undefined) return [];
  const tokens: string[] = [];
  for (const pair of header.split(";")) {
    const at = pair.indexOf("=");
    if (at > 0 && pair.slice(0, at).trim() === name) {
      tokens.push(pair.slice(at + 1).trim().replace(/^"(.*)"$/, "$1"));
    }
  }
  return tokens;
}

/** Puts a new session's token into the cookie, and takes away the host-only twin where a domain is set. */
export function setSessionCookie(c: AppContext, config: Config, token: string): void {
  const maxAge = config.sessionMaxDays * daySeconds;
  if (config.cookieDomain !== undefined) appendCookie(c, config, { value: "", maxAge: 0, domain: undefined });
  appendCookie(c, config, { value: token, maxAge, domain: config.cookieDomain });
}

/** Takes the cookie away, in its host-only and in its domain form. */
export function clearSessionCookies(c: AppContext, config: Config): void {
  appendCookie(c, config, { value: "", maxAge: 0, domain: undefined });
  if (config.cookieDomain !== undefined) {
    appendCookie(c, config, { value: "", maxAge: 0, domain: config.cookieDomain });
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

function appendCookie(
  c: AppContext,
  config: Config,
  cookie: { value: string; maxAge: number; domain: string | undefined },
): void {
  const text = serialize(sessionCookieName, cookie.value, {
    httpOnly: true,
    sameSite: "Lax",
    path: "/",
    secure: config.secure,
    maxAge: cookie.maxAge,
    ...(cookie.domain === undefined ? {} : { domain: cookie.domain }),
  });
  c.header("Set-Cookie", text, { append: true });
}
