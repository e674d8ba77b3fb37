// The API of passwords and addresses under `/api/auth`.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { sessionUser } from "../../../domain/sign_in/session.ts";
import { requestEmailVerification, verifyEmail } from "../../../services/account/email_addresses.ts";
import { changePassword, requestPasswordReset, resetPassword } from "../../../services/account/passwords.ts";
import { setSessionCookie } from "../../cookies.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { byActor, requireSession } from "../../session.ts";
import { mount } from "../endpoint.ts";
import {
  changePasswordSchema,
  emailSchema,
  linkTokenSchema,
  resetPasswordSchema,
} from "../../schemas/people.ts";
import { sessionUserSchema } from "../../schemas/sign_in.ts";

/** Mounts `/api/auth/password/*` and `/api/auth/email/*`. */
export function passwordRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { config, services } = parts;
  const nobody = { authenticate: () => null } as const;
  const session = byActor(parts);

  mount(app, {
    method: "post",
    path: "/api/auth/password/forgot",
    tag: "Sign-in",
    security: "none",
    operationId: "forgotPassword",
    summary: "Ask for a link that sets a new password",
    description:
      "The answer is the same whether the address has an account or not. The link works once, for an hour.",
    body: emailSchema,
    responses: { 202: { description: "If the address has an account, a mail is on its way." } },
    errors: ["rate_limited", "mail_unavailable"],
  }, {
    ...nobody,
    async handle(c, { body }) {
      await requestPasswordReset(services, c.get("client"), body.email);
      return c.body(null, 202);
    },
  });

  mount(app, {
    method: "post",
    path: "/api/auth/password/reset",
    tag: "Sign-in",
    security: "none",
    operationId: "resetPassword",
    summary: "Set a new password by a mailed link",
    description:
      "Every session of the account ends, and no new one begins. If the address was never confirmed, this also confirms " +
      "it, revokes all API keys and invitations in the account's organizations, removes all other members from them, and turns " +
      "off two-step sign-in and passkeys.",
    body: resetPasswordSchema,
    responses: { 204: { description: "Set." } },
    errors: ["invalid_token", "rate_limited"],
  }, {
    ...nobody,
    async handle(c, { body }) {
      await resetPassword(services, c.get("client"), body);
      return c.body(null, 204);
    },
  });

  mount(app, {
    method: "post",
    path: "/api/auth/password/change",
    tag: "Sign-in",
    security: "session",
    operationId: "changePassword",
    summary: "Change your password",
    description: "Every other session ends, and the cookie gets a new token.",
    body: changePasswordSchema,
    responses: { 204: { description: "Changed; the cookie is set anew." } },
    errors: ["invalid_credentials", "rate_limited"],
  }, {
    ...session,
    async handle(c, { body }, actor) {
      const { token } = await changePassword(services, actor, body);
      setSessionCookie(c, config, { token });
      return c.body(null, 204);
    },
  });

  mount(app, {
    method: "post",
    path: "/api/auth/email/verification",
    tag: "Sign-in",
    security: "session",
    operationId: "requestEmailVerification",
    summary: "Send the mail that confirms your address",
    description:
      "The link works once, for 24 hours; an older one ends. Nothing is sent when the address is confirmed.",
    responses: { 202: { description: "The mail is on its way." } },
    errors: ["rate_limited", "mail_unavailable"],
  }, {
    ...session,
    async handle(c, _input, actor) {
      await requestEmailVerification(services, actor);
      return c.body(null, 202);
    },
  });

  mount(app, {
    method: "post",
    path: "/api/auth/email/verify",
    tag: "Sign-in",
    security: "session",
    operationId: "verifyEmail",
    summary: "Confirm an address by a mailed link",
    description:
      "Takes the links of new accounts and of changed addresses. It needs a session of the same account: a link " +
      "alone would let a stranger's account be confirmed by a click of the address's owner. Other sessions of the account end.",
    body: linkTokenSchema,
    responses: { 200: { description: "The session user.", schema: sessionUserSchema } },
    errors: ["wrong_account", "invalid_token", "email_taken"],
  }, {
    ...session,
    async handle(c, { body }, actor) {
      await verifyEmail(services, actor, body.token);
      return c.json(sessionUser(await requireSession(c, parts)));
    },
  });
}
