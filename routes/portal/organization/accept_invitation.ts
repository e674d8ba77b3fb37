// The page that an invitation's link leads to, and what its forms do. A GET uses nothing up: mail scanners open links.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { AppError, type ErrorCode } from "../../../domain/errors.ts";
import type { Session } from "../../../domain/sign_in/session.ts";
import { signUp } from "../../../services/account/sign_up.ts";
import {
  acceptInvitation,
  findInvitationOffer,
  type InvitationOffer,
} from "../../../services/organization/invitations.ts";
import {
  acceptInvitationPage,
  endedInvitationPage,
  type Invitee,
} from "../../../views/organization/accept_invitation.tsx";
import type { Assets } from "../../../views/layout.tsx";
import { check } from "../../schemas/check.ts";
import { signUpSchema } from "../../schemas/sign_in.ts";
import { readFormBody } from "../../body.ts";
import type { App, AppContext, AppParts } from "../../env.ts";
import { beginSession, endSessions, findSession, sessionActor } from "../../session.ts";
import { formError } from "../errors.ts";
import { gateFrame, home, redirect, sendPage } from "../page.ts";

const path = "/invitations/accept";
const joined = "/portal/members?done=joined";

interface Shown {
  readonly form?: { name: string; fieldErrors: Readonly<Record<string, string>> };
  readonly error?: string | null;
  readonly status?: ContentfulStatusCode;
}

/** Refusals that the page explains by what it shows to whoever looks. */
const explained: ReadonlySet<ErrorCode> = new Set(["invalid_token", "wrong_account", "email_unverified"]);

/** Mounts `/invitations/accept`, `/invitations/sign-up` and `/invitations/sign-out`. */
export function portalAcceptInvitationRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { config, services } = parts;
  const frame = gateFrame(parts, assets);

  async function show(c: AppContext, token: string, given: Shown = {}): Promise<Response> {
    hideAddress(c);
    const [offer, session] = await Promise.all([findInvitationOffer(services, token), findSession(c, parts)]);
    if (offer === null) {
      const way = session === null
        ? { href: "/sign-in", label: "Go to sign-in" }
        : { href: "/portal", label: "Go to the portal" };
      return await sendPage(c, endedInvitationPage({ frame, home: way }), 404);
    }
    const invitee = inviteeOf(offer, { session, token });
    const shown = invitee.kind === "signUp" && given.form !== undefined
      ? { ...invitee, ...given.form }
      : invitee;
    const page = acceptInvitationPage({ frame, token, offer, invitee: shown, error: given.error ?? null });
    return await sendPage(c, page, given.status);
  }

  function inviteeOf(
    offer: InvitationOffer,
    { session, token }: { session: Session | null; token: string },
  ): Invitee {
    if (session !== null) {
      const { email, emailVerified } = session.user;
      if (email !== offer.email) return { kind: "other", email };
      const sendsMail = services.mail.mode !== "none";
      return emailVerified ? { kind: "invited" } : { kind: "unverified", sendsMail };
    }
    if (offer.hasAccount) {
      return { kind: "signIn", href: `/sign-in?return_to=${encodeURIComponent(addressOf(token))}` };
    }
    return config.signUp === "closed" ? { kind: "closed" } : { kind: "signUp", name: "", fieldErrors: {} };
  }

  app.get(path, (c) => show(c, c.req.query("token") ?? ""));

  app.post(path, async (c) => {
    hideAddress(c);
    const { token = "" } = await readFormBody(c);
    const session = await findSession(c, parts);
    if (session === null) return await show(c, token, { status: 401 });
    try {
      await acceptInvitation(services, sessionActor(c, session), token);
      return redirect(c, joined);
    } catch (error) {
      if (error instanceof AppError && explained.has(error.code)) {
        return await show(c, token, { status: error.status as ContentfulStatusCode });
      }
      const { message, status } = formError(c, error);
      return await show(c, token, { error: message, status });
    }
  });

  app.post("/invitations/sign-up", async (c) => {
    hideAddress(c);
    const { token = "", name = "", password = "" } = await readFormBody(c);
    try {
      const input = check(signUpSchema, { name, password, invitationToken: token }, "body");
      await beginSession(
        c,
        parts,
        (client) => signUp(services, client, input),
      );
      return redirect(c, joined);
    } catch (error) {
      if (error instanceof AppError && explained.has(error.code)) {
        return await show(c, token, { status: error.status as ContentfulStatusCode });
      }
      const { message, fields, status } = formError(c, error);
      return await show(c, token, { form: { name, fieldErrors: fields }, error: message, status });
    }
  });

  app.post("/invitations/sign-out", async (c) => {
    hideAddress(c);
    const { token = "" } = await readFormBody(c);
    await endSessions(c, parts);
    return redirect(c, addressOf(token));
  });

  // Whoever loads the address of a form again.
  for (const form of ["sign-up", "sign-out"]) app.get(`/invitations/${form}`, (c) => redirect(c, home));
}

/** @returns The address of the page, as in the mail. */
function addressOf(token: string): string {
  return `${path}?token=${encodeURIComponent(token)}`;
}

/** The token in the address goes to nobody else. */
function hideAddress(c: AppContext): void {
  c.set("responseHeaders", [["referrer-policy", "same-origin"]]);
}
