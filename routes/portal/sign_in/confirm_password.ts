// The page that asks for the password again, and then goes on to the page that required it.
import { isConsolePath, portalReturnTo } from "../../../domain/sign_in/return_to.ts";
import { hasOperatorSignIn } from "../../../services/operator/operator_access.ts";
import { hasRecentAuthentication, reauthenticate } from "../../../services/sign_in/recent_authentication.ts";
import { getTwoStepStatus } from "../../../services/sign_in/two_step.ts";
import type { FormErrors } from "../../../views/components/form.tsx";
import { confirmPasswordPage } from "../../../views/sign_in/confirm_password.tsx";
import type { App } from "../../env.ts";
import { type FormState, mountForm } from "../form.ts";
import { portalFrame, type PortalParts, redirect, sendPage, signedInRoutes } from "../page.ts";

const path = "/portal/confirm-password";
const home = "/portal/account";

/** Mounts `/portal/confirm-password`. */
export function portalConfirmPasswordRoutes(app: App, parts: PortalParts): void {
  const { config, services } = parts;
  const returnTo = (text: string | undefined) => {
    const target = portalReturnTo(text, config.baseUrl);
    return target === null || target.startsWith(path) ? home : target;
  };

  mountForm(signedInRoutes(app, parts), {
    path,
    async show(c, session, { input, ...state }) {
      const target = returnTo(input === undefined ? c.req.query("return_to") : input["return_to"]);
      const isRecent = hasRecentAuthentication(session, services.clock());
      if (input === undefined && isRecent && c.req.query("again") !== "1") return redirect(c, target);
      const { totp } = await getTwoStepStatus(services, session);
      const view = confirmPasswordPage({
        frame: portalFrame(parts, session),
        returnTo: target,
        back: sectionOf(target, hasOperatorSignIn(session, services.clock())),
        isForConsole: isConsolePath(target),
        asksForCode: totp.enabled,
        rejected: aboutPassword(state),
      });
      return await sendPage(c, view, state.status);
    },
    async submit(c, session, { password = "", code, return_to }) {
      await reauthenticate(services, session, { password, code: code?.slice(0, 100) });
      return redirect(c, returnTo(return_to));
    },
  });
}

/** @returns The errors of a form with the field `password`. */
export function aboutPassword({ code, message, fields }: FormState): FormErrors {
  return code === "invalid_credentials" && message !== null
    ? { message: null, fields: { password: message } }
    : { message, fields };
}

/** @returns The page in the sidebar that a path belongs to. It never asks for the password. */
function sectionOf(path: string, mayOpenConsole: boolean): string {
  if (isConsolePath(path) && !mayOpenConsole) return home;
  return /^\/(portal|operator)\/[^/?#]+/.exec(path)?.[0] ?? home;
}
