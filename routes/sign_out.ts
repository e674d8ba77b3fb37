// Ends the sessions of a request.
import { signOut } from "../services/people/mod.ts";
import { clearSessionCookies, sessionTokens } from "./cookies.ts";
import type { AppContext, AppParts } from "./env.ts";
import { findFormerDomains } from "./session.ts";

/** Ends the session of each cookie, and clears the cookies. */
export async function endSessions(c: AppContext, parts: AppParts): Promise<void> {
  await findFormerDomains(c, parts);
  await signOut(parts.services, c.get("client"), sessionTokens(c.get("headers")["cookie"]));
  clearSessionCookies(c, parts.config);
}

/** Ends the sessions, and clears the cached pages, so that the next person at this browser doesn't see them in the history. */
export async function signOutOfPortal(c: AppContext, parts: AppParts): Promise<void> {
  await endSessions(c, parts);
  // Not "cookies": that would delete those of every host of the domain. Browsers accept the header from secure origins only, and
  // log a warning otherwise.
  if (parts.config.secure) c.header("Clear-Site-Data", '"cache"');
}
