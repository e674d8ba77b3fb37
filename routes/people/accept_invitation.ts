// The page of an invitation's link, and its forms. A GET does not use the invitation up: mail scanners open links.
import type { ErrorCode } from "../../domain/errors.ts";
import type { InvitationOffer } from "../../domain/organization.ts";
import type { Session } from "../../domain/access/session.ts";
import {
  acceptInvitation,
  checkNewPassword,
  findInvitationOffer,
  signUp,
} from "../../services/people/mod.ts";
import {
  acceptInvitationPage,
  endedInvitationPage,
  type Invitee,
} from "../../views/people/accept_invitation.tsx";
import { readFormBody } from "../body.ts";
import type { App, AppContext } from "../env.ts";
import { check, checkTogether } from "../schemas/check.ts";
import { signUpSchema } from "./schemas/sign_in.ts";
import { beginSession, findSession, sessionActor } from "../session.ts";
import { endSessions } from "../sign_out.ts";
import { type FormState, newForm, submitForm } from "../portal/form.ts";
import { providerOffer } from "./provider_offer.ts";
import { gateFrame, home, type PortalParts, redirect, sendPage } from "../portal/page.ts";

const path = "/invitations/accept";
/** The page after joining. */
export const invitationJoined = "/portal/members?done=joined";
const explained: ReadonlySet<ErrorCode> = new Set(["invalid_token", "wrong_account", "email_unverified"]);

export function portalAcceptInvitationRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;

  async function show(c: AppContext, token: string, state: FormState & { name?: string }): Promise<Response> {
    hideAddress(c);
    const frame = gateFrame(parts);
    const [offer, session, providers] = await Promise.all([
      findInvitationOffer(services, token),
      findSession(c, parts),
      providerOffer(c, parts),
    ]);
    if (offer === null) {
      const way = session === null
        ? { href: "/sign-in", label: "Go to sign-in" }
        : { href: "/portal", label: "Go to the portal" };
      return await sendPage(c, endedInvitationPage({ frame, home: way }), 404);
    }
    const { name = "", fields, message: error, status } = state;
    const invitee = inviteeOf(offer, { parts, session, token });
    const shown = invitee.kind === "signUp" ? { ...invitee, name, fields } : invitee;
    return await sendPage(
      c,
      acceptInvitationPage({ frame, token, offer, invitee: shown, providers, error }),
      status,
    );
  }

  app.get(path, (c) => show(c, c.req.query("token") ?? "", newForm));

  app.post(path, async (c) => {
    hideAddress(c);
    const { token = "" } = await readFormBody(c);
    const session = await findSession(c, parts);
    if (session === null) return await show(c, token, { ...newForm, status: 401 });
    return await submitForm(c, {
      async submit() {
        await acceptInvitation(services, sessionActor(c, session), token);
        return redirect(c, invitationJoined);
      },
      showAgain: (state) => show(c, token, state),
      explained,
    });
  });

  app.post("/invitations/sign-up", async (c) => {
    hideAddress(c);
    const { token = "", name = "", password = "" } = await readFormBody(c);
    return await submitForm(c, {
      async submit() {
        const input = await checkTogether(
          () => check(signUpSchema, { name, password, invitationToken: token }, "body"),
          () => checkNewPassword(services, password, { email: "", name }),
        );
        await beginSession(c, parts, (client) => signUp(services, client, input));
        return redirect(c, invitationJoined);
      },
      showAgain: (state) => show(c, token, { ...state, name }),
      explained,
    });
  });

  app.post("/invitations/sign-out", async (c) => {
    hideAddress(c);
    const { token = "" } = await readFormBody(c);
    await endSessions(c, parts);
    return redirect(c, invitationAddress(token));
  });

  // For people who reload the address of a form.
  for (const form of ["sign-up", "sign-out"]) app.get(`/invitations/${form}`, (c) => redirect(c, home));
}

function inviteeOf(
  offer: InvitationOffer,
  { parts, session, token }: { parts: PortalParts; session: Session | null; token: string },
): Invitee {
  if (session !== null) {
    const { email, emailVerified } = session.user;
    if (email !== offer.email) return { kind: "other", email };
    const sendsMail = parts.services.mail.mode !== "none";
    return emailVerified ? { kind: "invited" } : { kind: "unverified", sendsMail };
  }
  if (offer.hasAccount) {
    return { kind: "signIn", href: `/sign-in?return_to=${encodeURIComponent(invitationAddress(token))}` };
  }
  return parts.config.signUp === "closed" ? { kind: "closed" } : { kind: "signUp", name: "", fields: {} };
}

export function invitationAddress(token: string): string {
  return `${path}?token=${encodeURIComponent(token)}`;
}

/** Returns the token in an {@linkcode invitationAddress}; undefined for other addresses. */
export function invitationTokenIn(address: string | null): string | undefined {
  const [page, query] = address?.split("?") ?? [];
  return page === path ? new URLSearchParams(query).get("token") ?? undefined : undefined;
}

/** The token in the address must not reach other sites. */
function hideAddress(c: AppContext): void {
  c.set("responseHeaders", [["referrer-policy", "same-origin"]]);
}
