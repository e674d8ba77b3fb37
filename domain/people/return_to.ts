// Where to go after signing in: a path of this service or an allowed origin, nowhere else.
import { returnToCharactersMax } from "../limits.ts";

/**
 * Returns a path of this service (with its query), a URL of an allowed origin, or null.
 *
 * @param text From a query parameter or a hidden field; it may contain anything.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * const options = { base: new URL("https://auth.example.com"), isAllowedOrigin: () => false };
 * assert.equal(safeReturnTo("/portal/usage?range=7d", options), "/portal/usage?range=7d");
 * assert.equal(safeReturnTo("//evil.example", options), null);
 * ```
 */
export function safeReturnTo(
  text: string | undefined,
  options: { base: URL; isAllowedOrigin: (origin: string) => boolean },
): string | null {
  // Browsers treat a backslash before the query as a slash, and drop control characters.
  if (
    text === undefined || text === "" || text.length > returnToCharactersMax || /^[^?#]*\\|\p{Cc}/u.test(text)
  ) {
    return null;
  }
  const isPath = text.startsWith("/") && !text.startsWith("//");
  if (!isPath && !/^https?:\/\//i.test(text)) return null;
  if (!URL.canParse(text, options.base)) return null;
  const url = new URL(text, options.base);
  if (url.username !== "" || url.password !== "") return null;
  const isOwn = url.origin === options.base.origin;
  if (isOwn ? url.pathname.startsWith("//") : !options.isAllowedOrigin(url.origin)) return null;
  const target = isOwn ? url.pathname + url.search + url.hash : url.href;
  // Encoding can turn one character into twelve, and the result must pass this check again.
  return target.length > returnToCharactersMax ? null : target;
}

/**
 * Shortens URLs of applications that keep their state in them: returning without it is better than not returning. Drops the
 * query or, if that isn't enough, everything after the origin.
 *
 * @param address Absolute; {@linkcode safeReturnTo} checks its host afterwards.
 */
export function withinReturnTo(address: string): string {
  if (!URL.canParse(address)) return address;
  const url = new URL(address);
  if (url.href.length <= returnToCharactersMax) return address;
  url.search = url.hash = "";
  return url.href.length <= returnToCharactersMax ? url.href : `${url.origin}/`;
}

/** True for the address to which applications send people who sign in here. */
export function isAuthorizePath(path: string): boolean {
  return /^\/oauth\/authorize(?=[?#]|$)/.test(path);
}

/** Does the same as {@linkcode safeReturnTo} for pages of the portal, of the operator console, and of applications that sign in. */
export function portalReturnTo(text: string | undefined, base: URL): string | null {
  const path = safeReturnTo(text, { base, isAllowedOrigin: () => false });
  if (path === null) return null;
  return /^\/(portal|operator)(?=[/?#]|$)/.test(path) || isAuthorizePath(path) ? path : null;
}

/** The page for a link that turns off two-step sign-in. */
export const turnOffLinkPath = "/portal/account/two-step/turn-off-link";

/** True if a path of this service belongs to the operator console. */
export function isConsolePath(path: string): boolean {
  return /^\/operator(?=[/?#]|$)/.test(path);
}

/** Adds the parameter `return_to` to a path of this service. */
export function withReturnTo(path: string, target: string | null): string {
  return target === null ? path : `${path}?return_to=${encodeURIComponent(target)}`;
}

/** Returns the sign-in page for someone who is signed in and wants to use another account. */
export function otherAccountPath(target: string): string {
  return `${withReturnTo("/sign-in", target)}&switch=1`;
}
