// The pages for a forgotten password. They don't reveal whether an account exists.
import { findPasswordReset, requestPasswordReset, resetPassword } from "../../services/people/mod.ts";
import { forgotPasswordPage, resetPasswordPage } from "../../views/people/passwords.tsx";
import type { App } from "../env.ts";
import { mountForm, newForm } from "../portal/form.ts";
import {
  gateFrame,
  openRoutes,
  type PortalParts,
  redirect,
  sendPage,
  withoutReferrer,
} from "../portal/page.ts";

export function portalPasswordRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  const frame = gateFrame(parts);
  const routes = openRoutes(app, withoutReferrer);
  const hasMail = services.mail.mode !== "none";

  mountForm(routes, {
    path: "/forgot-password",
    show: (c, _actor, form) => sendPage(c, forgotPasswordPage({ frame, hasMail, form }), form.status),
    async submit(c, _actor, input) {
      await requestPasswordReset(services, c.get("client"), input["email"] ?? "");
      // No redirect: the address stays in the form and out of the address bar.
      return await sendPage(
        c,
        forgotPasswordPage({ frame, hasMail, form: { ...newForm, input }, isSent: true }),
      );
    },
  });

  mountForm(routes, {
    path: "/reset-password",
    async show(c, _actor, form) {
      const { token = "" } = form.input ?? c.req.query();
      const reset = await findPasswordReset(services, token);
      const isDead = form.code === undefined ? reset === null : form.code === "invalid_token";
      const takesBack = reset?.takesBack ?? false;
      const view = resetPasswordPage({ frame, token: isDead ? null : token, takesBack, form });
      return await sendPage(c, view, isDead ? 404 : form.status);
    },
    async submit(c, _actor, { token = "", password = "" }) {
      await resetPassword(services, c.get("client"), { token, password });
      return redirect(c, "/sign-in?reset=1");
    },
    explained: new Set(["invalid_token"]),
  });
}
