// The pages for signing up, in and out.
import type { Config } from "../../config.ts";
import { emailCharactersMax } from "../../domain/limits.ts";
import { requireEmail } from "../../domain/outbox/email.ts";
import { isAuthorizePath, safeReturnTo, withReturnTo } from "../../domain/people/return_to.ts";
import { checkNewPassword, findProviderForEmail, signIn, signUp } from "../../services/people/mod.ts";
import type { NoticeProps } from "../../views/components/notice.tsx";
import { continuePage, signInPage, singleSignOnPage } from "../../views/people/sign_in.tsx";
import { signUpPage } from "../../views/people/sign_up.tsx";
import { validationError } from "../../domain/errors.ts";
import { signInSchema, signUpSchema } from "./schemas/sign_in.ts";
import { check, checkTogether } from "../schemas/check.ts";
import { setSecondStepCookie } from "../cookies.ts";
import type { App, AppContext } from "../env.ts";
import { beginSession, findSession } from "../session.ts";
import { signOutOfPortal } from "../sign_out.ts";
import { mountForm } from "../portal/form.ts";
import { noteOtherMethod, providerOffer } from "./provider_offer.ts";
import { gateFrame, home, openRoutes, type PortalParts, redirect, sendPage } from "../portal/page.ts";

/** Notices by query parameter. */
const notices: readonly (readonly [parameter: string, notice: NoticeProps])[] = [
  ["signed_out", { tone: "done", text: "You're signed out." }],
  ["expired", { tone: "error", text: "Your session has expired. Sign in to continue." }],
  ["reset", { tone: "done", text: "Password changed. Sign in with the new one." }],
  ["deleted", { tone: "done", text: "Your account has been deleted." }],
  ["conflict", { tone: "error", text: "You were signed in to two accounts. Sign in again." }],
];

export function portalSignInRoutes(app: App, parts: PortalParts): void {
  signInRoutes(app, parts);
  signUpRoutes(app, parts);

  app.get("/", async (c) => {
    const session = await findSession(c, parts);
    return redirect(c, session === null ? "/sign-in" : home, { status: 302 });
  });

  app.post("/sign-out", async (c) => {
    await signOutOfPortal(c, parts);
    return redirect(c, "/sign-in?signed_out=1", { frameChanges: true });
  });
}

function signInRoutes(app: App, parts: PortalParts): void {
  const { config, services } = parts;
  const frame = gateFrame(parts);

  mountForm(openRoutes(app), {
    path: "/sign-in",
    async show(c, _actor, form) {
      const query = form.input === undefined ? c.req.query() : {};
      const returnTo = returnToOf((form.input ?? query)["return_to"], config);
      const notice = notices.find(([name]) => query[name] === "1")?.[1];
      const email = query["login_hint"]?.slice(0, emailCharactersMax) ?? "";
      return await redirectIfSignedIn(c, parts) ??
        await sendPage(
          c,
          signInPage({ frame, returnTo, providers: await providerOffer(c, parts), notice, email, form }),
          form.status,
        );
    },
    async submit(c, _actor, form) {
      const target = returnToOf(form["return_to"], config);
      const single = await findProviderForEmail(services, form["email"] ?? "");
      if (single !== undefined && (single.enforced === 1 || form["single_sign_on"] !== undefined)) {
        const href = withReturnTo(`/sign-in/with/${single.slug}`, target);
        return await sendPage(c, singleSignOnPage({ frame, href, name: single.name }));
      }
      if (form["single_sign_on"] !== undefined) {
        requireEmail(form["email"] ?? "");
        const message =
          "No single sign-on is set up for this address. Use your password, or ask your administrator.";
        throw validationError([{ path: "email", message }]);
      }
      const input = check(signInSchema, pick(form, ["email", "password"]), "body");
      const result = await beginSession(c, parts, (client) => signIn(services, client, input));
      noteOtherMethod(c, config, "password");
      if (!("secondStep" in result)) return continueTo(c, target);
      setSecondStepCookie(c, config, result.secondStep.token);
      return redirect(c, withReturnTo("/sign-in/second-step", target));
    },
  });

  app.get("/sign-in/continue", async (c) => {
    const target = returnToOf(c.req.query("return_to"), config);
    // A browser that rejected the cookie signs in again, instead of being redirected forever.
    if (await findSession(c, parts) === null) return redirect(c, withReturnTo("/sign-in", target));
    return target === null || staysHere(target)
      ? redirect(c, target ?? home)
      : sendPage(c, continuePage({ frame, href: target, host: new URL(target, config.baseUrl).host }));
  });
}

function signUpRoutes(app: App, parts: PortalParts): void {
  const { config, services } = parts;
  const frame = gateFrame(parts);
  const byInvitation = config.signUp === "invite";

  mountForm(openRoutes(app), {
    path: "/sign-up",
    async show(c, _actor, form) {
      const returnTo = returnToOf((form.input ?? c.req.query())["return_to"], config);
      return await redirectIfSignedIn(c, parts) ??
        await sendPage(
          c,
          signUpPage({ frame, byInvitation, returnTo, providers: await providerOffer(c, parts), form }),
          form.status,
        );
    },
    async submit(c, _actor, form) {
      const given = pick(form, ["name", "email", "password", "organizationName"]);
      if (given["organizationName"]?.trim() === "") delete given["organizationName"];
      const { name = "", email = "", password = "" } = given;
      const input = await checkTogether(
        () => check(signUpSchema, given, "body"),
        () => requireEmail(email),
        () => checkNewPassword(services, password, { email, name }),
      );
      await beginSession(c, parts, (client) => signUp(services, client, input));
      return continueTo(c, returnToOf(form["return_to"], config));
    },
    fieldOf: { email_taken: "email" },
  });
}

/** Redirects people who are signed in already when they open a page; otherwise returns null. */
async function redirectIfSignedIn(c: AppContext, parts: PortalParts): Promise<Response | null> {
  if (c.req.method === "POST") return null;
  const session = await findSession(c, parts);
  // After a conflict, another host may have a cookie that isn't sent here: a redirect back to it could repeat forever.
  if (session === null || c.req.query("conflict") === "1" || c.req.query("switch") === "1") return null;
  return redirect(c, returnToOf(c.req.query("return_to"), parts.config) ?? home, { status: 302 });
}

/** Returns the given redirect target if it is a path of ours or a URL of an allowed origin; otherwise null. */
export function returnToOf(text: string | undefined, { baseUrl, allowedOrigins }: Config): string | null {
  return safeReturnTo(text, {
    base: baseUrl,
    isAllowedOrigin: (origin) => allowedOrigins.some((allowed) => allowed.matches(origin)),
  });
}

/**
 * Responds to a form that signed a person in. Chromium applies `form-action` to every redirect after a form, and a product may
 * redirect further, so other origins are reached from a page of ours.
 */
export function continueTo(c: AppContext, target: string | null): Response {
  if (target === null || staysHere(target)) return redirect(c, target ?? home);
  return redirect(c, withReturnTo("/sign-in/continue", target));
}

/** The authorization endpoint redirects to applications. */
function staysHere(target: string): boolean {
  return target.startsWith("/") && !isAuthorizePath(target);
}

function pick(form: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, form[name] ?? ""]));
}
