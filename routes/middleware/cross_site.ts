// Refuses writes that another site sends with a person's cookie. A sibling subdomain is another site here: SameSite does
// nothing against it, since the cookie is shared with it on purpose.
import type { Config } from "../../config.ts";
import { AppError } from "../../domain/errors.ts";
import type { AppContext } from "../env.ts";
import { unlistedOrigin, unlistedOriginText } from "../unlisted_origin.ts";
import type { Guard } from "./request_lifecycle.ts";

/**
 * The one form that every site may send: it changes nothing and shows its sender what arrived, which is of use just when what
 * arrives does not fit.
 */
export const browserRequestPath = "/portal/check";

const reading = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Lets a write pass when what the browser says fits: `Sec-Fetch-Site: same-origin` and an `Origin` that is `BASE_URL`'s,
 * each where it was sent. An allowed origin may write under `/api/auth/`. A request with neither header comes from no
 * browser, or through a proxy that removes them: it passes only if no other site's page could have sent it. Applies to
 * everything but `/api/v1/`, which takes keys and no cookies, and {@linkcode browserRequestPath}.
 *
 * @param config The settings.
 * @param isKnown Whether a route takes the request: what nobody takes is answered as such, to everybody.
 */
export function crossSite(config: Config, isKnown: (c: AppContext) => boolean): Guard {
  const own = config.baseUrl.origin;
  return function crossSiteGuard(c) {
    if (reading.has(c.req.method) || c.req.path.startsWith("/api/v1/")) return;
    if (c.req.path === browserRequestPath) return;
    const origin = c.req.header("Origin");
    const site = c.req.header("Sec-Fetch-Site");
    const isAllowedOrigin = origin !== undefined && c.req.path.startsWith("/api/auth/") &&
      config.allowedOrigins.some((allowed) => allowed.matches(origin));
    const fits = origin === undefined && site === undefined
      ? needsPreflight(c)
      : (origin === undefined || origin === own) && (site === undefined || site === "same-origin");
    if (!isAllowedOrigin && !fits && isKnown(c)) {
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

/**
 * @returns Whether browsers ask before they send such a request to another site (Fetch standard, "CORS-preflight fetch"),
 *   as they do not for forms and for a POST without a content type.
 */
function needsPreflight(c: AppContext): boolean {
  if (c.req.method !== "POST") return true;
  const type = c.get("headers")["content-type"] ?? "";
  return type.split(";", 1)[0]?.trim().toLowerCase() === "application/json";
}
