// The page that asks for the password again, and then goes on to the page that required it.
import type { SessionActor } from "../../../domain/actor.ts";
import { AppError } from "../../../domain/errors.ts";
import { portalReturnTo } from "../../../domain/sign_in/return_to.ts";
import { hasRecentAuthentication, reauthenticate } from "../../../services/sign_in/recent_authentication.ts";
import { getTwoStepStatus } from "../../../services/sign_in/two_step.ts";
import { confirmPasswordPage } from "../../../views/sign_in/confirm_password.tsx";
import { readFormBody } from "../../body.ts";
import type { App, AppContext } from "../../env.ts";
import { type FormError, formError } from "../errors.ts";
import { portalFrame, type PortalParts, redirect, sendPage, signedInRoutes } from "../page.ts";

const path = "/portal/confirm-password";
const home = "/portal/account";

/** Mounts `/portal/confirm-password`. */
export function portalConfirmPasswordRoutes(app: App, parts: PortalParts): void {
  const { get, post } = signedInRoutes(app, parts);
  const { config, services } = parts;
  const returnTo = (text: string | undefined) => {
    const target = portalReturnTo(text, config.baseUrl);
    return target === null || target.startsWith(path) ? home : target;
  };

  async function show(
    c: AppContext,
    session: SessionActor,
    { returnTo, rejected }: { returnTo: string; rejected?: FormError },
  ): Promise<Response> {
    const { totp } = await getTwoStepStatus(services, session);
    const view = confirmPasswordPage({
      frame: portalFrame(parts, session),
      returnTo,
      back: sectionOf(returnTo),
      asksForCode: totp.enabled,
      rejected,
    });
    return await sendPage(c, view, rejected?.status);
  }

  get(path, async (c, session) => {
    const target = returnTo(c.req.query("return_to"));
    const isRecent = hasRecentAuthentication(session, services.clock());
    return !isRecent || c.req.query("again") === "1"
      ? await show(c, session, { returnTo: target })
      : redirect(c, target);
  });

  post(path, async (c, session) => {
    const { password = "", code, return_to } = await readFormBody(c);
    const target = returnTo(return_to);
    try {
      await reauthenticate(services, session, { password, code: code?.slice(0, 100) });
      return redirect(c, target);
    } catch (error) {
      return await show(c, session, { returnTo: target, rejected: passwordFormError(c, error) });
    }
  });
}

/** @returns The errors of a form with the field `password`. @throws What `formError` throws. */
export function passwordFormError(c: AppContext, error: unknown): FormError {
  const rejected = formError(c, error);
  return error instanceof AppError && error.code === "invalid_credentials"
    ? { ...rejected, message: null, fields: { password: error.message } }
    : rejected;
}

/** @returns The page in the sidebar that a path belongs to. It never asks for the password. */
function sectionOf(path: string): string {
  return /^\/portal\/[^/?#]+/.exec(path)?.[0] ?? home;
}
