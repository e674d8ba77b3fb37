// Shared by all pages of the portal: requiring a session, the frame around the page, redirects and forms.
import type { ContentfulStatusCode, RedirectStatusCode } from "hono/utils/http-status";
import type { OperatorActor, PortalSessionActor, SessionActor } from "../../domain/access/actor.ts";
import { AppError } from "../../domain/errors.ts";
import type { Membership, Session } from "../../domain/access/session.ts";
import { portalReturnTo, withReturnTo } from "../../domain/people/return_to.ts";
import type { Assets, GateFrame, Page, PortalFrame } from "../../views/layout.tsx";
import { hasRecentAuthentication } from "../../services/access/mod.ts";
import { readFormBody } from "../body.ts";
import { sessionTokens } from "../cookies.ts";
import type { App, AppContext, AppParts } from "../env.ts";
import { findSession, sessionActor } from "../session.ts";
import { presented } from "./presented.ts";

/** With the addresses of style sheets and scripts. */
export type PortalParts = AppParts & { readonly assets: Assets };

/** The page after signing in. */
export const home = "/portal";
/** The page after signing in for people without an organization. */
export const organizationsHome = "/portal/organizations";

export function sendPage(
  c: AppContext,
  page: Page,
  status: ContentfulStatusCode = 200,
): Response | Promise<Response> {
  return c.html(page, status);
}

/** Redirects after a form or away from a page. `frameChanges`: htmx must load the whole page. */
export function redirect(
  c: AppContext,
  path: string,
  options: { frameChanges?: boolean; status?: RedirectStatusCode } = {},
): Response {
  if (options.frameChanges && c.req.header("HX-Request") === "true") {
    c.header("HX-Redirect", path);
    return c.body(null, 200);
  }
  return c.redirect(path, options.status ?? 303);
}

/** For people who aren't signed in. */
export function gateFrame({ assets, config }: PortalParts): GateFrame {
  return { assets, signUpOpen: config.signUp === "open" };
}

export function portalFrame({ assets, services }: PortalParts, session: Session): PortalFrame {
  const { clock, mail } = services;
  return {
    assets,
    now: clock(),
    session,
    base: home,
    viewed: null,
    isReadOnly: false,
    sendsMail: mail.mode !== "none",
    isConsole: false,
    embed: null,
  };
}

type AppHandler = (c: AppContext) => Response | Promise<Response>;
export type PortalHandler<Actor = SessionActor> = (
  c: AppContext,
  session: Actor,
) => Response | Promise<Response>;

export interface PortalRoutes<Actor = SessionActor> {
  get(path: string, handler: PortalHandler<Actor>): void;
  post(path: string, handler: PortalHandler<Actor>): void;
}

export function openRoutes(app: App, wrap = (handler: AppHandler) => handler): PortalRoutes<null> {
  return {
    get: (path, handler) => void app.get(path, wrap((c) => handler(c, null))),
    post: (path, handler) => void app.post(path, wrap((c) => handler(c, null))),
  };
}

/** Mounts handlers for signed-in users. Others are sent to the sign-in page, and back afterwards. */
export function signedInRoutes(app: App, parts: PortalParts): PortalRoutes {
  return filteredRoutes(openRoutes(app), (handler) => async (c) => {
    const session = await findSession(c, parts);
    if (session === null) return toSignIn(c, parts);
    return await presented(c, parts, { session, run: () => handler(c, sessionActor(c, session)) });
  });
}

/** Mounts handlers that require a recent authentication. Each form has the path of its page. */
export function sensitiveRoutes(app: App, parts: PortalParts): PortalRoutes {
  return filteredRoutes(
    signedInRoutes(app, parts),
    (handler) => (c, session) => reauthenticationIfNeeded(c, parts, session) ?? handler(c, session),
  );
}

