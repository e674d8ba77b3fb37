// The pages for signing up, in and out.
import type { Config } from "../../../config.ts";
import { AppError } from "../../../domain/errors.ts";
import { safeReturnTo, withReturnTo } from "../../../domain/sign_in/return_to.ts";
import { signUp } from "../../../services/account/sign_up.ts";
import { goOnPage } from "../../../views/sign_in/continue.tsx";
import type { Assets } from "../../../views/layout.tsx";
import type { NoticeProps } from "../../../views/components/notice.tsx";
import { signInPage } from "../../../views/sign_in/sign_in.tsx";
import { signUpPage } from "../../../views/account/sign_up.tsx";
import { signInSchema, signUpSchema } from "../../schemas/sign_in.ts";
import { check } from "../../schemas/check.ts";
import { readFormBody } from "../../body.ts";
import { setSecondStepCookie } from "../../cookies.ts";
import type { App, AppContext, AppParts } from "../../env.ts";
import { beginSession, findSession, signOutOfPortal } from "../../session.ts";
import { formError } from "../errors.ts";
import { gateFrame, home, organizationsHome, redirect, sendPage } from "../page.ts";

/** What happened before, by the parameter that says so. */
const notices: readonly (readonly [parameter: string, notice: NoticeProps])[] = [
  ["signed_out", { tone: "done", text: "You are signed out." }],
  ["reset", { tone: "done", text: "Your password is changed. Sign in with the new one." }],
  ["deleted", { tone: "done", text: "Your account is deleted." }],
  ["conflict", { tone: "refused", text: "You were signed in as two people at once. Sign in again." }],
];

/** Mounts `/`, `/sign-in`, `/sign-in/continue`, `/sign-up` and `/sign-out`. */
export function portalSignInRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { config, services } = parts;
  const frame = gateFrame(parts, assets);
  const byInvitation = config.signUp === "invite";

  const returnTo = (text: string | undefined) => wayBack(text, config);

  async function away(c: AppContext): Promise<Response | null> {
    const session = await findSession(c, parts);
    // Whoever comes from there would be sent on for ever while another host has a cookie that this one never gets.
    if (c.req.query("conflict") === "1") return null;
    return session === null ? null : redirect(c, returnTo(c.req.query("return_to")) ?? home, { status: 302 });
  }

  app.get(
    "/",
    async (c) => redirect(c, await findSession(c, parts) === null ? "/sign-in" : home, { status: 302 }),
  );
  app.get("/portal", async (c) => {
    const session = await findSession(c, parts);
    const isAlone = session !== null && session.organization === null;
    return redirect(c, isAlone ? organizationsHome : home, { status: 302 });
  });

  app.get("/sign-in", async (c) =>
    await away(c) ?? sendPage(
      c,
      signInPage({
        frame,
        values: { email: "", returnTo: returnTo(c.req.query("return_to")) },
        error: null,
        fieldErrors: {},
        notice: notices.find(([name]) => c.req.query(name) === "1")?.[1] ?? null,
      }),
    ));

  app.post("/sign-in", async (c) => {
    const form = await readFormBody(c);
    const target = returnTo(form["return_to"]);
    try {
      const input = check(signInSchema, pick(form, ["email", "password"]), "body");
      const result = await beginSession(
        c,
        parts,
        (client) => services.signIn.signIn(input as { email: string; password: string }, client),
      );
      if ("secondStep" in result) {
        setSecondStepCookie(c, config, result.secondStep.token);
        return redirect(c, withReturnTo("/sign-in/second-step", target));
      }
      return goOn(c, target);
    } catch (error) {
      const { message, fields, status } = formError(c, error);
      const values = { email: form["email"] ?? "", returnTo: target };
      return sendPage(
        c,
        signInPage({ frame, values, error: message, fieldErrors: fields, notice: null }),
        status,
      );
    }
  });

  app.get("/sign-in/continue", async (c) => {
    const target = returnTo(c.req.query("return_to"));
    // A browser that took no cookie is asked again instead of being sent back and forth.
    if (await findSession(c, parts) === null) return redirect(c, withReturnTo("/sign-in", target));
    return target === null || isOwn(target)
      ? redirect(c, target ?? home)
      : sendPage(c, goOnPage({ frame, href: target, host: new URL(target).host }));
  });

  app.get("/sign-up", async (c) => {
    const values = {
      name: "",
      email: "",
      organizationName: "",
      returnTo: returnTo(c.req.query("return_to")),
    };
    return await away(c) ??
      sendPage(c, signUpPage({ frame, byInvitation, values, error: null, fieldErrors: {} }));
  });

  app.post("/sign-up", async (c) => {
    const form = await readFormBody(c);
    const target = returnTo(form["return_to"]);
    try {
      const given = pick(form, ["name", "email", "password", "organizationName"]);
      if (given["organizationName"]?.trim() === "") delete given["organizationName"];
      const input = check(signUpSchema, given, "body");
      await beginSession(
        c,
        parts,
        (client) => signUp(services, client, input),
      );
      return goOn(c, target);
    } catch (error) {
      const { message, fields, status } = formError(c, error);
      const values = {
        name: form["name"] ?? "",
        email: form["email"] ?? "",
        organizationName: form["organizationName"] ?? "",
        returnTo: target,
      };
      const errors = error instanceof AppError && error.code === "email_taken"
        ? { email: error.message }
        : fields;
      const shown = "email" in errors && !("email" in fields) ? null : message;
      return sendPage(
        c,
        signUpPage({ frame, byInvitation, values, error: shown, fieldErrors: errors }),
        status,
      );
    }
  });

  app.post("/sign-out", async (c) => {
    await signOutOfPortal(c, parts);
    return redirect(c, "/sign-in?signed_out=1", { frameChanges: true });
  });
}

/** @returns Where an address bar or a form may lead to: a path of our own, an allowed origin's address, or null. */
export function wayBack(text: string | undefined, { baseUrl, allowedOrigins }: Config): string | null {
  return safeReturnTo(text, {
    base: baseUrl,
    isAllowedOrigin: (origin) => allowedOrigins.some((allowed) => allowed.matches(origin)),
  });
}

/**
 * @returns The answer to a form that has signed somebody in. Chromium holds `form-action` against every redirect that
 *   follows a form, and a product may have redirects of its own: so other origins are reached from a page of ours.
 */
export function goOn(c: AppContext, target: string | null): Response {
  if (target === null || isOwn(target)) return redirect(c, target ?? home);
  return redirect(c, withReturnTo("/sign-in/continue", target));
}

function isOwn(target: string): boolean {
  return target.startsWith("/");
}

function pick(form: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, form[name] ?? ""]));
}
