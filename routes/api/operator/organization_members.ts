// The operators' API of the members of an organization, and of invitations to it.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { operatorAccess } from "../../../services/access.ts";
import {
  createInvitation,
  listInvitations,
  revokeInvitation,
} from "../../../services/organization/invitations.ts";
import { listMembers } from "../../../services/organization/members.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { pageQuerySchema } from "../../schemas/common.ts";
import * as schemas from "../../schemas/operator_organizations.ts";
import { invitationResponseSchema, invitationsSchema, membersSchema } from "../../schemas/people.ts";
import { operatorRoutes } from "./operator_routes.ts";

const path = "/api/operator/organizations/{id}";

/** Mounts `/api/operator/organizations/{id}/members` and `/invitations`. */
export function operatorMemberRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts, { read: "organizations:read", write: "organizations:write" });

  route({
    route: `GET ${path}/members`,
    operationId: "operatorListMembers",
    summary: "List an organization's members",
    params: schemas.organizationParamsSchema,
    query: pageQuerySchema,
    responses: { 200: { description: "A page of members.", schema: membersSchema } },
  }, async (_c, { params: { id }, query }, actor) => {
    return await listMembers(services, await operatorAccess(services, actor, id), query);
  });

  route({
    route: `GET ${path}/invitations`,
    operationId: "operatorListInvitations",
    summary: "List an organization's invitations",
    description: "Newest first.",
    params: schemas.organizationParamsSchema,
    query: pageQuerySchema,
    responses: { 200: { description: "A page of invitations with any status.", schema: invitationsSchema } },
  }, async (_c, { params: { id }, query }, actor) => {
    return await listInvitations(services, await operatorAccess(services, actor, id), query);
  });

  route({
    route: `POST ${path}/invitations`,
    operationId: "operatorCreateInvitation",
    summary: "Invite someone to an organization by email",
    description: "The link in the email works once, for 7 days.",
    params: schemas.organizationParamsSchema,
    body: schemas.inviteSchema,
    responses: { 201: { description: "The invitation.", schema: invitationResponseSchema } },
    errors: ["already_member", "already_invited", "limit_reached", "rate_limited", "mail_unavailable"],
  }, async (_c, { params: { id }, body }, actor) => {
    const access = await operatorAccess(services, actor, id);
    const { invitation } = await createInvitation(services, access, body);
    return { invitation };
  });

  route({
    route: `DELETE ${path}/invitations/{invitationId}`,
    operationId: "operatorRevokeInvitation",
    summary: "Revoke an invitation to an organization",
    description: "Its link stops working immediately. Accepted and revoked invitations return `not_found`.",
    params: schemas.invitationParamsSchema,
    responses: { 204: { description: "Revoked." } },
  }, async (_c, { params: { id, invitationId } }, actor) => {
    await revokeInvitation(services, await operatorAccess(services, actor, id), invitationId);
  });
}
