// Where to go after signing in: an own path or an allowed origin, and nowhere else.
import { returnToCharactersMax } from "../limits.ts";

/**
 * @param text What the address bar said; anything may be in it.
 * @param options `base`: the service's own address. `isAllowedOrigin`: origins that may be returned to.
 * @returns A path of our own (with query), an allowed address, or null.
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
  // Browsers read a backslash as a slash, and drop control characters.
  if (text === undefined || text === "" || text.length > returnToCharactersMax || /[\\\p{Cc}]/u.test(text)) {
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
  // Of one character up to twelve were made: what is sent on must pass here again.
  return target.length > returnToCharactersMax ? null : target;
}

/**
 * Applications that keep their state in the address have long ones. Back at the application without it is better than
 * nowhere.
 *
 * @param address Absolute, with a host that is checked by {@linkcode safeReturnTo} afterwards.
 * @returns The address itself, or as much of it as can be returned to: without its query, or its origin's first page.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * const state = "a".repeat(2_000);
 * assert.equal(withinReturnTo(`https://app.example.com/board?state=${state}`), "https://app.example.com/board");
 * assert.equal(withinReturnTo(`https://app.example.com/${state}`), "https://app.example.com/");
 * assert.equal(withinReturnTo("https://app.example.com/board?a"), "https://app.example.com/board?a");
 * ```
 */
export function withinReturnTo(address: string): string {
  if (!URL.canParse(address)) return address;
  const url = new URL(address);
  if (url.href.length <= returnToCharactersMax) return address;
  url.search = url.hash = "";
  return url.href.length <= returnToCharactersMax ? url.href : `${url.origin}/`;
}

/**
 * @param text What the address bar or a hidden field said; anything may be in it.
 * @param base The service's own address.
 * @returns A path of the portal (with query), or null.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * const base = new URL("https://auth.example.com");
 * assert.equal(portalReturnTo("/portal/account?done=renamed", base), "/portal/account?done=renamed");
 * assert.equal(portalReturnTo("/portal/../sign-out", base), null);
 * ```
 */
export function portalReturnTo(text: string | undefined, base: URL): string | null {
  const path = safeReturnTo(text, { base, isAllowedOrigin: () => false });
  return path !== null && /^\/portal(?=[/?#]|$)/.test(path) ? path : null;
}

/** @returns A path of our own that leads on to where the person wanted to go. */
export function withReturnTo(path: string, target: string | null): string {
  return target === null ? path : `${path}?return_to=${encodeURIComponent(target)}`;
}
