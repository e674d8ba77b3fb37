// Signing up, in and out: the API and the pages.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Config } from "../../config.ts";
import { sessionUser } from "../../domain/access/session.ts";
import { validationError } from "../../domain/errors.ts";
import { emailCharactersMax, nameCharactersMax } from "../../domain/limits.ts";
import { requireEmail } from "../../domain/outbox/email.ts";
import { isAuthorizePath, safeReturnTo, withReturnTo } from "../../domain/people/return_to.ts";
import { isoTime } from "../../domain/time.ts";
import {
  checkNewPassword,
  findProviderForEmail,
  offeredWays,
  signIn,
  signUp,
} from "../../services/people/mod.ts";
import { ButtonLink, SubmitButton } from "../../views/components/button.tsx";
import { EmailField, NameField, PasswordField, TextField } from "../../views/components/field.tsx";
import { returnField, type ShownForm, typed } from "../../views/components/form.tsx";
import { GateCard, GateHint, redirectCard } from "../../views/components/gate_card.tsx";
import { Notice, type NoticeProps } from "../../views/components/notice.tsx";
import type { GateFrame } from "../../views/layout.tsx";
import { PasskeyForm } from "../../views/people/passkey_form.tsx";
import { ProviderButtons, type ProviderOffer } from "../../views/people/provider_buttons.tsx";
import { mount, publicRoutes } from "../api/endpoint.ts";
import { lastMethod, setLastMethodCookie, setSecondStepCookie } from "../cookies.ts";
import type { App, AppContext, AppEnv, AppParts } from "../env.ts";
import { type FormState, mountForm } from "../portal/form.ts";
import { gateFrame, home, openRoutes, type PortalParts, redirect, sendPage } from "../portal/page.ts";
import { check, checkTogether } from "../schemas/check.ts";
import { beginSession, findSession } from "../session.ts";
import { endSessions, signOutOfPortal } from "../sign_out.ts";
import * as schemas from "./schemas/sign_in.ts";

export function authRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  signInApi(app, parts);

  mount(app, {
    tag: "Sign-in",
    security: "maybeSession",
    route: "POST /api/auth/sign-out",
    operationId: "signOut",
    summary: "Sign out",
    description: "Ends the session and clears the cookie.",
    responses: { 204: { description: "Signed out, or no one was signed in." } },
  }, { authenticate: () => null, handle: (c) => endSessions(c, parts) });
}

function signInApi(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = publicRoutes(app, { tag: "Sign-in" });

  route({
    route: "POST /api/auth/sign-up",
    operationId: "signUp",
    summary: "Create an account and an organization, and sign in",
    body: schemas.signUpSchema,
    responses: { 201: { description: "Signed in. The cookie is set.", schema: schemas.sessionUserSchema } },
    errors: [
      "sso_required",
      "sign_up_closed",
      "organization_suspended",
      "invalid_token",
      "email_taken",
      "limit_reached",
      "rate_limited",
    ],
  }, async (c, { body }) => {
    const { session } = await beginSession(c, parts, (client) => signUp(services, client, body));
    return sessionUser(session);
  });

  route({
    route: "POST /api/auth/sign-in",
    operationId: "signIn",
    summary: "Sign in with email and password",
    body: schemas.signInSchema,
    description:
      "If two-step sign-in is on, `authenticated` is false, no cookie is set, and `secondStep` has the token for the second step.",
    responses: {
      200: {
        description: "Signed in, and the cookie is set; or a second step is required.",
        schema: schemas.signInResponseSchema,
      },
    },
    errors: ["sso_required", "invalid_credentials", "rate_limited"],
  }, async (c, { body }) => {
    const result = await beginSession(c, parts, (client) => signIn(services, client, body));
    if (!("secondStep" in result)) return sessionUser(result.session);
    const { token, expiresAt } = result.secondStep;
    return { ...sessionUser(null), secondStep: { token, expiresAt: isoTime(expiresAt) } };
  });
}

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
        await showSignIn(c, parts, { ...form, returnTo, notice, email });
    },
    async submit(c, _actor, form) {
      const target = returnToOf(form["return_to"], config);
      const single = await findProviderForEmail(services, form["email"] ?? "");
      if (single !== undefined && (single.enforced === 1 || form["single_sign_on"] !== undefined)) {
        const href = withReturnTo(`/sign-in/with/${single.slug}`, target);
        const text = (
          <>
            People with this email address sign in with the single sign-on of <bdi>{single.name}</bdi>.
          </>
        );
        // A redirect after a form would be blocked by the policy for forms.
        return await sendPage(c, redirectCard({ frame, title: "Single sign-on", text, href }));
      }
      if (form["single_sign_on"] !== undefined) {
        requireEmail(form["email"] ?? "");
        const message =
          "No single sign-on is set up for this address. Use your password, or ask your administrator.";
        throw validationError([{ path: "email", message }]);
      }
      const input = check(schemas.signInSchema, pick(form, ["email", "password"]), "body");
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
    if (target === null || staysHere(target)) return redirect(c, target ?? home);
    const text = (
      <>
        Continuing to <bdi>{new URL(target, config.baseUrl).host}</bdi>.
      </>
    );
    return await sendPage(c, redirectCard({ frame, title: "You're signed in", text, href: target }));
  });
}

