// CORS with credentials for the origins in the settings, and for nobody else.
import type { AllowedOrigin } from "../../config.ts";
import type { AppContext, AppMiddleware } from "../env.ts";

const methods = "GET, HEAD, POST, DELETE";
const preflightSeconds = 600;
/** A proxy that keeps its client's method would take the answer to a preflight for leave to pass. */
const withoutPreflight = "/api/auth/forward";

/**
 * Outermost of all, so that a page can read every answer: it could not tell one that it may not read from a network that
 * is down.
 *
 * @param origins Who may read answers and send requests with cookies.
 */
export function cors(origins: readonly AllowedOrigin[]): AppMiddleware {
  return async function corsMiddleware(c, next) {
    await next();
    const answer = c.res.headers;
    answer.set("Vary", "Origin");
    const origin = c.req.header("Origin");
    if (origin === undefined || !origins.some((allowed) => allowed.matches(origin))) return;
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

/** Answers what a browser asks before a request; {@linkcode cors} says in it who may send one. */
export function preflight(): AppMiddleware {
  return async function preflightMiddleware(c, next) {
    if (isPreflight(c)) c.res = new Response(null, { status: 204 });
    else await next();
  };
}

function isPreflight(c: AppContext): boolean {
  return c.req.method === "OPTIONS" && c.req.path !== withoutPreflight &&
    c.req.header("Access-Control-Request-Method") !== undefined;
}
