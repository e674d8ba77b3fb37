// The API of invitations, for members and for operators.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { sessionUser } from "../../../domain/access/session.ts";
import { type Access, accessTo, operatorAccess } from "../../../services/access/mod.ts";
import {
  acceptInvitation,
  createInvitation,
  listInvitations,
  resendInvitation,
  revokeInvitation,
} from "../../../services/people/mod.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { pageQuerySchema } from "../../schemas/common.ts";
import * as operatorSchemas from "../../schemas/operator_organizations.ts";
import * as schemas from "../../schemas/people.ts";
import { sessionUserSchema } from "../../schemas/sign_in.ts";
import { type MountRoute, type RouteWords, sessionRoutes, withAccess } from "../endpoint.ts";
import { operatorRoutes } from "../operator/operator_routes.ts";

const responses = { 200: { description: "The invitation.", schema: schemas.invitationResponseSchema } };
const creationErrors = [
  "already_member",
  "already_invited",
  "limit_reached",
  "rate_limited",
  "mail_unavailable",
] as const;

export function invitationRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const path = "/api/portal/organizations/{id}/invitations";
  const session = sessionRoutes(app, parts, { tag: "Organizations" });
  const route = withAccess(session, accessTo);
  const { organizationParamsSchema: params, invitationParamsSchema: oneParams } = schemas;
  commonRoutes(parts, route, {
    list: {
      route: `GET ${path}`,
      operationId: "listInvitations",
      summary: "List invitations",
      description: "Newest first. Requires the admin or owner role.",
      params,
      errors: ["forbidden"],
    },
    create: {
      route: `POST ${path}`,
      operationId: "createInvitation",
      summary: "Invite someone by email",
      description:
        "Requires the admin or owner role. Only owners can invite owners, with authentication within the last 10 minutes. " +
        "The link in the email works once, for 7 days.",
      params,
      body: schemas.createInvitationSchema,
      errors: ["forbidden", "proof_required", ...creationErrors],
    },
    revoke: {
      route: `DELETE ${path}/{invitationId}`,
      operationId: "revokeInvitation",
      summary: "Revoke an invitation",
      params: oneParams,
      errors: ["forbidden"],
    },
  });

  route({
    route: `POST ${path}/{invitationId}/resend`,
    operationId: "resendInvitation",
    summary: "Send an invitation again",
    description:
      "Sends a new link that works for 7 days; the old link stops working. For an owner's invitation, this requires " +
      "authentication within the last 10 minutes.",
    params: oneParams,
    responses,
    errors: ["forbidden", "proof_required", "limit_reached", "rate_limited", "mail_unavailable"],
  }, async (_c, { params: { invitationId } }, access) => ({
    invitation: await resendInvitation(services, access, invitationId),
  }));

  session({
    route: "POST /api/portal/invitations/accept",
    operationId: "acceptInvitation",
    summary: "Accept an invitation",
    description:
      "For the account with the invited email address, which must be confirmed. The organization becomes the active one. " +
      "People without an account send the token to `POST /api/auth/sign-up` instead.",
    body: schemas.linkTokenSchema,
    responses: { 200: { description: "The session user.", schema: sessionUserSchema } },
    errors: [
      "organization_suspended",
      "wrong_account",
      "email_unverified",
      "invalid_token",
      "already_member",
      "limit_reached",
    ],
  }, async (_c, { body }, actor) => sessionUser(await acceptInvitation(services, actor, body.token)));
}

export function operatorInvitationRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const path = "/api/operator/organizations/{id}/invitations";
  const route = operatorRoutes(app, parts, { read: "organizations:read", write: "organizations:write" });
  const { organizationParamsSchema: params, invitationParamsSchema: oneParams } = operatorSchemas;
  commonRoutes(parts, withAccess(route, (actor, id) => operatorAccess(parts.services, actor, id)), {
    list: {
      route: `GET ${path}`,
      operationId: "operatorListInvitations",
      summary: "List an organization's invitations",
      description: "Newest first.",
      params,
    },
    create: {
      route: `POST ${path}`,
      operationId: "operatorCreateInvitation",
      summary: "Invite someone to an organization by email",
      description: "The link in the email works once, for 7 days.",
      params,
      body: operatorSchemas.inviteSchema,
      errors: creationErrors,
    },
    revoke: {
      route: `DELETE ${path}/{invitationId}`,
      operationId: "operatorRevokeInvitation",
      summary: "Revoke an invitation to an organization",
      params: oneParams,
    },
  });
}

function commonRoutes(
  { services }: AppParts,
  route: MountRoute<Access>,
  { list, create, revoke }: {
    list: RouteWords;
    create: RouteWords & {
      body: typeof schemas.createInvitationSchema | typeof operatorSchemas.inviteSchema;
    };
    revoke: RouteWords & { params: typeof schemas.invitationParamsSchema };
  },
): void {
  route({
    ...list,
    query: pageQuerySchema,
    responses: {
      200: { description: "A page of invitations with any status.", schema: schemas.invitationsSchema },
    },
  }, (_c, { query }, access) => listInvitations(services, access, query));

  route({ ...create, responses: { 201: responses[200] } }, async (_c, { body }, access) => {
    const { invitation } = await createInvitation(services, access, body);
    return { invitation };
  });

  route({
    ...revoke,
    description: "Its link stops working immediately. Accepted and revoked invitations return `not_found`.",
    responses: { 204: { description: "Revoked." } },
  }, (_c, { params: { invitationId } }, access) => revokeInvitation(services, access, invitationId));
}
