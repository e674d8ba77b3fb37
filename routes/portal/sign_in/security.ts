// The security page of the account: the password, and the list of sessions.
import type { SessionActor } from "../../../domain/access/actor.ts";
import {
  changePassword,
  endOtherSessions,
  endSession,
  getSignInMethods,
  getTwoStepStatus,
  listPasskeys,
  listSessions,
} from "../../../services/people/mod.ts";
import { firstPasswordPage } from "../../../views/people/identities.tsx";
import { firstPasswordPath, securityPage } from "../../../views/people/security.tsx";
import { securityLink } from "../../../views/people/two_step.tsx";
import { setSessionCookie } from "../../cookies.ts";
import type { App, AppContext } from "../../env.ts";
import { deviceNames } from "./device_name.ts";
import { mountFormPage, ownPages } from "../noun_pages.ts";
import { flashOf, type FormState, mountTarget } from "../form.ts";
import { portalFrame, type PortalParts, redirect, sendPage, signedInRoutes } from "../page.ts";

const path = "/portal/account/security";
const flashes = {
  "password": "Password changed. You're signed out everywhere else.",
  "first-password": "Password set. You're signed out everywhere else.",
  "connected": "Connected. You can sign in with it from now on.",
  "disconnected": "Disconnected. It can no longer be used to sign in.",
  "ended": "Session ended.",
  "others-ended": "You're signed out everywhere else.",
};

export function portalSecurityRoutes(app: App, parts: PortalParts): void {
  const routes = signedInRoutes(app, parts);
  const { config, services } = parts;

  async function show(c: AppContext, session: SessionActor, form?: FormState): Promise<Response> {
    const [all, { totp, recoveryCodesLeft }, { length: passkeyCount }, methods] = await Promise.all([
      listSessions(services, session),
      getTwoStepStatus(services, session),
      listPasskeys(services, session),
      getSignInMethods(services, session),
    ]);
    const sessions = [...all.filter(({ current }) => current), ...all.filter(({ current }) => !current)];
    const devices = await deviceNames(sessions.map(({ userAgent }) => userAgent));
    const view = securityPage({
      frame: portalFrame(parts, session),
      sessions: sessions.map((one, index) => ({ ...one, device: devices[index] ?? "" })),
      twoStep: { isOn: totp.enabled, recoveryCodesLeft },
      passkeyCount,
      methods,
      form,
      flash: flashOf(c, flashes),
    });
    return sendPage(c, view, form?.status);
  }

  routes.get(path, (c, session) => show(c, session));
  // Reloading the page of a rejected form shows the form.
  app.get(`${path}/password`, (c) => redirect(c, path));

  mountTarget(routes, {
    path: `${path}/password`,
    show,
    async submit(c, session, { currentPassword = "", newPassword = "" }) {
      const { token } = await changePassword(services, session, { currentPassword, newPassword });
      setSessionCookie(c, config, { token });
      return redirect(c, `${path}?done=password`);
    },
  });

  mountFormPage(ownPages(app, parts, { place: "security", back: securityLink }), {
    path: firstPasswordPath,
    async show(c, form, session) {
      const { hasPassword } = await getSignInMethods(services, session);
      return hasPassword ? redirect(c, path) : firstPasswordPage(form);
    },
    async submit(c, session, { newPassword = "" }) {
      const { token } = await changePassword(services, session, { newPassword });
      setSessionCookie(c, config, { token });
      return `${path}?done=first-password`;
    },
    reauthenticateFor: () => firstPasswordPath,
  });

  routes.post(`${path}/sessions/:id/end`, async (c, session) => {
    await endSession(services, session, c.req.param("id") ?? "");
    return redirect(c, `${path}?done=ended`);
  });

  routes.post(`${path}/sessions/end-others`, async (c, session) => {
    await endOtherSessions(services, session);
    return redirect(c, `${path}?done=others-ended`);
  });
}
