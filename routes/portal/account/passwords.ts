// The pages for a forgotten password. They don't reveal whether an account exists.
import { AppError } from "../../../domain/errors.ts";
import {
  findPasswordReset,
  requestPasswordReset,
  resetPassword,
} from "../../../services/account/passwords.ts";
import { forgotPasswordPage, resetPasswordPage } from "../../../views/account/passwords.tsx";
import { readFormBody } from "../../body.ts";
import type { App, AppContext } from "../../env.ts";
import { formError } from "../errors.ts";
import { gateFrame, type PortalParts, redirect, sendPage, withoutReferrer } from "../page.ts";

export function portalPasswordRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  const frame = gateFrame(parts);
  const forgot = { frame, hasMail: services.mail.mode !== "none", isSent: false } as const;

  app.get(
    "/forgot-password",
    withoutReferrer((c) => sendPage(c, forgotPasswordPage({ ...forgot, email: "" }))),
  );

  app.post(
    "/forgot-password",
    withoutReferrer(async (c) => {
      const { email = "" } = await readFormBody(c);
      try {
        await requestPasswordReset(services, c.get("client"), email);
        // No redirect: the address stays in the form and out of the address bar.
        return await sendPage(c, forgotPasswordPage({ ...forgot, email, isSent: true }));
      } catch (error) {
        const rejected = formError(c, error);
        return await sendPage(c, forgotPasswordPage({ ...forgot, email, rejected }), rejected.status);
      }
    }),
  );

  const deadLink = (c: AppContext) =>
    sendPage(c, resetPasswordPage({ frame, token: null, takesBack: false }), 404);

  app.get(
    "/reset-password",
    withoutReferrer(async (c) => {
      const token = c.req.query("token") ?? "";
      const reset = await findPasswordReset(services, token);
      if (reset === null) return await deadLink(c);
      return await sendPage(c, resetPasswordPage({ frame, token, takesBack: reset.takesBack }));
    }),
  );

  app.post(
    "/reset-password",
    withoutReferrer(async (c) => {
      const { token = "", password = "" } = await readFormBody(c);
      try {
        await resetPassword(services, c.get("client"), { token, password });
        return redirect(c, "/sign-in?reset=1");
      } catch (error) {
        if (error instanceof AppError && error.code === "invalid_token") return await deadLink(c);
        const rejected = formError(c, error);
        const takesBack = (await findPasswordReset(services, token))?.takesBack ?? false;
        return await sendPage(c, resetPasswordPage({ frame, token, takesBack, rejected }), rejected.status);
      }
    }),
  );
}