/** Mounts handlers for members of an organization. People without one are sent to create one. */
export function memberRoutes(app: App, parts: PortalParts): PortalRoutes<MemberActor> {
  return filteredRoutes(
    signedInRoutes(app, parts),
    (handler) => (c, { organization, ...session }) =>
      organization === null
        ? redirect(c, organizationsHome, { frameChanges: true })
        : handler(c, { ...session, organization }),
  );
}

/** Mounts handlers behind a filter. @param base Begins all paths. */
export function filteredRoutes<All, Actor>(
  { get, post }: PortalRoutes<All>,
  filter: (handler: PortalHandler<Actor>) => PortalHandler<All>,
  base = "",
): PortalRoutes<Actor> {
  return {
    get: (path, handler) => get(base + path, filter(handler)),
    post: (path, handler) => post(base + path, filter(handler)),
  };
}

/** Redirects to the sign-in page, and back afterwards. It says when a session has expired. */
export function toSignIn(c: AppContext, { config }: PortalParts): Response {
  const headers = c.get("headers");
  const isPage = c.req.method === "GET";
  const hadSession = !isPage || headers["hx-request"] === "true" ||
    sessionTokens(headers["cookie"]).length > 0;
  const { pathname, search } = new URL(c.req.url);
  const back = isPage ? pathname + search : pageOfForm(headers, config.baseUrl) ?? home;
  const path = withReturnTo("/sign-in", back);
  return redirect(c, hadSession ? `${path}&expired=1` : path, { frameChanges: true });
}

/** Returns the page that a form was sent from, without its last notice, or null: the form isn't sent again after signing in. */
function pageOfForm(
  { "hx-current-url": current, referer }: Readonly<Record<string, string | undefined>>,
  base: URL,
): string | null {
  const page = portalReturnTo(current ?? referer, base);
  if (page === null) return null;
  const { pathname, search, searchParams } = new URL(page, base);
  if (!searchParams.has("done")) return pathname + search;
  searchParams.delete("done");
  return searchParams.size === 0 ? pathname : `${pathname}?${searchParams}`;
}

/** Redirects to a page that asks for the password, and back afterwards; null after a recent authentication. */
export function reauthenticationIfNeeded(
  c: AppContext,
  parts: PortalParts,
  session: SessionActor,
): Response | null {
  if (hasRecentAuthentication(session, parts.services.clock())) return null;
  const { pathname, search } = new URL(c.req.url);
  return askToReauthenticate(c, pathname + search);
}

/**
 * Redirects to a page that asks for the password, after a form was rejected with `proof_required`.
 *
 * @param page The page to return to.
 * @param options `again`: ask even after a recent authentication, which isn't enough for this form.
 */
export function askToReauthenticate(
  c: AppContext,
  page: string,
  options: { again?: boolean } = {},
): Response {
  const again = options.again ? "again=1&" : "";
  return redirect(c, `/portal/confirm-password?${again}return_to=${encodeURIComponent(page)}`);
}

export function needsReauthentication(error: unknown): boolean {
  return error instanceof AppError && error.code === "proof_required";
}

/** Returns a handler whose responses, including errors, hide the URL from other sites: it contains a secret. */
export function withoutReferrer(handler: AppHandler): AppHandler {
  return (c) => {
    c.set("responseHeaders", [["referrer-policy", "no-referrer"]]);
    return handler(c);
  };
}

/** Reads a form. @throws {AppError} `organization_switched` if it is about another organization; as `readFormBody`. */
export async function readForm(
  c: AppContext,
  actor: SessionActor | OperatorActor | PortalSessionActor | null,
): Promise<Readonly<Record<string, string>>> {
  const form = await readFormBody(c);
  const organization = actor?.type === "session" ? actor.organization : null;
  const { organizationId } = form;
  if (
    organization !== null && organizationId !== undefined && organizationId !== organization.organizationId
  ) {
    throw new AppError(
      "organization_switched",
      `You have switched to ${organization.name} since you opened this page. Nothing was changed.`,
    );
  }
  return form;
}

export type MemberActor = SessionActor & { readonly organization: Membership };
