// CORS with credentials, for the origins in ALLOWED_ORIGINS only.
import type { Config } from "../../config.ts";
import { AppError } from "../../domain/errors.ts";
import type { AppContext, AppMiddleware, AppParts } from "../env.ts";
import { logUnlistedOrigin, unlistedOrigin, unlistedOriginText } from "../unlisted_origin.ts";

const methods = "GET, HEAD, POST, DELETE";
const preflightSeconds = 600;
/** A proxy that forwards its client's method would take a successful preflight as permission. */
const withoutPreflight = "/api/auth/forward";

/**
 * Adds CORS headers to every response. Must be the outermost middleware: to a page, a response that it can't read looks like a
 * network error.
 */
export function cors(parts: AppParts): AppMiddleware {
  const { config } = parts;
  return async function corsMiddleware(c, next) {
    await next();
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
 * Responds to preflight requests. {@linkcode cors} adds the headers.
 *
 * @throws {AppError} `cross_site`, naming an origin that is missing from `ALLOWED_ORIGINS`.
 */
export function preflight(config: Pick<Config, "baseUrl" | "allowedOrigins">): AppMiddleware {
  return async function preflightMiddleware(c, next) {
    if (!isPreflight(c)) return await next();
    const unlisted = unlistedOrigin(c, config);
    if (unlisted !== null) throw new AppError("cross_site", unlistedOriginText(unlisted, config));
    c.res = new Response(null, { status: 204 });
  };
}

function isPreflight(c: AppContext): boolean {
  return c.req.method === "OPTIONS" && c.req.path !== withoutPreflight &&
    c.req.header("Access-Control-Request-Method") !== undefined;
}
