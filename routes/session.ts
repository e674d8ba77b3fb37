// Who is behind a request with a cookie.
import type { SessionActor } from "../domain/actor.ts";
import { unauthenticatedError } from "../domain/errors.ts";
import type { Session } from "../domain/session.ts";
import { clearSessionCookies, sessionTokens } from "./cookies.ts";
import type { AppContext, AppParts } from "./env.ts";

/** @returns The session, or null for nobody. Cookies of two people at once sign nobody in and are taken away. */
export async function findSession(c: AppContext, parts: AppParts): Promise<Session | null> {
  return (await findSessionOrConflict(c, parts)).session;
}

/** @returns Like {@linkcode findSession}; `conflict` says that nobody is signed in because two people are. */
export async function findSessionOrConflict(
  c: AppContext,
  parts: AppParts,
): Promise<{ session: Session | null; conflict: boolean }> {
  const tokens = sessionTokens(c.get("headers")["cookie"]);
  if (tokens.length === 0) return { session: null, conflict: false };
  const found = await parts.services.sessions.findSession(tokens);
  if (found.conflict) {
    clearSessionCookies(c, parts.config);
    parts.log.warn("session cookies of two users came together; both were cleared", {
      requestId: c.get("requestId"),
      address: c.get("client").address,
    });
  }
  return found;
}

/** @returns The session, as the one who acts. @throws {AppError} `unauthenticated`. */
export async function requireSession(c: AppContext, parts: AppParts): Promise<SessionActor> {
  const session = await findSession(c, parts);
  if (session === null) throw unauthenticatedError();
  return sessionActor(c, session);
}

/** @returns The part of a route's handler that lets only signed-in people pass. */
export function byActor(parts: AppParts): { authenticate: (c: AppContext) => Promise<SessionActor> } {
  return { authenticate: (c) => requireSession(c, parts) };
}

/** @returns A session as the one who acts in this request, and from now on for errors too. */
export function sessionActor(c: AppContext, session: Session): SessionActor {
  const actor = { ...session, type: "session", client: c.get("client") } as const;
  c.set("actor", actor);
  return actor;
}
