// The page behind links that confirm an email address. It takes a session of the same account and a click on its button.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { AppError } from "../../../domain/errors.ts";
import type { Session } from "../../../domain/sign_in/session.ts";
import { findEmailLink, verifyEmail } from "../../../services/account/email_addresses.ts";
import { verifyEmailPage, type VerifyEmailState } from "../../../views/account/verify_email.tsx";
import type { Assets } from "../../../views/layout.tsx";
import { readFormBody } from "../../body.ts";
import type { App, AppParts } from "../../env.ts";
import { findSession, sessionActor } from "../../session.ts";
import { gateFrame, redirect, sendPage, withoutReferrer } from "../page.ts";

const path = "/verify-email";

/** Mounts `/verify-email`. */
export function portalVerifyEmailRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { services } = parts;
  const frame = gateFrame(parts, assets);

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

  app.get(
    path,
    withoutReferrer(async (c) => {
      const state = await stateOf(c.req.query("token") ?? "", await findSession(c, parts));
      return await sendPage(c, verifyEmailPage({ frame, ...state }), state.state === "dead" ? 404 : 200);
    }),
  );

  app.post(
    path,
    withoutReferrer(async (c) => {
      const { token = "" } = await readFormBody(c);
      const session = await findSession(c, parts);
      if (session === null) return redirect(c, signInHref(token));
      try {
        const { purpose } = await verifyEmail(services, sessionActor(c, session), token);
        return redirect(c, `/portal/account?done=${purpose === "verify_email" ? "confirmed" : "changed"}`);
      } catch (error) {
        // The page itself explains these.
        const isExplained = error instanceof AppError &&
          ["invalid_token", "wrong_account", "email_taken"].includes(error.code);
        if (!isExplained) throw error;
        const state = error.code === "email_taken"
          ? { state: "taken" } as const
          : await stateOf(token, session);
        return await sendPage(c, verifyEmailPage({ frame, ...state }), error.status as ContentfulStatusCode);
      }
    }),
  );
}

/** The only address that contains the token: the sign-in page, which returns here. */
function signInHref(token: string): string {
  return `/sign-in?return_to=${encodeURIComponent(`${path}?token=${encodeURIComponent(token)}`)}`;
}
