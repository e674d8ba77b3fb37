// The page that asks for the password, a passkey or a provider again, and then continues to the page that required it.
import type { SessionActor } from "../../domain/access/actor.ts";
import { usableProviders } from "../../domain/people/identity.ts";
import { isAuthorizePath, isConsolePath, portalReturnTo } from "../../domain/people/return_to.ts";
import { hasOperatorSignIn, hasRecentAuthentication } from "../../services/access/mod.ts";
import {
  beginConfirmation,
  getSignInMethods,
  getTwoStepStatus,
  listPasskeys,
  reauthenticate,
  reauthenticateWithPasskey,
} from "../../services/people/mod.ts";
import { confirmPasswordPage } from "../../views/people/confirm_password.tsx";
import { readFormBody } from "../body.ts";
import type { App, AppContext } from "../env.ts";
import { type FormState, mountForm, mountTarget } from "../portal/form.ts";
import { portalFrame, type PortalParts, redirect, sendPage, signedInRoutes } from "../portal/page.ts";
import { goToProvider } from "./go_to_provider.ts";
import { parsePasskeyResponse } from "./second_step_pages.ts";
import { continueTo } from "./sign_in_pages.ts";

const path = "/portal/confirm-password";
const home = "/portal/account";

export function portalConfirmPasswordRoutes(app: App, parts: PortalParts): void {
  const { config, services } = parts;
  const returnTo = (text: string | undefined) => {
    const target = portalReturnTo(text, config.baseUrl);
    return target === null || target.startsWith(path) ? home : target;
  };

  const targetOf = (c: AppContext, { input = c.req.query() }: FormState) => returnTo(input["return_to"]);
  const routes = signedInRoutes(app, parts);

  async function show(c: AppContext, session: SessionActor, form: FormState): Promise<Response> {
    const target = targetOf(c, form);
    const [{ totp }, allPasskeys, { hasPassword, identities }] = await Promise.all([
      getTwoStepStatus(services, session),
      listPasskeys(services, session),
      getSignInMethods(services, session),
    ]);
    const passkeys = allPasskeys.filter(({ otherHost }) => otherHost === null);
    const isForConsole = isConsolePath(target);
    const hasSecondFactor = hasOperatorSignIn(session, services.clock());
    const needsPasskey = isForConsole && !hasSecondFactor && !totp.enabled && passkeys.length > 0;
    const view = confirmPasswordPage({
      frame: portalFrame(parts, session),
      returnTo: target,
      back: sectionOf(target, hasSecondFactor),
      isForConsole,
      isForApplication: isAuthorizePath(target),
      asksForPassword: !needsPasskey && hasPassword,
      asksForCode: totp.enabled,
      hasPasskeys: passkeys.length > 0,
      hasPassword,
      providers: needsPasskey ? [] : usableProviders(identities),
      form,
    });
    return await sendPage(c, view, form.status);
  }

  mountForm(routes, {
    path,
    show(c, session, form) {
      const target = targetOf(c, form);
      const now = services.clock();
      const isConfirmed = hasRecentAuthentication(session, now) &&
        (!isConsolePath(target) || hasOperatorSignIn(session, now));
      if (form.input === undefined && isConfirmed && c.req.query("again") !== "1") return redirect(c, target);
      return show(c, session, form);
    },
    async submit(c, session, { password = "", code, return_to }) {
      await reauthenticate(services, session, { password, code: code?.slice(0, 100) });
      return continueTo(c, returnTo(return_to));
    },
    fieldOf: { invalid_credentials: "password" },
  });

  mountTarget(routes, {
    path: `${path}/passkey`,
    show,
    async submit(c, session, { response, return_to }) {
      await reauthenticateWithPasskey(services, session, parsePasskeyResponse(response));
      return continueTo(c, returnTo(return_to));
    },
  });

  routes.post(`${path}/provider`, async (c, session) => {
    const { provider = "", return_to } = await readFormBody(c);
    const visit = { provider, returnTo: returnTo(return_to) };
    return await goToProvider(
      c,
      parts,
      (browserTokens) => beginConfirmation(services, session, { ...visit, browserTokens }),
    );
  });

  // Reloading the page of a rejected passkey shows the form again.
  for (const way of ["passkey", "provider"]) routes.get(`${path}/${way}`, (c) => redirect(c, path));
}

/** Returns the sidebar's page that a path belongs to, which never asks for the password. */
function sectionOf(path: string, mayOpenConsole: boolean): string {
  if (isConsolePath(path) && !mayOpenConsole) return home;
  return /^\/(portal|operator)\/[^/?#]+/.exec(path)?.[0] ?? home;
}
