// The API of invitations.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { SessionActor } from "../../../domain/actor.ts";
import { sessionUser } from "../../../domain/sign_in/session.ts";
import { accessTo } from "../../../services/access.ts";
import { acceptInvitation } from "../../../services/organization/accept_invitation.ts";
import {
  createInvitation,
  listInvitations,
  resendInvitation,
  revokeInvitation,
} from "../../../services/organization/invitations.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { sessionUserSchema } from "../../schemas/sign_in.ts";
import { pageQuerySchema } from "../../schemas/common.ts";
import * as schemas from "../../schemas/people.ts";
import { type MountRoute, sessionRoutes } from "../endpoint.ts";

const path = "/api/portal/organizations/{id}/invitations";

/** Mounts `/api/portal/organizations/{id}/invitations` and `/api/portal/invitations/accept`. */
export function invitationRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const route = sessionRoutes(app, parts, { tag: "Organizations" });
  listRoutes(route, parts);
  invitationChangeRoutes(route, parts);

  route({
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
  }, async (_c, { body }, actor) => sessionUser(await acceptInvitation(parts.services, actor, body.token)));
}

function listRoutes(route: MountRoute<SessionActor>, { services }: AppParts): void {
  route({
    route: `GET ${path}`,
    operationId: "listInvitations",
    summary: "List invitations",
    description: "Newest first. Requires the admin or owner role.",
    params: schemas.organizationParamsSchema,
    query: pageQuerySchema,
    responses: {
      200: { description: "A page of invitations with any status.", schema: schemas.invitationsSchema },
    },
    errors: ["forbidden"],
  }, (_c, { params: { id }, query }, actor) => listInvitations(services, accessTo(actor, id), query));

  route({
    route: `POST ${path}`,
    operationId: "createInvitation",
    summary: "Invite someone by email",
    description:
      "Requires the admin or owner role. Only owners can invite owners, with authentication within the last 10 minutes. " +
      "The link in the email works once, for 7 days.",
    params: schemas.organizationParamsSchema,
    body: schemas.createInvitationSchema,
    responses: { 201: { description: "The invitation.", schema: schemas.invitationResponseSchema } },
    errors: [
      "forbidden",
      "proof_required",
      "already_member",
      "already_invited",
      "limit_reached",
      "rate_limited",
      "mail_unavailable",
    ],
  }, async (_c, { params: { id }, body }, actor) => {
    const { invitation } = await createInvitation(services, accessTo(actor, id), body);
    return { invitation };
  });
}

function invitationChangeRoutes(route: MountRoute<SessionActor>, { services }: AppParts): void {
  route({
    route: `POST ${path}/{invitationId}/resend`,
    operationId: "resendInvitation",
    summary: "Send an invitation again",
    description:
      "Sends a new link that works for 7 days; the old link stops working. For an owner's invitation, this requires " +
      "authentication within the last 10 minutes.",
    params: schemas.invitationParamsSchema,
    responses: { 200: { description: "The invitation.", schema: schemas.invitationResponseSchema } },
    errors: ["forbidden", "proof_required", "limit_reached", "rate_limited", "mail_unavailable"],
  }, async (_c, { params: { id, invitationId } }, actor) => ({
    invitation: await resendInvitation(services, accessTo(actor, id), invitationId),
  }));

  route({
    route: `DELETE ${path}/{invitationId}`,
    operationId: "revokeInvitation",
    summary: "Revoke an invitation",
    description: "Its link stops working immediately. Accepted and revoked invitations return `not_found`.",
    params: schemas.invitationParamsSchema,
    responses: { 204: { description: "Revoked." } },
    errors: ["forbidden"],
  }, (_c, { params: { id, invitationId } }, actor) => {
    return revokeInvitation(services, accessTo(actor, id), invitationId);
  });
}
