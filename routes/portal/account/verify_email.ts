// The page behind links that confirm an email address. It takes a session of the same account and a click on its button.
import type { Session } from "../../../domain/access/session.ts";
import { findEmailLink, verifyEmail } from "../../../services/people/mod.ts";
import { verifyEmailPage, type VerifyEmailState } from "../../../views/people/verify_email.tsx";
import type { App } from "../../env.ts";
import { sessionActor } from "../../session.ts";
import { mountLinkPage } from "../link_page.ts";
import { gateFrame, type PortalParts, redirect } from "../page.ts";

const path = "/verify-email";

export function portalVerifyEmailRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  const frame = gateFrame(parts);

  async function stateOf(token: string, session: Session | null): Promise<VerifyEmailState> {
    const link = await findEmailLink(services, token);
    if (link === null) {
      const confirmed = session?.user.emailVerified ? session.user.email : null;
      return { state: "dead", isSignedIn: session !== null, confirmed };
    }
    const { purpose, email, userId } = link;
    if (session === null) return { state: "signed-out", purpose, email, signInHref: signInHref(token) };
    return session.user.id === userId
      ? { state: "ready", purpose, email, token }
      : { state: "other", purpose, email, signedInAs: session.user.email };
  }

  mountLinkPage<VerifyEmailState>(app, parts, {
    path,
    view: (state) => verifyEmailPage({ frame, ...state }),
    stateOf,
    async use(c, token, session) {
      if (session === null) return redirect(c, signInHref(token));
      const { purpose } = await verifyEmail(services, sessionActor(c, session), token);
      return redirect(c, `/portal/account?done=${purpose === "verify_email" ? "confirmed" : "changed"}`);
    },
    async stateAfter({ code }, token, session) {
      if (code === "email_taken") return { state: "taken" };
      return code === "invalid_token" || code === "wrong_account" ? await stateOf(token, session) : null;
    },
  });
}

/** The only address that contains the token: the sign-in page, which returns here. */
function signInHref(token: string): string {
  return `/sign-in?return_to=${encodeURIComponent(`${path}?token=${encodeURIComponent(token)}`)}`;
}
