// Logs origins that are missing from ALLOWED_ORIGINS, the most common mistake in setting up a product. Only well-formed origins
// are printed.
import type { Config } from "../config.ts";
import type { AppContext, AppParts } from "./env.ts";

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
