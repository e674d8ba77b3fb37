// The API of passwords and email addresses under `/api/auth`.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { sessionUser } from "../../domain/access/session.ts";
import {
  changePassword,
  requestEmailVerification,
  requestPasswordReset,
  resetPassword,
  verifyEmail,
} from "../../services/people/mod.ts";
import { setSessionCookie } from "../cookies.ts";
import type { AppEnv, AppParts } from "../env.ts";
import * as schemas from "./schemas/people.ts";
import { sessionUserSchema } from "./schemas/sign_in.ts";
import { publicRoutes, sessionRoutes } from "../api/endpoint.ts";

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
