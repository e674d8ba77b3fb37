// Reports origins that are missing from ALLOWED_ORIGINS, the most common mistake in setting up a product. Only well-formed origins
// are printed.
import type { Config } from "../config.ts";
import { unlistedOriginsLoggedMax } from "../domain/limits.ts";
import type { AppContext, Log } from "./env.ts";

/** Longer than any origin with a valid host name and port. */
const originCharactersMax = 300;

/** @returns The request's `Origin`, unless it is allowed or `BASE_URL`'s; then null. */
export function unlistedOrigin(
  c: AppContext,
  { baseUrl, allowedOrigins }: Pick<Config, "baseUrl" | "allowedOrigins">,
): string | null {
  const origin = c.req.header("Origin");
  if (origin === undefined || origin === baseUrl.origin) return null;
  return allowedOrigins.some((allowed) => allowed.matches(origin)) ? null : origin;
}

/** @returns The error message. */
export function unlistedOriginText(origin: string, { baseUrl }: Pick<Config, "baseUrl">): string {
  const name = isOrigin(origin) ? `Origin ${origin}` : "This origin";
  return `${name} isn't in ALLOWED_ORIGINS. Requests are also accepted from ${baseUrl.origin} itself.`;
}

/** @returns A function that logs each origin once. Clients can't exhaust memory: the number is limited. */
export function createUnlistedOriginLog(log: Pick<Log, "warn">): (origin: string) => void {
  const logged = new Set<string>();
  return (origin) => {
    if (logged.size >= unlistedOriginsLoggedMax || logged.has(origin) || !isOrigin(origin)) return;
    // `gatehouse check` sends this reserved name (RFC 2606).
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
