// The page of the account's security: changing the password, and the list of sessions.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { SessionActor } from "../../../domain/actor.ts";
import { changePassword } from "../../../services/account/passwords.ts";
import type { Assets } from "../../../views/layout.tsx";
import { securityPage } from "../../../views/sign_in/security.tsx";
import { readFormBody } from "../../body.ts";
import { setSessionCookie } from "../../cookies.ts";
import type { App, AppContext, AppParts } from "../../env.ts";
import { deviceWords } from "./device_name.ts";
import { formError } from "../errors.ts";
import { portalFrame, redirect, sendPage, signedIn } from "../page.ts";

const path = "/portal/account/security";
const flashes: ReadonlyMap<string, string> = new Map([
  ["password", "Your password is changed. You are signed out everywhere else."],
  ["ended", "That place is signed out. It is refused from its next request on."],
  ["others-ended", "You are signed out everywhere else."],
]);

/** Mounts `/portal/account/security`. */
export function portalSecurityRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { config, services } = parts;
  const { sessions, twoStep, passkeys } = services;

  async function show(
    c: AppContext,
    session: SessionActor,
    refused:
      | { error: string | null; fieldErrors: Record<string, string>; status: ContentfulStatusCode }
      | null = null,
  ): Promise<Response> {
    const [all, { totp, recoveryCodesLeft }, { length: passkeyCount }] = await Promise.all([
      sessions.listSessions(session),
      twoStep.getTwoStep(session),
      passkeys.listPasskeys(session),
    ]);
    const list = [...all.filter(({ current }) => current), ...all.filter(({ current }) => !current)];
    const devices = await deviceWords(list.map(({ userAgent }) => userAgent));
    const view = securityPage({
      frame: portalFrame(parts, assets, session),
      sessions: list.map((one, index) => ({ ...one, device: devices[index] ?? "" })),
      twoStep: { isOn: totp.enabled, recoveryCodesLeft },
      passkeyCount,
      error: refused?.error ?? null,
      fieldErrors: refused?.fieldErrors ?? {},
      flash: c.req.method === "GET" ? flashes.get(c.req.query("done") ?? "") ?? null : null,
    });
    return sendPage(c, view, refused?.status);
  }

  app.get(path, signedIn(parts, (c, session) => show(c, session)));
  // Whoever loads the page of a refused form anew gets the form.
  app.get(`${path}/password`, (c) => redirect(c, path));

  app.post(
    `${path}/password`,
    signedIn(parts, async (c, session) => {
      const { currentPassword = "", newPassword = "" } = await readFormBody(c);
      try {
        const { token } = await changePassword(services, session, { currentPassword, newPassword });
        setSessionCookie(c, config, { token });
        return redirect(c, `${path}?done=password`);
      } catch (error) {
        const { message, fields, status } = formError(c, error);
        return await show(c, session, { error: message, fieldErrors: fields, status });
      }
    }),
  );

  app.post(
    `${path}/sessions/:id/end`,
    signedIn(parts, async (c, session) => {
      await sessions.endSession(session, c.req.param("id") ?? "");
      return redirect(c, `${path}?done=ended`);
    }),
  );

  app.post(
    `${path}/sessions/end-others`,
    signedIn(parts, async (c, session) => {
      await sessions.endOtherSessions(session);
      return redirect(c, `${path}?done=others-ended`);
    }),
  );
}
