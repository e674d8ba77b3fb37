// Finds the user of a request with cookies, and begins their sessions.
import type { ClientInfo, SessionActor } from "../domain/access/actor.ts";
import { addressGroup } from "../domain/address_group.ts";
import { unauthenticatedError } from "../domain/errors.ts";
import type { Session } from "../domain/access/session.ts";
import type { FoundTokens } from "../services/access/mod.ts";
import type { SecondStepRequired, SignedIn } from "../services/people/mod.ts";
import {
  clearConflictingCookies,
  clearFormerCookies,
  formerDomains,
  type SessionCookie,
  sessionCookies,
  setSessionCookie,
} from "./cookies.ts";
import type { AppContext, AppParts } from "./env.ts";

/**
 * Returns the session, or null if there is none. Conflicting cookies of two people are cleared and not accepted. A cookie from
 * before `COOKIE_DOMAIN` changed is reissued with the current settings.
 */
export async function findSession(c: AppContext, parts: AppParts): Promise<Session | null> {
  const { session, cookies, known, accepted } = await search(c, parts, {
    path: () => new URL(c.req.url).pathname,
  });
  // A stale cookie of another domain may belong to another Gatehouse.
  const isFormer = ({ token, domain, isCurrent }: SessionCookie) =>
    !isCurrent && (domain === "" || known.includes(token));
  if (accepted !== undefined && cookies.some(isFormer)) renewCookie(c, parts, { cookies, accepted });
  return session;
}

/**
 * Finds the session of forward auth. The request is for another host, whose cookie a new one would become, so none is set.
 *
 * @returns `conflict`: there is no session because the cookies belong to two people.
 */
export async function findForwardedSession(
  c: AppContext,
  parts: AppParts,
): Promise<{ session: Session | null; conflict: boolean }> {
  const path = () => (c.get("headers")["x-forwarded-uri"] ?? "").replace(/[?#].*/s, "");
  return await search(c, parts, { path });
}

/** @param request `path`: of the request that the cookies came with; called only in a conflict. */
async function search(
  c: AppContext,
  parts: AppParts,
  { path }: { path: () => string },
): Promise<FoundTokens & { cookies: readonly SessionCookie[] }> {
  const { config, log, services } = parts;
  const cookies = sessionCookies(c.get("headers")["cookie"], config);
  if (cookies.length === 0) return { session: null, conflict: false, known: [], cookies };
  const found = await services.sessionSearch.find(cookies.map(({ token }) => token));
  setFormerDomains(c, parts, { cookies, known: found.known });
  if (found.conflict) {
    c.set("hasConflict", true);
    clearConflictingCookies(c, config, { path: path() });
    const { address } = c.get("client");
    // A client may send such cookies with every request: one log line per interval is enough.
    if (services.rateLimits.sessionConflicts.take(addressGroup(address)).isAllowed) {
      const requestId = c.get("requestId");
      log.warn("cleared conflicting session cookies of two users", { requestId, address });
    }
  }
  return { ...found, cookies };
}

/**
 * Reissues the cookie with the current settings. Otherwise a host-only cookie would sign a person in here but not on the
 * products, and a cookie of a domain that is no longer set would keep telling every host there who they are.
 */
function renewCookie(
  c: AppContext,
  { config, services }: AppParts,
  { cookies, accepted }: {
    cookies: readonly SessionCookie[];
    accepted: { token: string; expiresAt: number };
  },
): void {
  if (cookies.some(({ token, isCurrent }) => isCurrent && token === accepted.token)) {
    clearFormerCookies(c, config);
    return;
  }
  const maxAge = Math.max(1, Math.floor((accepted.expiresAt - services.clock()) / 1000));
  setSessionCookie(c, config, { token: accepted.token, maxAge });
}

/**
 * Signs in, and sets the cookie, which replaces those that the browser has. The sign-in ends their sessions, so they are read
 * before it.
 *
 * @param signIn Creates the session, or asks for a second step: then no cookie changes.
 */
export async function beginSession<T extends SignedIn | SecondStepRequired>(
  c: AppContext,
  parts: AppParts,
  signIn: (client: ClientInfo) => Promise<T>,
): Promise<T> {
  await findFormerDomains(c, parts);
  const result = await signIn(c.get("client"));
  if ("token" in result) setSessionCookie(c, parts.config, { token: result.token });
  return result;
}

/** Makes sure that the request's `formerDomains` are set, also on routes that don't look for a session. */
export async function findFormerDomains(c: AppContext, parts: AppParts): Promise<void> {
  if (c.get("formerDomains") !== undefined) return;
  const cookies = sessionCookies(c.get("headers")["cookie"], parts.config);
  if (formerDomains(cookies, parts.config).length === 0) return;
  const { known } = await parts.services.sessionSearch.find(cookies.map(({ token }) => token));
  setFormerDomains(c, parts, { cookies, known });
}

function setFormerDomains(
  c: AppContext,
  { config }: AppParts,
  { cookies, known }: { cookies: readonly SessionCookie[]; known: readonly string[] },
): void {
  c.set("formerDomains", formerDomains(cookies.filter(({ token }) => known.includes(token)), config));
}

/** Returns the session as the actor of this request. @throws {AppError} `unauthenticated`. */
export async function requireSession(c: AppContext, parts: AppParts): Promise<SessionActor> {
  const session = await findSession(c, parts);
  if (session === null) throw unauthenticatedError();
  return sessionActor(c, session);
}

/** Makes a session the actor of this request, also of its errors. */
export function sessionActor(c: AppContext, session: Session): SessionActor {
  const actor = { ...session, type: "session", client: c.get("client") } as const;
  c.set("actor", actor);
  return actor;
}
