// The operators' API of users.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { isoTime } from "../../../domain/time.ts";
import { sendPasswordReset } from "../../../services/operator/passwords.ts";
import { getUser, listUsers } from "../../../services/operator/user_list.ts";
import { disableUser, enableUser, endSessionsOfUser } from "../../../services/operator/users.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import * as schemas from "../../schemas/operator_users.ts";
import { operatorRoutes } from "./operator_routes.ts";

const path = "/api/operator/users";
const unlessOperator = "Tokens can't do this to operators.";

/** Mounts `/api/operator/users`. */
export function operatorUserRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts);
  const params = schemas.userParamsSchema;

  route({
    route: `GET ${path}`,
    access: "users:read",
    operationId: "listUsers",
    summary: "List users",
    description: "Newest first. `search` finds parts of names and email addresses.",
    query: schemas.usersQuerySchema,
    responses: { 200: { description: "A page of users.", schema: schemas.operatorUsersSchema } },
    errors: ["unavailable"],
  }, (c, { query }, actor) => listUsers(services, actor, { ...query, signal: c.req.raw.signal }));

  route({
    route: `GET ${path}/{id}`,
    access: "users:read",
    operationId: "getUser",
    summary: "Get a user",
    params,
    responses: { 200: { description: "The user.", schema: schemas.operatorUserDetailsSchema } },
  }, (_c, { params: { id } }) => getUser(services, id));

  route({
    route: `PATCH ${path}/{id}`,
    access: "users:write",
    operationId: "changeUser",
    summary: "Disable or enable a user",
    description:
      "Disabling ends the user's sessions, emailed links and pending invitations immediately. Their API keys keep " +
      `working. ${unlessOperator}`,
    params,
    body: schemas.changeUserSchema,
    responses: { 200: { description: "The user.", schema: schemas.operatorUserResponseSchema } },
    errors: ["forbidden"],
  }, async (_c, { params: { id }, body: { disabled } }, actor) => {
    const { user } = await getUser(services, id);
    if (disabled) await disableUser(services, actor, { id, revokeKeys: false });
    else await enableUser(services, actor, { id });
    const after = await getUser(services, id).catch(() => {
      // The change was made, even if nothing can be read now.
      const disabledAt = disabled ? user.disabledAt ?? isoTime(services.clock()) : null;
      return { user: { ...user, disabledAt, ...(disabled ? { lastSignInAt: null } : {}) } };
    });
    return { user: after.user };
  });

  route({
    route: `POST ${path}/{id}/reset-password`,
    access: "users:write",
    operationId: "sendPasswordReset",
    summary: "Send a password reset link",
    description:
      "Emails the user a link to choose a new password. Earlier links stop working; sessions don't end until the " +
      `password is changed. Without a mail server, operator accounts get the link instead. ${unlessOperator}`,
    params,
    responses: { 200: { description: "The link was created.", schema: schemas.passwordResetSchema } },
    errors: ["forbidden", "mail_unavailable"],
  }, (_c, { params: { id } }, actor) => sendPasswordReset(services, actor, { id }));

  route({
    route: `DELETE ${path}/{id}/sessions`,
    access: "users:write",
    operationId: "endSessionsOfUser",
    summary: "End a user's sessions",
    description: `Signs the user out everywhere. ${unlessOperator}`,
    params,
    responses: { 204: { description: "The user has no sessions." } },
    errors: ["forbidden"],
  }, (_c, { params: { id } }, actor) => endSessionsOfUser(services, actor, { id }));
}