function signUpRoutes(app: App, parts: PortalParts): void {
  const { config, services } = parts;
  const frame = gateFrame(parts);

  mountForm(openRoutes(app), {
    path: "/sign-up",
    async show(c, _actor, form) {
      const returnTo = returnToOf((form.input ?? c.req.query())["return_to"], config);
      const redirected = await redirectIfSignedIn(c, parts);
      if (redirected !== null) return redirected;
      const page = config.signUp === "open"
        ? signUpPage(frame, { ...form, returnTo, providers: await providerOffer(c, parts) })
        : closedPage(frame, config.signUp === "invite");
      return await sendPage(c, page, form.status);
    },
    async submit(c, _actor, form) {
      const given = pick(form, ["name", "email", "password", "organizationName"]);
      if (given["organizationName"]?.trim() === "") delete given["organizationName"];
      const { name = "", email = "", password = "" } = given;
      const input = await checkTogether(
        () => check(schemas.signUpSchema, given, "body"),
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

/** Shows the page that signs people in. @param form `returnTo`: the next page, checked by the caller. `email`: an application's guess. */
export async function showSignIn(
  c: AppContext,
  parts: PortalParts,
  { returnTo, notice, email: hint = "", status, ...form }: FormState & {
    returnTo: string | null;
    notice?: NoticeProps | undefined;
    email?: string;
  },
): Promise<Response> {
  const frame = gateFrame(parts);
  const providers = await providerOffer(c, parts);
  const email = typed(form, "email", hint);
  const page = (
    <GateCard
      frame={frame}
      title="Sign in"
      text="One account for all products."
      action="/sign-in"
      hidden={returnField(returnTo)}
      error={form.message}
      first={
        <>
          {notice && <Notice {...notice} />}
          <PasskeyForm
            assets={frame.assets}
            ceremony="get"
            options="/api/auth/sign-in/passkey/options"
            action="/sign-in/passkey"
            returnTo={returnTo}
            submit="Sign in with a passkey"
          />
        </>
      }
    >
      <ProviderButtons {...providers} query={returnField(returnTo)} />
      <EmailField label="Email" {...email} autocomplete="username" autofocus={email.value === ""} />
      <PasswordField
        label="Password"
        name="password"
        error={form.fields["password"]}
        autofocus={email.value !== "" && email.error === undefined}
      />
      <SubmitButton>Sign in</SubmitButton>
      {providers.hasSingleSignOn && (
        <button type="submit" class="button plain" name="single_sign_on" value="1" formnovalidate>
          Continue with single sign-on
        </button>
      )}
      <p class="small">
        <a href="/forgot-password">Forgot your password?</a>
      </p>
      {frame.signUpOpen && (
        <GateHint text="New here?" href={withReturnTo("/sign-up", returnTo)} label="Create an account" />
      )}
    </GateCard>
  );
  return await sendPage(c, page, status);
}

function closedPage(frame: GateFrame, byInvitation: boolean) {
  return (
    <GateCard
      frame={frame}
      title={byInvitation ? "By invitation only" : "Sign-up is closed"}
      text={byInvitation
        ? "You need an invitation to sign up. Ask someone who already uses this service, then open the link in the email."
        : "Ask the people who run this service for an account."}
    >
      <ButtonLink href="/sign-in">Sign in instead</ButtonLink>
    </GateCard>
  );
}

function signUpPage(
  frame: GateFrame,
  { returnTo, providers, ...form }: ShownForm & { returnTo: string | null; providers: ProviderOffer },
) {
  return (
    <GateCard
      frame={frame}
      title="Create an account"
      text="One account for all products."
      action="/sign-up"
      hidden={returnField(returnTo)}
      error={form.message}
    >
      <ProviderButtons {...providers} query={returnField(returnTo)} />
      <NameField
        label="Your name"
        {...typed(form, "name")}
        autocomplete="name"
        autofocus
      />
      <EmailField label="Email" {...typed(form, "email")} autocomplete="username" />
      <PasswordField label="Password" name="password" isNew error={form.fields["password"]} />
      <TextField
        label="Organization (optional)"
        name="organizationName"
        {...typed(form, "organizationName")}
        hint="Your API keys and usage belong to it. If empty, we'll name it after you."
        autocomplete="organization"
        maxlength={nameCharactersMax}
      />
      <SubmitButton>Create account</SubmitButton>
      <GateHint
        text="Already have an account?"
        href={withReturnTo("/sign-in", returnTo)}
        label="Sign in"
      />
    </GateCard>
  );
}

/** Reads the providers and whether a page offers single sign-on. If that fails, the page offers only its other ways. */
export async function providerOffer(c: AppContext, { services }: PortalParts): Promise<ProviderOffer> {
  const ways = await offeredWays(services).catch((error) => {
    services.onBackgroundError(error);
    return { providers: [], hasSingleSignOn: false };
  });
  return { ...ways, lastUsed: lastMethod(c) };
}

/** Remembers another way than a provider, if this browser has used one before. */
export function noteOtherMethod(c: AppContext, config: Config, method: "password" | "passkey"): void {
  const last = lastMethod(c);
  if (last !== null && last !== method) setLastMethodCookie(c, config, method);
}
