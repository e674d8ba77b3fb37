// Who is behind a request with a cookie.
import { unauthenticatedError } from "../domain/errors.ts";
import type { Session } from "../domain/session.ts";
import { clearSessionCookies, sessionTokens } from "./cookies.ts";
import type { AppContext, AppParts } from "./env.ts";

/** @returns The session, or null for nobody. Cookies of two people at once sign nobody in and are taken away. */
export async function findSession(c: AppContext, parts: AppParts): Promise<Session | null> {
  const tokens = sessionTokens(c.get("headers")["cookie"]);
  if (tokens.length === 0) return null;
  const { session, conflict } = await parts.services.accounts.findSession(tokens);
  if (conflict) {
    clearSessionCookies(c, parts.config);
    parts.log.warn("session cookies of two users came together; both were cleared", {
      requestId: c.get("requestId"),
      address: c.get("client").address,
    });
  }
  return session;
}

/** @returns The session. @throws {AppError} `unauthenticated`. */
export async function requireSession(c: AppContext, parts: AppParts): Promise<Session> {
  const session = await findSession(c, parts);
  if (session === null) throw unauthenticatedError();
  return session;
}
