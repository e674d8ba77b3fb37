// The page that asks for the password once more, and leads on to where it was asked for.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { SessionActor } from "../../../domain/actor.ts";
import { portalReturnTo } from "../../../domain/sign_in/return_to.ts";
import { confirmPasswordPage } from "../../../views/sign_in/confirm_password.tsx";
import type { Assets } from "../../../views/layout.tsx";
import { AppError } from "../../../domain/errors.ts";
import { readFormBody } from "../../body.ts";
import type { App, AppContext, AppParts } from "../../env.ts";
import { formError } from "../errors.ts";
import { portalFrame, reauthenticationIfNeeded, redirect, sendPage, signedIn } from "../page.ts";

const path = "/portal/confirm-password";
const home = "/portal/account";

/** Mounts `/portal/confirm-password`. */
export function portalConfirmPasswordRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { config, services } = parts;
  const returnTo = (text: string | undefined) => {
    const target = portalReturnTo(text, config.baseUrl);
    return target === null || target.startsWith(path) ? home : target;
  };

  async function show(
    c: AppContext,
    session: SessionActor,
    shown: { target: string; error: string | null; fieldErrors: Readonly<Record<string, string>> },
    status?: ContentfulStatusCode,
  ): Promise<Response> {
    const { target: returnTo, ...refused } = shown;
    const { totp } = await services.twoStep.getTwoStep(session);
    const frame = portalFrame(parts, assets, session);
    const back = sectionOf(returnTo);
    const view = confirmPasswordPage({ frame, returnTo, back, asksForCode: totp.enabled, ...refused });
    return await sendPage(c, view, status);
  }

  app.get(
    path,
    signedIn(parts, async (c, session) => {
      const target = returnTo(c.req.query("return_to"));
      // Going back to this page, or opening it once more, asks for nothing that was just given.
      const isAsked = c.req.query("again") === "1" || reauthenticationIfNeeded(c, parts, session) !== null;
      if (!isAsked) return redirect(c, target);
      return await show(c, session, { target, error: null, fieldErrors: {} });
    }),
  );

  app.post(
    path,
    signedIn(parts, async (c, session) => {
      const form = await readFormBody(c);
      const target = returnTo(form["return_to"]);
      try {
        const { password = "", code } = form;
        await services.proofs.prove(session, { password, code: code?.slice(0, 100) });
        return redirect(c, target);
      } catch (error) {
        const { message, fields, status } = formError(c, error);
        const isWrong = error instanceof AppError && error.code === "invalid_credentials";
        const fieldErrors = isWrong ? { password: error.message } : fields;
        return await show(c, session, { target, error: isWrong ? null : message, fieldErrors }, status);
      }
    }),
  );
}

/** @returns The page that the sidebar has for a path: it never asks for the password. */
function sectionOf(path: string): string {
  return /^\/portal\/[^/?#]+/.exec(path)?.[0] ?? home;
}
