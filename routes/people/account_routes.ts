// The API of the user's own account. No other origin may call it.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { sessionUser } from "../../domain/access/session.ts";
import {
  beginPasskeyProof,
  changeEmailChoices,
  changePassword,
  deleteAccount,
  getEmailChoices,
  reauthenticate,
  reauthenticateWithPasskey,
  renameUser,
  requestEmailChange,
} from "../../services/people/mod.ts";
import { clearSessionCookies, setSessionCookie } from "../cookies.ts";
import type { AppEnv, AppParts } from "../env.ts";
import {
  changeEmailChoicesSchema,
  emailChoicesSchema,
  emailSchema,
  firstPasswordSchema,
  proofSchema,
  userNameSchema,
} from "./schemas/people.ts";
import { sessionUserSchema } from "./schemas/sign_in.ts";
import { passkeyOptionsSchema, passkeyProofSchema } from "./schemas/two_step.ts";
import { sessionRoutes } from "../api/endpoint.ts";

const path = "/api/portal/account";

export function accountRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { config, services } = parts;
  const route = sessionRoutes(app, parts, { tag: "Account" });

  route({
    route: `PATCH ${path}`,
    operationId: "renameUser",
    summary: "Change your name",
    body: userNameSchema,
    responses: { 200: { description: "The session user.", schema: sessionUserSchema } },
  }, async (_c, { body }, actor) => {
    await renameUser(services, actor, body.name);
    return sessionUser({ ...actor, user: { ...actor.user, name: body.name } });
  });

  route({
    route: `POST ${path}/password`,
    operationId: "setFirstPassword",
    summary: "Set your first password",
    description:
      "For an account without a password, such as one that a provider created. Requires authentication within the last 10 " +
      "minutes. Ends all other sessions, and sets a new cookie.",
    body: firstPasswordSchema,
    responses: { 204: { description: "The password was set, and a new cookie was set." } },
    errors: ["proof_required"],
  }, async (c, { body }, actor) => {
    const { token } = await changePassword(services, actor, { newPassword: body.password });
    setSessionCookie(c, config, { token });
  });

  const choices = { 200: { description: "The emails that you get.", schema: emailChoicesSchema } };
  route({
    route: `GET ${path}/emails`,
    operationId: "getEmailChoices",
    summary: "Get which emails you receive",
    responses: choices,
  }, (_c, _input, actor) => getEmailChoices(services, actor));

  route({
    route: `PATCH ${path}/emails`,
    operationId: "changeEmailChoices",
    summary: "Turn emails on or off",
    body: changeEmailChoicesSchema,
    responses: choices,
  }, (_c, { body }, actor) => changeEmailChoices(services, actor, body));

  route({
    route: `DELETE ${path}`,
    operationId: "deleteAccount",
    summary: "Delete your account",
    description:
      "Requires authentication within the last 10 minutes. Revokes the keys that you created, and deletes your " +
      "organizations without other members. Fails if you are the only owner of an organization with other members.",
    responses: { 204: { description: "The account was deleted, and the cookie was cleared." } },
    errors: ["proof_required", "organization_suspended", "last_owner"],
  }, async (c, _input, actor) => {
    await deleteAccount(services, actor);
    clearSessionCookies(c, config);
  });

  route({
    route: `POST ${path}/proof`,
    operationId: "confirmPassword",
    summary: "Authenticate again",
    description:
      "Allows sensitive actions for 10 minutes. Requires `code` if two-step sign-in is on. Signing in with a code or a " +
      "passkey has the same effect.",
    body: proofSchema,
    responses: { 204: { description: "Authenticated." } },
    errors: ["invalid_credentials", "invalid_code", "codes_locked", "two_step_state", "rate_limited"],
  }, (_c, { body }, actor) => reauthenticate(services, actor, body));

  route({
    route: `POST ${path}/proof/passkey/options`,
    operationId: "beginPasskeyProof",
    summary: "Start authenticating again with a passkey",
    description:
      "The challenge works once, for 5 minutes. Fails with `two_step_state` if you have no passkey.",
    responses: { 200: { description: "The options for the browser.", schema: passkeyOptionsSchema } },
    errors: ["two_step_state", "rate_limited"],
  }, async (_c, _input, actor) => ({ options: await beginPasskeyProof(services, actor) }));

  route({
    route: `POST ${path}/proof/passkey`,
    operationId: "confirmPasskey",
    summary: "Authenticate again with a passkey",
    description: "Allows sensitive actions for 10 minutes, without the password.",
    body: passkeyProofSchema,
    responses: { 204: { description: "Authenticated." } },
    errors: ["invalid_credentials", "rate_limited"],
  }, (_c, { body: { response } }, actor) => reauthenticateWithPasskey(services, actor, response));

  route({
    route: `POST ${path}/email`,
    operationId: "requestEmailChange",
    summary: "Request an email change",
    description:
      "Requires authentication within the last 10 minutes. Sends a link to the new email address and a notice to the " +
      "current one. Nothing changes until the link is used. The response is the same if another account uses the address.",
    body: emailSchema,
    responses: { 202: { description: "The emails will be sent." } },
    errors: ["proof_required", "sso_required", "rate_limited", "mail_unavailable"],
  }, (_c, { body }, actor) => requestEmailChange(services, actor, body.email));
}
