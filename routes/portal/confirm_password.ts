// The page that asks for the password once more, and leads on to where it was asked for.
import { portalReturnTo } from "../../domain/return_to.ts";
import { confirmPasswordPage } from "../../views/confirm_password.tsx";
import type { Assets } from "../../views/layout.tsx";
import { AppError } from "../../domain/errors.ts";
import { readFormBody } from "../body.ts";
import type { App, AppParts } from "../env.ts";
import { formError } from "./errors.ts";
import { needsProof, portalFrame, redirect, sendPage, signedIn } from "./page.ts";

const path = "/portal/confirm-password";
const home = "/portal/account";

/** Mounts `/portal/confirm-password`. */
export function portalConfirmPasswordRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { config, services } = parts;
  const returnTo = (text: string | undefined) => {
    const target = portalReturnTo(text, config.baseUrl);
    return target === null || target.startsWith(path) ? home : target;
  };

  app.get(
    path,
    signedIn(parts, (c, session) => {
      const target = returnTo(c.req.query("return_to"));
      // Going back to this page, or opening it once more, asks for nothing that was just given.
      if (needsProof(c, parts, session) === null) return redirect(c, target);
      const frame = portalFrame(parts, assets, session);
      const back = sectionOf(target);
      return sendPage(
        c,
        confirmPasswordPage({ frame, returnTo: target, back, error: null, fieldErrors: {} }),
      );
    }),
  );

  app.post(
    path,
    signedIn(parts, async (c, session) => {
      const form = await readFormBody(c);
      const target = returnTo(form["return_to"]);
      try {
        await services.sessions.confirmPassword(session, form["password"] ?? "");
        return redirect(c, target);
      } catch (error) {
        const { message, fields, status } = formError(c, error);
        const isWrong = error instanceof AppError && error.code === "invalid_credentials";
        const view = confirmPasswordPage({
          frame: portalFrame(parts, assets, session),
          returnTo: target,
          back: sectionOf(target),
          error: isWrong ? null : message,
          fieldErrors: isWrong ? { password: error.message } : fields,
        });
        return sendPage(c, view, status);
      }
    }),
  );
}

/** @returns The page that the sidebar has for a path: it never asks for the password. */
function sectionOf(path: string): string {
  return /^\/portal\/[^/?#]+/.exec(path)?.[0] ?? home;
}
