// The pages for a forgotten password. Whoever asks learns nothing about whether an account exists.
import { AppError } from "../../../domain/errors.ts";
import { forgotPasswordPage, type ForgotPasswordPageProps } from "../../../views/account/forgot_password.tsx";
import type { Assets } from "../../../views/layout.tsx";
import { resetPasswordPage, type ResetPasswordPageProps } from "../../../views/account/reset_password.tsx";
import {
  findPasswordReset,
  requestPasswordReset,
  resetPassword,
} from "../../../services/account/passwords.ts";
import { readFormBody } from "../../body.ts";
import type { App, AppContext, AppParts } from "../../env.ts";
import { formError } from "../errors.ts";
import { gateFrame, redirect, sendPage, withoutReferrer } from "../page.ts";

const blank = { error: null, fieldErrors: {} } as const;

/** Mounts `/forgot-password` and `/reset-password`. */
export function portalPasswordRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { services } = parts;
  const frame = gateFrame(parts, assets);
  const forgot = (shown: Partial<ForgotPasswordPageProps>) =>
    forgotPasswordPage({
      frame,
      hasMail: services.mail.mode !== "none",
      email: "",
      isSent: false,
      ...blank,
      ...shown,
    });
  const reset = (shown: Partial<ResetPasswordPageProps>) =>
    resetPasswordPage({ frame, token: null, takesBack: false, ...blank, ...shown });

  app.get("/forgot-password", withoutReferrer((c) => sendPage(c, forgot({}))));

  app.post(
    "/forgot-password",
    withoutReferrer(async (c) => {
      const { email = "" } = await readFormBody(c);
      try {
        await requestPasswordReset(services, c.get("client"), email);
        // Not a redirect: the address stays in the form, and out of every address bar.
        return await sendPage(c, forgot({ email, isSent: true }));
      } catch (error) {
        const { message, fields, status } = formError(c, error);
        return await sendPage(c, forgot({ email, error: message, fieldErrors: fields }), status);
      }
    }),
  );

  const deadLink = (c: AppContext) => sendPage(c, reset({}), 404);

  app.get(
    "/reset-password",
    withoutReferrer(async (c) => {
      const token = c.req.query("token") ?? "";
      const found = await findPasswordReset(services, token);
      return found === null
        ? await deadLink(c)
        : await sendPage(c, reset({ token, takesBack: found.takesBack }));
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
        const { message, fields, status } = formError(c, error);
        const found = await findPasswordReset(services, token);
        return await sendPage(
          c,
          reset({ token, takesBack: found?.takesBack ?? false, error: message, fieldErrors: fields }),
          status,
        );
      }
    }),
  );
}
