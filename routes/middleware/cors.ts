// CORS with credentials for the origins in the settings, and for nobody else.
import type { Config } from "../../config.ts";
import { AppError } from "../../domain/errors.ts";
import type { AppContext, AppMiddleware, Log } from "../env.ts";
import { createUnlistedOriginLog, unlistedOrigin, unlistedOriginText } from "../unlisted_origin.ts";

const methods = "GET, HEAD, POST, DELETE";
const preflightSeconds = 600;
/** A proxy that keeps its client's method would take the answer to a preflight for leave to pass. */
const withoutPreflight = "/api/auth/forward";

/**
 * Outermost of all, so that a page can read every answer: it could not tell one that it may not read from a network that
 * is down.
 *
 * @param config `allowedOrigins`: who may read answers and send requests with cookies.
 * @param log Where an origin that is missing there is named, once.
 */
export function cors(config: Pick<Config, "baseUrl" | "allowedOrigins">, log: Log): AppMiddleware {
  const logUnlisted = createUnlistedOriginLog(log);
  return async function corsMiddleware(c, next) {
    await next();
    const answer = c.res.headers;
    answer.set("Vary", "Origin");
    const origin = c.req.header("Origin");
    if (origin === undefined) return;
    if (!config.allowedOrigins.some((allowed) => allowed.matches(origin))) {
      // A proxy passes on what it was sent: there it is the origin of an application's own page.
      if (origin !== config.baseUrl.origin && c.req.path !== withoutPreflight) logUnlisted(origin);
      return;
    }
    answer.set("Access-Control-Allow-Origin", origin);
    answer.set("Access-Control-Allow-Credentials", "true");
    // Products on other origins read these answers: the policy for embedding must not forbid what CORS allows.
    answer.set("Cross-Origin-Resource-Policy", "cross-origin");
    if (!isPreflight(c)) {
      answer.set("Access-Control-Expose-Headers", "X-Request-Id, Retry-After");
      return;
    }
    answer.set("Access-Control-Allow-Methods", methods);
    answer.set("Access-Control-Allow-Headers", "Content-Type");
    answer.set("Access-Control-Max-Age", String(preflightSeconds));
  };
}

/**
 * Answers what a browser asks before a request; {@linkcode cors} says in it who may send one.
 *
 * @param config The settings.
 * @throws {AppError} `cross_site`, naming an origin that is missing in `ALLOWED_ORIGINS`.
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
