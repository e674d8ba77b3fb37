// Who is behind a request with a cookie.
import type { ClientInfo, SessionActor } from "../domain/actor.ts";
import { unauthenticatedError } from "../domain/errors.ts";
import type { Session } from "../domain/sign_in/session.ts";
import type { SessionSearch } from "../services/sign_in/session_search.ts";
import type { SecondStepNeeded, SignedIn } from "../services/sign_in/sign_in.ts";
import {
  clearConflictingCookies,
  clearFormerCookies,
  clearSessionCookies,
  formerDomains,
  type SessionCookie,
  sessionCookies,
  sessionTokens,
  setSessionCookie,
} from "./cookies.ts";
import type { AppContext, AppParts } from "./env.ts";

/**
 * @returns The session, or null for nobody. Cookies of two people at once sign nobody in and are taken away; a cookie from
 *   before `COOKIE_DOMAIN` was set, changed or unset becomes what it would be now.
 */
export async function findSession(c: AppContext, parts: AppParts): Promise<Session | null> {
  const { session, cookies, known, held } = await search(c, parts, {
    path: () => new URL(c.req.url).pathname,
  });
  // A stale one of another domain may be another Gatehouse's.
  const isFormer = ({ token, domain, isCurrent }: SessionCookie) =>
    !isCurrent && (domain === "" || known.includes(token));
  if (held !== undefined && cookies.some(isFormer)) renewCookie(c, parts, { cookies, held });
  return session;
}

/**
 * The same for who asks about a request to another host: its browser would take a cookie as that host's, so none is set.
 *
 * @returns Like {@linkcode findSession}; `conflict` says that nobody is signed in because two people are.
 */
export async function findForwardedSession(
  c: AppContext,
  parts: AppParts,
): Promise<{ session: Session | null; conflict: boolean }> {
  const path = () => (c.get("headers")["x-forwarded-uri"] ?? "").replace(/[?#].*/s, "");
  return await search(c, parts, { path });
}

/** @param request `path`: of the request that the cookies came with; asked for when two people's did. */
async function search(
  c: AppContext,
  parts: AppParts,
  { path }: { path: () => string },
): Promise<SessionSearch & { cookies: readonly SessionCookie[] }> {
  const cookies = sessionCookies(c.get("headers")["cookie"], parts.config);
  if (cookies.length === 0) return { session: null, conflict: false, known: [], cookies };
  const found = await parts.services.sessionSearch.findSession(cookies.map(({ token }) => token));
  const own = cookies.filter(({ token }) => found.known.includes(token));
  c.set("formerDomains", formerDomains(own, parts.config));
  if (found.conflict) {
    clearConflictingCookies(c, parts.config, { path: path() });
    const { address } = c.get("client");
    // A browser, or who plays one, may send them with each request.
    if (parts.services.sessionSearch.isConflictNews(address)) {
      const requestId = c.get("requestId");
      parts.log.warn("session cookies of two users came together; they are cleared", { requestId, address });
    }
  }
  return { ...found, cookies };
}

/**
 * Makes one cookie, as the settings say now, of what a browser has from before: without this somebody whose cookie is the
 * host's alone would be signed in here, nobody on the products, and nobody after each way to the sign-in page and back;
 * and one of a domain that is no longer set would go on telling every host there who they are.
 */
function renewCookie(
  c: AppContext,
  { config, services }: AppParts,
  { cookies, held }: { cookies: readonly SessionCookie[]; held: { token: string; expiresAt: number } },
): void {
  if (cookies.some(({ token, isCurrent }) => isCurrent && token === held.token)) {
    clearFormerCookies(c, config);
    return;
  }
  const maxAge = Math.max(1, Math.floor((held.expiresAt - services.clock()) / 1000));
  setSessionCookie(c, config, { token: held.token, maxAge });
}

/**
 * Signs in, and puts the new session's token into the cookie, in place of those that the browser has. Their sessions end with
 * the sign-in, so what they say is read before it.
 *
 * @param signIn Makes the session, or only a step towards it: then no cookie changes.
 * @returns What `signIn` returns.
 */
export async function beginSession<T extends SignedIn | SecondStepNeeded>(
  c: AppContext,
  parts: AppParts,
  signIn: (client: ClientInfo) => Promise<T>,
): Promise<T> {
  await lookForFormer(c, parts);
  const result = await signIn(c.get("client"));
  if ("token" in result) setSessionCookie(c, parts.config, { token: result.token });
  return result;
}

/** Ends the session of each cookie that came along, on the server and in the browser. */
export async function endSessions(c: AppContext, parts: AppParts): Promise<void> {
  await lookForFormer(c, parts);
  const tokens = sessionTokens(c.get("headers")["cookie"]);
  await parts.services.signIn.signOut(tokens, c.get("client"));
  clearSessionCookies(c, parts.config);
}

/** Ends sessions as {@linkcode endSessions} does, and leaves nothing of the portal for the next person at this browser. */
export async function signOutOfPortal(c: AppContext, parts: AppParts): Promise<void> {
  await endSessions(c, parts);
  // Pages leave the browser's history, too. The directive for cookies would delete those of every host of the domain.
  // Browsers accept it from secure origins only, and complain in the console about any other.
  if (parts.config.secure) c.header("Clear-Site-Data", '"cache"');
}

/** Sees to it that the request's `formerDomains` are known, also where nobody has asked who is signed in. */
async function lookForFormer(c: AppContext, { config, services }: AppParts): Promise<void> {
  if (c.get("formerDomains") !== undefined) return;
  const cookies = sessionCookies(c.get("headers")["cookie"], config);
  if (formerDomains(cookies, config).length === 0) return;
  const { known } = await services.sessionSearch.findSession(cookies.map(({ token }) => token));
  c.set("formerDomains", formerDomains(cookies.filter(({ token }) => known.includes(token)), config));
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
