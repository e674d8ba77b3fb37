// What every page of the portal does alike: a session or the way to sign in, the frame, and answers that no cache keeps.
import type { ContentfulStatusCode, RedirectStatusCode } from "hono/utils/http-status";
import type { SessionActor } from "../../domain/actor.ts";
import { AppError } from "../../domain/errors.ts";
import type { Membership, Session } from "../../domain/sign_in/session.ts";
import type { Assets, GateFrame, Page, PortalFrame } from "../../views/layout.tsx";
import { hasRecentAuthentication } from "../../services/sign_in/recent_authentication.ts";
import { readFormBody } from "../body.ts";
import type { AppContext, AppParts } from "../env.ts";
import { findSession, sessionActor } from "../session.ts";

/** Where people land. */
export const home = "/portal/api-keys";
/** Where people land who belong to no organization. */
export const organizationsHome = "/portal/organizations";

/** @returns The answer with a page. */
export function sendPage(
  c: AppContext,
  page: Page,
  status: ContentfulStatusCode = 200,
): Response | Promise<Response> {
  return c.html(page, status);
}

/**
 * @returns A redirect after a form (303, so that the browser gets the next page), or away from a page. When htmx asked
 *   and the frame around the page changes, it is told to load the page anew.
 */
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

/** @returns The frame of pages for people who are not signed in. */
export function gateFrame(parts: AppParts, assets: Assets): GateFrame {
  return { assets, signUpOpen: parts.config.signUp === "open" };
}

/** @returns The frame of the portal. */
export function portalFrame(parts: AppParts, assets: Assets, session: Session): PortalFrame {
  const { clock, mail } = parts.services;
  return { assets, now: clock(), session, sendsMail: mail.mode !== "none" };
}

/** Answers a request of somebody who is signed in. */
export type PortalHandler = (c: AppContext, session: SessionActor) => Response | Promise<Response>;

/** @returns A handler that sends everybody else to the sign-in page, and back afterwards. */
export function signedIn(parts: AppParts, handler: PortalHandler): (c: AppContext) => Promise<Response> {
  return async (c) => {
    const session = await findSession(c, parts);
    return session === null ? toSignIn(c) : await handler(c, sessionActor(c, session));
  };
}

/** @returns A redirect to the sign-in page, and back afterwards. */
export function toSignIn(c: AppContext): Response {
  const { pathname, search } = new URL(c.req.url);
  // What a form wanted to do is not done after signing in: the page with the form is shown instead.
  const back = c.req.method === "GET" ? pathname + search : home;
  return redirect(c, `/sign-in?return_to=${encodeURIComponent(back)}`, { frameChanges: true });
}

/**
 * @returns A redirect to the page that asks for the password once more, and back to this page afterwards; null when the
 *   person gave it a short time ago.
 */
export function reauthenticationIfNeeded(
  c: AppContext,
  parts: AppParts,
  session: SessionActor,
): Response | null {
  if (hasRecentAuthentication(session, parts.services.clock())) return null;
  const { pathname, search } = new URL(c.req.url);
  return askToReauthenticate(c, pathname + search);
}

/**
 * @param page The page of the form.
 * @param options `again`: also when a proof was given a short time ago, which is not enough for this form.
 * @returns The same redirect, for a form that was refused with `proof_required`.
 */
export function askToReauthenticate(
  c: AppContext,
  page: string,
  options: { again?: boolean } = {},
): Response {
  const again = options.again ? "again=1&" : "";
  return redirect(c, `/portal/confirm-password?${again}return_to=${encodeURIComponent(page)}`);
}

/** @returns Whether a form was refused with `proof_required`. */
export function needsReauthentication(error: unknown): boolean {
  return error instanceof AppError && error.code === "proof_required";
}

/** @returns A handler whose every answer, errors too, tells other sites nothing of its address: there is a secret in it. */
export function withoutReferrer(
  handler: (c: AppContext) => Response | Promise<Response>,
): (c: AppContext) => Response | Promise<Response> {
  return (c) => {
    c.set("responseHeaders", [["referrer-policy", "no-referrer"]]);
    return handler(c);
  };
}

/**
 * Reads a form about an organization.
 *
 * @returns Its fields.
 * @throws {AppError} `organization_switched` when the form names another organization than the active one: the person
 *   switched in another window, and meant the one that the page showed. Also what `readFormBody` throws.
 */
export async function readOrganizationForm(
  c: AppContext,
  session: MemberActor,
): Promise<Readonly<Record<string, string>>> {
  const form = await readFormBody(c);
  const { name, organizationId } = session.organization;
  if (form["organizationId"] !== undefined && form["organizationId"] !== organizationId) {
    throw new AppError(
      "organization_switched",
      `You have switched to ${name} since this page was opened. Nothing was changed.`,
    );
  }
  return form;
}

/** Somebody who is signed in, in an organization. */
export type MemberActor = SessionActor & { readonly organization: Membership };

/**
 * @returns A handler like {@linkcode signedIn} for pages of the active organization: people who belong to none are led to
 *   where they can make one.
 */
export function inOrganization(
  parts: AppParts,
  handler: (c: AppContext, session: MemberActor) => Response | Promise<Response>,
): (c: AppContext) => Promise<Response> {
  return signedIn(parts, (c, session) => {
    const { organization } = session;
    if (organization !== null) return handler(c, { ...session, organization });
    return redirect(c, organizationsHome, { frameChanges: true });
  });
}
