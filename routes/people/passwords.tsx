// Passwords and email addresses under `/api/auth`, and the pages for a forgotten password. They don't reveal whether an account exists.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { sessionUser } from "../../domain/access/session.ts";
import {
  changePassword,
  findPasswordReset,
  requestEmailVerification,
  requestPasswordReset,
  resetPassword,
  verifyEmail,
} from "../../services/people/mod.ts";
import { ButtonLink, SubmitButton } from "../../views/components/button.tsx";
import { EmailField, PasswordField } from "../../views/components/field.tsx";
import { type ShownForm, typed } from "../../views/components/form.tsx";
import { GateCard, GateHint } from "../../views/components/gate_card.tsx";
import { Notice } from "../../views/components/notice.tsx";
import type { GateFrame } from "../../views/layout.tsx";
import { publicRoutes, sessionRoutes } from "../api/endpoint.ts";
import { setSessionCookie } from "../cookies.ts";
import type { App, AppEnv, AppParts } from "../env.ts";
import { mountForm, newForm } from "../portal/form.ts";
import {
  gateFrame,
  openRoutes,
  type PortalParts,
  redirect,
  sendPage,
  withoutReferrer,
} from "../portal/page.ts";
import * as schemas from "./schemas/people.ts";
import { sessionUserSchema } from "./schemas/sign_in.ts";

export function passwordRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { config, services } = parts;
  const route = sessionRoutes(app, parts, { tag: "Sign-in" });
  passwordResetRoutes(app, parts);

  route({
    route: "POST /api/auth/password/change",
    operationId: "changePassword",
    summary: "Change your password",
    description: "Ends all other sessions, and sets a new cookie.",
    body: schemas.changePasswordSchema,
    responses: { 204: { description: "The password was changed, and a new cookie was set." } },
    errors: ["invalid_credentials", "rate_limited"],
  }, async (c, { body }, actor) => {
    const { token } = await changePassword(services, actor, body);
    setSessionCookie(c, config, { token });
  });

  route({
    route: "POST /api/auth/email/verification",
    operationId: "requestEmailVerification",
    summary: "Send the confirmation email",
    description:
      "The link works once, for 24 hours. Earlier links stop working. Sends nothing if the address is confirmed.",
    responses: { 202: { description: "The email will be sent." } },
    errors: ["rate_limited", "mail_unavailable"],
  }, (_c, _input, actor) => requestEmailVerification(services, actor));

  route({
    route: "POST /api/auth/email/verify",
    operationId: "verifyEmail",
    summary: "Confirm an email address",
    description:
      "Takes the token of a confirmation link, for a new account or a changed address. Requires a session of the same " +
      "account; otherwise the owner of an address could confirm a stranger's account by clicking the link. Ends the " +
      "account's other sessions.",
    body: schemas.linkTokenSchema,
    responses: { 200: { description: "The session user.", schema: sessionUserSchema } },
    errors: ["wrong_account", "sso_required", "invalid_token", "email_taken"],
  }, async (_c, { body }, actor) => {
    const { email } = await verifyEmail(services, actor, body.token);
    return sessionUser({ ...actor, user: { ...actor.user, email, emailVerified: true } });
  });
}

function passwordResetRoutes(app: OpenAPIHono<AppEnv>, { services }: AppParts): void {
  const route = publicRoutes(app, { tag: "Sign-in" });

  route({
    route: "POST /api/auth/password/forgot",
    operationId: "forgotPassword",
    summary: "Request a password reset",
    description:
      "The response is the same whether or not the address has an account. The link works once, for 1 hour.",
    body: schemas.emailSchema,
    responses: { 202: { description: "If the address has an account, an email will be sent." } },
    errors: ["sso_required", "rate_limited", "mail_unavailable"],
  }, (c, { body }) => requestPasswordReset(services, c.get("client"), body.email));

  route({
    route: "POST /api/auth/password/reset",
    operationId: "resetPassword",
    summary: "Reset a password",
    description:
      "Ends all sessions of the account and starts none. If the address was never confirmed, this also confirms it, " +
      "revokes all API keys and invitations in the account's organizations, removes all other members from them, and " +
      "turns off two-step sign-in, and removes passkeys and connected providers.",
    body: schemas.resetPasswordSchema,
    responses: { 204: { description: "The password was changed." } },
    errors: ["invalid_token", "rate_limited"],
  }, (c, { body }) => resetPassword(services, c.get("client"), body));
}

