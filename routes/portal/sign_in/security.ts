// The security page of the account: the password, and the list of sessions.
import type { SessionActor } from "../../../domain/actor.ts";
import { changePassword } from "../../../services/account/passwords.ts";
import { listPasskeys } from "../../../services/sign_in/passkeys.ts";
import { endOtherSessions, endSession, listSessions } from "../../../services/sign_in/sessions.ts";
import { getTwoStepStatus } from "../../../services/sign_in/two_step.ts";
import { securityPage } from "../../../views/sign_in/security.tsx";
import { readFormBody } from "../../body.ts";
import { setSessionCookie } from "../../cookies.ts";
import type { App, AppContext } from "../../env.ts";
import { deviceNames } from "./device_name.ts";
import { type FormError, formError } from "../errors.ts";
import { flashOf } from "../form.ts";
import { portalFrame, type PortalParts, redirect, sendPage, signedInRoutes } from "../page.ts";

const path = "/portal/account/security";
const flashes = {
  "password": "Password changed. You're signed out everywhere else.",
  "ended": "Session ended.",
  "others-ended": "You're signed out everywhere else.",
};

export function portalSecurityRoutes(app: App, parts: PortalParts): void {
  const { get, post } = signedInRoutes(app, parts);
  const { config, services } = parts;

  async function show(c: AppContext, session: SessionActor, rejected?: FormError): Promise<Response> {
    const [all, { totp, recoveryCodesLeft }, { length: passkeyCount }] = await Promise.all([
      listSessions(services, session),
      getTwoStepStatus(services, session),
      listPasskeys(services, session),
    ]);
    const sessions = [...all.filter(({ current }) => current), ...all.filter(({ current }) => !current)];
    const devices = await deviceNames(sessions.map(({ userAgent }) => userAgent));
    const view = securityPage({
      frame: portalFrame(parts, session),
      sessions: sessions.map((one, index) => ({ ...one, device: devices[index] ?? "" })),
      twoStep: { isOn: totp.enabled, recoveryCodesLeft },
      passkeyCount,
      rejected,
      flash: flashOf(c, flashes),
    });
    return sendPage(c, view, rejected?.status);
  }

  get(path, (c, session) => show(c, session));
  // Reloading the page of a rejected form shows the form.
  app.get(`${path}/password`, (c) => redirect(c, path));

  post(`${path}/password`, async (c, session) => {
    const { currentPassword = "", newPassword = "" } = await readFormBody(c);
    try {
      const { token } = await changePassword(services, session, { currentPassword, newPassword });
      setSessionCookie(c, config, { token });
      return redirect(c, `${path}?done=password`);
    } catch (error) {
      return await show(c, session, formError(c, error));
    }
  });

  post(`${path}/sessions/:id/end`, async (c, session) => {
    await endSession(services, session, c.req.param("id") ?? "");
    return redirect(c, `${path}?done=ended`);
  });

  post(`${path}/sessions/end-others`, async (c, session) => {
    await endOtherSessions(services, session);
    return redirect(c, `${path}?done=others-ended`);
  });
}
