// Refuses writes that another site sends with a person's cookie. A sibling subdomain is another site here: SameSite does
// nothing against it, since the cookie is shared with it on purpose.
import type { Config } from "../../config.ts";
import { AppError } from "../../domain/errors.ts";
import type { AppContext } from "../env.ts";
import { unlistedOrigin, unlistedOriginText } from "../unlisted_origin.ts";
import type { Guard } from "./conversation.ts";

/**
 * The one form that every site may send: it changes nothing and shows its sender what arrived, which is of use just when what
 * arrives does not fit.
 */
export const echoPath = "/portal/check";

const reading = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Lets a write pass when what the browser says fits: `Sec-Fetch-Site: same-origin` and an `Origin` that is `BASE_URL`'s,
 * each where it was sent, and at least one of them. An allowed origin may write under `/api/auth/`. Applies to
 * everything but `/api/v1/`, which takes keys and no cookies, and {@linkcode echoPath}.
 *
 * @param config The settings.
 * @param isKnown Whether a route takes the request: what nobody takes is answered as such, to everybody.
 */
export function crossSite(config: Config, isKnown: (c: AppContext) => boolean): Guard {
  const own = config.baseUrl.origin;
  return function crossSiteGuard(c) {
    if (reading.has(c.req.method) || c.req.path.startsWith("/api/v1/")) return;
    if (c.req.path === echoPath) return;
    const origin = c.req.header("Origin");
    const site = c.req.header("Sec-Fetch-Site");
    const isAllowedOrigin = origin !== undefined && c.req.path.startsWith("/api/auth/") &&
      config.allowedOrigins.some((allowed) => allowed.matches(origin));
    const fits = (origin !== undefined || site !== undefined) &&
      (origin === undefined || origin === own) && (site === undefined || site === "same-origin");
    if (!isAllowedOrigin && !fits && isKnown(c)) {
      c.set("answerHeaders", [["Vary", "Origin"]]);
      const unlisted = c.req.path.startsWith("/api/auth/") ? unlistedOrigin(c, config) : null;
      throw new AppError(
        "cross_site",
        unlisted === null
          ? `This must be sent from ${own} itself. Open that address and try again.`
          : unlistedOriginText(unlisted, config),
      );
    }
  };
}
