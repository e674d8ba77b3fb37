// The page that asks for the password or a passkey again, and then goes on to the page that required it.
import type { SessionActor } from "../../../domain/actor.ts";
import { isConsolePath, portalReturnTo } from "../../../domain/sign_in/return_to.ts";
import { hasOperatorSignIn } from "../../../services/operator/operator_access.ts";
import { listPasskeys } from "../../../services/sign_in/passkeys.ts";
import {
  hasRecentAuthentication,
  reauthenticate,
  reauthenticateWithPasskey,
} from "../../../services/sign_in/recent_authentication.ts";
import { getTwoStepStatus } from "../../../services/sign_in/two_step.ts";
import type { FormErrors } from "../../../views/components/form.tsx";
import { confirmPasswordPage } from "../../../views/sign_in/confirm_password.tsx";
import type { App, AppContext } from "../../env.ts";
import { type FormState, mountForm, newForm, submitForm } from "../form.ts";
import { portalFrame, type PortalParts, readForm, redirect, sendPage, signedInRoutes } from "../page.ts";
import { passkeyAnswer } from "./second_step.ts";

const path = "/portal/confirm-password";
const home = "/portal/account";

export function portalConfirmPasswordRoutes(app: App, parts: PortalParts): void {
  const { config, services } = parts;
  const returnTo = (text: string | undefined) => {
    const target = portalReturnTo(text, config.baseUrl);
    return target === null || target.startsWith(path) ? home : target;
  };

  const routes = signedInRoutes(app, parts);

  async function show(c: AppContext, session: SessionActor, { target, ...state }: Shown): Promise<Response> {
    const [{ totp }, passkeys] = await Promise.all([
      getTwoStepStatus(services, session),
      listPasskeys(services, session),
    ]);
    const isForConsole = isConsolePath(target);
    const hasSecondFactor = hasOperatorSignIn(session, services.clock());
    const needsPasskey = isForConsole && !hasSecondFactor && !totp.enabled && passkeys.length > 0;
    const view = confirmPasswordPage({
      frame: portalFrame(parts, session),
      returnTo: target,
      back: sectionOf(target, hasSecondFactor),
      isForConsole,
      asksForPassword: !needsPasskey,
      asksForCode: totp.enabled,
      hasPasskeys: passkeys.length > 0,
      rejected: aboutPassword(state),
    });
    return await sendPage(c, view, state.status);
  }

  mountForm(routes, {
    path,
    show(c, session, { input, ...state }) {
      const target = returnTo(input === undefined ? c.req.query("return_to") : input["return_to"]);
      const now = services.clock();
      const isConfirmed = hasRecentAuthentication(session, now) &&
        (!isConsolePath(target) || hasOperatorSignIn(session, now));
      if (input === undefined && isConfirmed && c.req.query("again") !== "1") return redirect(c, target);
      return show(c, session, { ...state, target });
    },
    async submit(c, session, { password = "", code, return_to }) {
      await reauthenticate(services, session, { password, code: code?.slice(0, 100) });
      return redirect(c, returnTo(return_to));
    },
  });

  routes.post(`${path}/passkey`, async (c, session) => {
    const { response, return_to } = await readForm(c, session);
    const target = returnTo(return_to);
    return await submitForm(c, {
      async submit() {
        await reauthenticateWithPasskey(services, session, passkeyAnswer(response));
        return redirect(c, target);
      },
      // Not beside the field of the password.
      showAgain: ({ message, status }) => show(c, session, { ...newForm, message, status, target }),
    });
  });
  // Reloading the page of a rejected passkey shows the form again.
  routes.get(`${path}/passkey`, (c) => redirect(c, path));
}

type Shown = FormState & { readonly target: string };

/** Shows the error of wrong credentials at the field `password`. */
export function aboutPassword({ code, message, fields }: FormState): FormErrors {
  return code === "invalid_credentials" && message !== null
    ? { message: null, fields: { password: message } }
    : { message, fields };
}

/** Returns the sidebar's page that a path belongs to, which never asks for the password. */
function sectionOf(path: string, mayOpenConsole: boolean): string {
  if (isConsolePath(path) && !mayOpenConsole) return home;
  return /^\/(portal|operator)\/[^/?#]+/.exec(path)?.[0] ?? home;
}
