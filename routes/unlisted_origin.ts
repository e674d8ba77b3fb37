// Pages of origins that are missing from ALLOWED_ORIGINS: the most common mistake in setting up a product. What the client
// sends as its origin is never shown unless it has the form of one.
import type { Config } from "../config.ts";
import { unlistedOriginsLoggedMax } from "../domain/limits.ts";
import type { AppContext, Log } from "./env.ts";

/** Longer than any origin with a valid host name and port. */
const originCharactersMax = 300;

/** @returns The request's `Origin` when it is neither the service's own nor allowed, else null. */
export function unlistedOrigin(
  c: AppContext,
  { baseUrl, allowedOrigins }: Pick<Config, "baseUrl" | "allowedOrigins">,
): string | null {
  const origin = c.req.header("Origin");
  if (origin === undefined || origin === baseUrl.origin) return null;
  return allowedOrigins.some((allowed) => allowed.matches(origin)) ? null : origin;
}

/** @returns A sentence that names the origin. */
export function unlistedOriginText(origin: string, { baseUrl }: Pick<Config, "baseUrl">): string {
  const name = isOrigin(origin) ? `Origin ${origin}` : "This origin";
  return `${name} isn’t in ALLOWED_ORIGINS. Requests are also accepted from ${baseUrl.origin} itself.`;
}

/** @returns A function that logs each origin once, up to a number that clients can't exhaust memory with. */
export function createUnlistedOriginLog(log: Pick<Log, "warn">): (origin: string) => void {
  const logged = new Set<string>();
  return (origin) => {
    if (logged.size >= unlistedOriginsLoggedMax || logged.has(origin) || !isOrigin(origin)) return;
    // No page can have such a name (RFC 2606): `gatehouse check` sends one.
    if (new URL(origin).hostname.endsWith(".invalid")) return;
    logged.add(origin);
    const isLast = logged.size === unlistedOriginsLoggedMax;
    log.warn("an origin is missing from ALLOWED_ORIGINS: its pages can't use the sign-in API", {
      origin,
      ...(isLast ? { note: "no more origins are logged until the next start" } : {}),
    });
  };
}

function isOrigin(text: string): boolean {
  return text.length <= originCharactersMax && URL.canParse(text) && new URL(text).origin === text;
}
