// The API of one's own account, for the service's own pages and programs: no other origin may call it.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { sessionUser } from "../../../domain/sign_in/session.ts";
import { deleteAccount, renameUser } from "../../../services/account/account.ts";
import { requestEmailChange } from "../../../services/account/email_addresses.ts";
import { clearSessionCookies } from "../../cookies.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { byActor, requireSession } from "../../session.ts";
import { mount } from "../endpoint.ts";
import { emailSchema, proofSchema, userNameSchema } from "../../schemas/people.ts";
import { sessionUserSchema } from "../../schemas/sign_in.ts";
import { reauthenticate } from "../../../services/sign_in/recent_authentication.ts";

const path = "/api/portal/account";

/** Mounts `/api/portal/account`. */
export function accountRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { config, services } = parts;
  const session = byActor(parts);
  const common = { tag: "Account", security: "session" } as const;

  mount(app, {
    ...common,
    method: "patch",
    path,
    operationId: "renameUser",
    summary: "Change your name",
    body: userNameSchema,
    responses: { 200: { description: "The session user.", schema: sessionUserSchema } },
  }, {
    ...session,
    async handle(c, { body }, actor) {
      await renameUser(services, actor, body.name);
      return c.json(sessionUser(await requireSession(c, parts)));
    },
  });

  mount(app, {
    ...common,
    method: "delete",
    path,
    operationId: "deleteAccount",
    summary: "Delete your account",
    description:
      "With a proof of who you are that is at most ten minutes old. Your keys are revoked; organizations in which " +
      "nobody else is are deleted. Not while you are the last OWNER of an organization with other members.",
    responses: { 204: { description: "Deleted; the cookie is cleared." } },
    errors: ["proof_required", "last_owner"],
  }, {
    ...session,
    async handle(c, _input, actor) {
      await deleteAccount(services, actor);
      clearSessionCookies(c, config);
      return c.body(null, 204);
    },
  });

  mount(app, {
    ...common,
    method: "post",
    path: `${path}/proof`,
    operationId: "confirmPassword",
    summary: "Confirm who you are once more",
    description:
      "For ten minutes it allows what changes or protects the account. While two-step sign-in is on, " +
      "`code` is required; signing in with a code or a passkey confirms it too.",
    body: proofSchema,
    responses: { 204: { description: "Confirmed." } },
    errors: ["invalid_credentials", "invalid_code", "codes_locked", "two_step_state", "rate_limited"],
  }, {
    ...session,
    async handle(c, { body }, actor) {
      await reauthenticate(parts.services, actor, body);
      return c.body(null, 204);
    },
  });

  mount(app, {
    ...common,
    method: "post",
    path: `${path}/email`,
    operationId: "requestEmailChange",
    summary: "Ask for another address",
    description:
      "With a proof of who you are that is at most ten minutes old. The new address gets a link, the present one is told. " +
      "Until the link is used nothing changes. The answer is the same when another account has the address.",
    body: emailSchema,
    responses: { 202: { description: "The mails are on their way." } },
    errors: ["proof_required", "rate_limited", "mail_unavailable"],
  }, {
    ...session,
    async handle(c, { body }, actor) {
      await requestEmailChange(services, actor, body.email);
      return c.body(null, 202);
    },
  });
}
