// Requests below /embed: the portal session and its frame. No other cookie means anything here, and this one nothing elsewhere.
import { serialize } from "hono/utils/cookie";
import type { Config } from "../../../config.ts";
import type { AppError } from "../../../domain/errors.ts";
import { portalSessionMinutesMax } from "../../../domain/keys/portal_session_limits.ts";
import {
  embedHref,
  type EmbedLook,
  embedLookText,
  parseEmbedLook,
  type PortalSession,
} from "../../../domain/keys/portal_session.ts";
import type { Session } from "../../../domain/access/session.ts";
import { findPortalSession } from "../../../services/keys/mod.ts";
import { deadPage } from "../../../views/embed.tsx";
import { errorPage } from "../../../views/error.tsx";
import type { PortalFrame } from "../../../views/layout.tsx";
import { cookieValues } from "../../cookies.ts";
import type { AppContext } from "../../env.ts";
import { portalFrame, type PortalParts, redirect, sendPage } from "../page.ts";
import { presented } from "../presented.ts";

const cookieName = "portal_session";
const lookCookieName = "portal_look";
/** Below it are the pages of a session. */
export const embedPath = `${embedHref}/:portalSessionId`;

/** Each session has a cookie of its own, for its own pages: a browser can have the sessions of several organizations. */
export function setPortalSessionCookie(
  c: AppContext,
  { secure }: Config,
  { id, token, look }: { id: string; token: string; look: EmbedLook },
): void {
  const options = {
    httpOnly: true,
    sameSite: "Lax",
    path: baseOf(id),
    secure,
    maxAge: portalSessionMinutesMax * 60,
  } as const;
  c.header("Set-Cookie", serialize(cookieName, token, options), { append: true });
  const text = embedLookText(look);
  if (text !== "system") c.header("Set-Cookie", serialize(lookCookieName, text, options), { append: true });
}

const lookOf = (c: AppContext): EmbedLook =>
  parseEmbedLook(cookieValues(c.get("headers")["cookie"], lookCookieName)[0] ?? "");

/** Returns the live session that the path names and a cookie belongs to, or null. */
export async function readPortalSession(
  c: AppContext,
  { services }: PortalParts,
): Promise<PortalSession | null> {
  const tokens = cookieValues(c.get("headers")["cookie"], cookieName);
  return await findPortalSession(services, { id: idOf(c), tokens });
}

/** Also for paths without a route. */
function idOf(c: AppContext): string {
  return c.req.path.split("/")[2] ?? "";
}

export function baseOf(id: string): string {
  return `${embedHref}/${id}`;
}

export function embedFrame(c: AppContext, parts: PortalParts, session: PortalSession): PortalFrame {
  const { id, pages, isReadOnly, returnUrl } = session;
  const frame = portalFrame(parts, shownSession(c, session));
  const embed = { pages, returnUrl, origins: parts.config.embedOrigins, isClear: lookOf(c).isClear };
  return { ...frame, base: baseOf(id), isReadOnly, sendsMail: false, embed };
}

/** Returns what pages show of a session: an admin of the organization. No verb gets it. */
export function shownSession(c: AppContext, session: PortalSession): Session {
  const { id, organizationId, organizationName: name, isSuspended: suspended, timezone } = session;
  return {
    id,
    user: { id, name: session.userName ?? "", email: "", emailVerified: true },
    organization: { organizationId, name, role: "ADMIN", suspended, timezone, features: [] },
    memberships: [],
    authenticatedAt: 0,
    secondFactorAt: null,
    isOperator: false,
    preferences: { timezone: null, locale: null, theme: lookOf(c).theme },
  };
}

/** Says that the session is over. htmx, which would swap parts of a page, loads the whole page. */
export function sessionOver(c: AppContext, { assets }: PortalParts): Response | Promise<Response> {
  if (c.req.header("HX-Request") === "true") return redirect(c, baseOf(idOf(c)), { frameChanges: true });
  const page = deadPage({
    assets,
    title: "This session has ended",
    text: "Go back to where you came from, and open this page again.",
  });
  return sendPage(c, page, 401);
}

/** Shows an error in the session's frame; without a live session, only that. */
export async function embedError(
  c: AppContext,
  error: AppError,
  { parts, title }: { parts: PortalParts; title: string },
): Promise<Response> {
  // The page must also come when the database is unavailable.
  const session = await readPortalSession(c, parts).catch(() => undefined);
  if (session === null && (error.status < 500 && error.code !== "cross_site")) {
    return await sessionOver(c, parts);
  }
  const { status, message } = error;
  if (!session) {
    return await sendPage(c, deadPage({ assets: parts.assets, title, text: message }), status);
  }
  const frame = embedFrame(c, parts, session);
  const requestId = c.get("requestId");
  const page = errorPage({ frame, status, title, message, requestId, returnTo: null });
  return await presented(c, parts, {
    session: shownSession(c, session),
    run: () => sendPage(c, page, status),
  });
}
