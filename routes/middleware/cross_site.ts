// Rejects writes that other sites send with a user's cookie (CSRF). Sibling subdomains count as other sites: they share the cookie,
// so SameSite doesn't stop them.
import type { Config } from "../../config.ts";
import { AppError } from "../../domain/errors.ts";
import type { AppContext } from "../env.ts";
import { unlistedOrigin, unlistedOriginText } from "./cors.ts";
import type { Guard } from "./request_lifecycle.ts";

const safeMethods = new Set(["GET", "HEAD", "OPTIONS"]);

/** Identities are changed on our own pages only. */
const ownOnly = "/api/auth/identities";

/**
 * Accepts writes with `Sec-Fetch-Site: same-origin` and the `Origin` of `BASE_URL`, or with one of these headers if the other
 * is missing. Allowed origins may write under `/api/auth/`, except about identities. A request with neither header comes from
 * a program or through a proxy that removes them: it is accepted only if no page of another site could have sent it.
 * `/api/v1/` is exempt, because it ignores cookies, and so does `/oauth/`, whose forms only become addresses.
 *
 * @param isKnown True if a route matches the request. Other requests get the usual 404 or 405.
 */
export function crossSite(config: Config, isKnown: (c: AppContext) => boolean): Guard {
  const own = config.baseUrl.origin;
  return function crossSiteGuard(c) {
    if (safeMethods.has(c.req.method) || /^\/(api\/v1|oauth)\//.test(c.req.path)) return;
    const origin = c.req.header("Origin");
    const site = c.req.header("Sec-Fetch-Site");
    const isAllowedOrigin = origin !== undefined && c.req.path.startsWith("/api/auth/") &&
      !c.req.path.startsWith(ownOnly) && config.allowedOrigins.some((allowed) => allowed.matches(origin));
    const isOwn = origin === undefined && site === undefined
      ? needsPreflight(c)
      : (origin === undefined || origin === own) && (site === undefined || site === "same-origin");
    if (!isAllowedOrigin && !isOwn && isKnown(c)) {
      c.set("responseHeaders", [["Vary", "Origin"]]);
      throw new AppError("cross_site", rejection(c, config));
    }
  };
}

function rejection(c: AppContext, config: Config): string {
  const own = config.baseUrl.origin;
  if (c.req.header("Origin") === undefined && c.req.header("Sec-Fetch-Site") === undefined) {
    return `Send Content-Type: application/json, or, from a browser, open ${own} and try again.`;
  }
  const unlisted = c.req.path.startsWith("/api/auth/") ? unlistedOrigin(c, config) : null;
  return unlisted === null
    ? `This must be sent from ${own} itself. Open that address and try again.`
    : unlistedOriginText(unlisted, config);
}

/** True if browsers preflight such a request to another site, unlike forms (Fetch, "CORS-preflight fetch"). */
function needsPreflight(c: AppContext): boolean {
  if (c.req.method !== "POST") return true;
  const type = c.get("headers")["content-type"] ?? "";
  return type.split(";", 1)[0]?.trim().toLowerCase() === "application/json";
}
