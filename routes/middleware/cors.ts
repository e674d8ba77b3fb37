// CORS with credentials, for the origins in ALLOWED_ORIGINS only. Logs origins that are missing there, the most common mistake in
// setting up a product.
import type { Config } from "../../config.ts";
import { AppError } from "../../domain/errors.ts";
import type { AppContext, AppParts } from "../env.ts";

const methods = "GET, HEAD, POST, DELETE";
const preflightSeconds = 600;
/** A proxy that forwards its client's method would take a successful preflight as permission. */
const withoutPreflight = "/api/auth/forward";

/** True for paths of the sign-in API, which pages of products call. */
export function isShared(path: string): boolean {
  return /^\/api\/auth(\/|$)/.test(path);
}

/** Returns a function that adds CORS headers to a response: to a page, one that it can't read looks like a network error. */
export function cors(parts: AppParts): (c: AppContext) => void {
  const { config } = parts;
  return function setCorsHeaders(c) {
    const { headers } = c.res;
    headers.set("Vary", "Origin");
    const origin = c.req.header("Origin");
    if (origin === undefined) return;
    if (!config.allowedOrigins.some((allowed) => allowed.matches(origin))) {
      // Proxies forward the origin of their application's own pages.
      if (origin !== config.baseUrl.origin && c.req.path !== withoutPreflight) {
        logUnlistedOrigin(origin, parts);
      }
      return;
    }
    headers.set("Access-Control-Allow-Origin", origin);
    headers.set("Access-Control-Allow-Credentials", "true");
    // The default policy would forbid what CORS allows.
    headers.set("Cross-Origin-Resource-Policy", "cross-origin");
    if (!isPreflight(c)) {
      headers.set("Access-Control-Expose-Headers", "X-Request-Id, Retry-After");
      return;
    }
    headers.set("Access-Control-Allow-Methods", methods);
    headers.set("Access-Control-Allow-Headers", "Content-Type");
    headers.set("Access-Control-Max-Age", String(preflightSeconds));
  };
}

/**
 * Responds to a preflight request. {@linkcode cors} adds the headers.
 *
 * @throws {AppError} `cross_site`, naming an origin that is missing from `ALLOWED_ORIGINS`.
 */
export function preflight(
  c: AppContext,
  config: Pick<Config, "baseUrl" | "allowedOrigins">,
): Response {
  const unlisted = unlistedOrigin(c, config);
  if (unlisted !== null) throw new AppError("cross_site", unlistedOriginText(unlisted, config));
  return new Response(null, { status: 204 });
}

export function isPreflight(c: AppContext): boolean {
  return c.req.method === "OPTIONS" && c.req.path !== withoutPreflight &&
    c.req.header("Access-Control-Request-Method") !== undefined;
}

/** Longer than any origin with a valid host name and port. */
const originCharactersMax = 300;

/** Returns the request's `Origin`, unless it is allowed or `BASE_URL`'s; then null. */
export function unlistedOrigin(
  c: AppContext,
  { baseUrl, allowedOrigins }: Pick<Config, "baseUrl" | "allowedOrigins">,
): string | null {
  const origin = c.req.header("Origin");
  if (origin === undefined || origin === baseUrl.origin) return null;
  return allowedOrigins.some((allowed) => allowed.matches(origin)) ? null : origin;
}

export function unlistedOriginText(origin: string, { baseUrl }: Pick<Config, "baseUrl">): string {
  const name = isOrigin(origin) ? `Origin ${origin}` : "This origin";
  return `${name} isn't in ALLOWED_ORIGINS. Requests are also accepted from ${baseUrl.origin} itself.`;
}

/** Logs each origin once, and only so many of them that clients can't fill the log. */
export function logUnlistedOrigin(origin: string, { log, services }: AppParts): void {
  const { unlistedOrigins, warnings } = services.rateLimits;
  // `gatehouse check` sends a reserved name (RFC 2606).
  if (!isOrigin(origin) || new URL(origin).hostname.endsWith(".invalid")) return;
  if (!unlistedOrigins.peek("").isAllowed || !warnings.take(origin).isAllowed) return;
  const { isAllowed, remaining } = unlistedOrigins.take("");
  if (!isAllowed) return;
  log.warn("an origin is missing from ALLOWED_ORIGINS: its pages can't use the sign-in API", {
    origin,
    ...(remaining === 0 ? { note: "no more origins are logged until the next start" } : {}),
  });
}

function isOrigin(text: string): boolean {
  return text.length <= originCharactersMax && URL.canParse(text) && new URL(text).origin === text;
}
