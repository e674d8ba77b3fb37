// CORS with credentials for the origins in the settings, and for nobody else.
import type { AllowedOrigin } from "../../config.ts";
import type { AppMiddleware } from "../env.ts";

const methods = "GET, HEAD, POST, DELETE";
const preflightSeconds = 600;
/** A proxy that keeps its client's method would take the answer to a preflight for leave to pass. */
const withoutPreflight = "/api/auth/forward";

/** @param origins Who may read answers and send requests with cookies. */
export function cors(origins: readonly AllowedOrigin[]): AppMiddleware {
  return async function corsMiddleware(c, next) {
    const origin = c.req.header("Origin");
    const isAllowed = origin !== undefined && origins.some((allowed) => allowed.matches(origin));
    const isPreflight = c.req.method === "OPTIONS" && c.req.path !== withoutPreflight &&
      c.req.header("Access-Control-Request-Method") !== undefined;
    if (isPreflight) c.res = new Response(null, { status: 204 });
    else await next();
    const answer = c.res.headers;
    answer.append("Vary", "Origin");
    if (!isAllowed) return;
    answer.set("Access-Control-Allow-Origin", origin);
    answer.set("Access-Control-Allow-Credentials", "true");
    // Products on other origins read these answers: the policy for embedding must not forbid what CORS allows.
    c.set("answerHeaders", [["Cross-Origin-Resource-Policy", "cross-origin"]]);
    if (!isPreflight) {
      answer.set("Access-Control-Expose-Headers", "X-Request-Id, Retry-After");
      return;
    }
    answer.set("Access-Control-Allow-Methods", methods);
    answer.set("Access-Control-Allow-Headers", "Content-Type");
    answer.set("Access-Control-Max-Age", String(preflightSeconds));
  };
}