export function portalPasswordRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  const frame = gateFrame(parts);
  const routes = openRoutes(app, withoutReferrer);
  const hasMail = services.mail.mode !== "none";

  mountForm(routes, {
    path: "/forgot-password",
    show: (c, _actor, form) =>
      sendPage(c, hasMail ? forgotPasswordPage(frame, form) : withoutMailPage(frame), form.status),
    async submit(c, _actor, input) {
      await requestPasswordReset(services, c.get("client"), input["email"] ?? "");
      // No redirect: the address stays in the form and out of the address bar.
      return await sendPage(c, forgotPasswordPage(frame, { ...newForm, input, isSent: true }));
    },
  });

  mountForm(routes, {
    path: "/reset-password",
    async show(c, _actor, form) {
      const { token = "" } = form.input ?? c.req.query();
      const reset = await findPasswordReset(services, token);
      const isDead = form.code === undefined ? reset === null : form.code === "invalid_token";
      if (isDead) return await sendPage(c, deadLinkPage(frame), 404);
      const takesBack = reset?.takesBack ?? false;
      return await sendPage(c, resetPasswordPage(frame, { ...form, token, takesBack }), form.status);
    },
    async submit(c, _actor, { token = "", password = "" }) {
      await resetPassword(services, c.get("client"), { token, password });
      return redirect(c, "/sign-in?reset=1");
    },
    explained: new Set(["invalid_token"]),
  });
}

function withoutMailPage(frame: GateFrame) {
  const text =
    "This service doesn't send email. Ask the people who run it for a link to reset your password.";
  return (
    <GateCard frame={frame} title="Forgot your password?" text={text}>
      <ButtonLink href="/sign-in">Back to sign-in</ButtonLink>
    </GateCard>
  );
}

function forgotPasswordPage(frame: GateFrame, { isSent = false, ...form }: ShownForm & { isSent?: boolean }) {
  const email = typed(form, "email");
  return (
    <GateCard
      frame={frame}
      title={isSent ? "Check your email" : "Forgot your password?"}
      text={isSent
        ? undefined
        : "Enter your email address, and we'll send you a link to choose a new password."}
      action="/forgot-password"
      error={form.message}
    >
      {isSent && (
        <>
          <Notice
            tone="done"
            text={`If ${email.value} has an account, we've sent a link to it. The link works for 1 hour.`}
          />
          <p class="muted small">
            Didn't get it? Check your spam folder and the address, then send it again. Only the latest link
            works.
          </p>
        </>
      )}
      <EmailField label="Email" {...email} autocomplete="username" autofocus={!isSent} />
      <SubmitButton tone={isSent ? "plain" : "primary"}>{isSent ? "Send again" : "Send link"}</SubmitButton>
      <GateHint text="Remembered it?" href="/sign-in" label="Sign in" />
    </GateCard>
  );
}

function deadLinkPage(frame: GateFrame) {
  const text =
    "It may have expired, been used already, or been replaced by a newer one. Your password hasn't changed.";
  return (
    <GateCard frame={frame} title="This link doesn't work" text={text}>
      <ButtonLink tone="primary" href="/forgot-password">Request a new link</ButtonLink>
      <GateHint text="Know your password?" href="/sign-in" label="Sign in" />
    </GateCard>
  );
}

/**
 * Opening the page doesn't use up the link, because spam filters open links too.
 *
 * @param form `takesBack`: the email address was never confirmed, so the reset removes all other access.
 */
function resetPasswordPage(
  frame: GateFrame,
  { token, takesBack, message, fields }: ShownForm & { token: string; takesBack: boolean },
) {
  return (
    <GateCard
      frame={frame}
      title="Choose a new password"
      text="You'll be signed out everywhere. Then sign in with the new password."
      action="/reset-password"
      hidden={{ token }}
      error={message}
    >
      {takesBack && <TakeBackWarning />}
      <PasswordField label="New password" name="password" isNew error={fields["password"]} autofocus />
      <SubmitButton>Reset password</SubmitButton>
    </GateCard>
  );
}

/** People who created the account themselves can confirm their address instead. */
function TakeBackWarning() {
  return (
    <>
      <p class="small">
        This email address was never confirmed, so someone else may have created this account. When you set a
        password, we also:
      </p>
      <ul class="list small">
        <li>revoke all API keys and invitations in its organizations,</li>
        <li>remove all other members, webhooks and alerts from them,</li>
        <li>turn off two-step sign-in, and remove passkeys and connected providers.</li>
      </ul>
      <p class="small muted">
        Did you create it yourself? <a href="/portal/account">Sign in and confirm your address</a>{" "}
        first to keep all of this.
      </p>
    </>
  );
}
