// The API of members: list them, change their roles, remove them.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { accessTo, operatorAccess } from "../../../services/access/mod.ts";
import { changeMemberRole, listMembers, removeMember } from "../../../services/people/mod.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { pageQuerySchema } from "../../schemas/common.ts";
import { organizationParamsSchema } from "../../schemas/operator_organizations.ts";
import * as schemas from "../../schemas/people.ts";
import { sessionRoutes, withAccess } from "../endpoint.ts";
import { operatorRoutes } from "../operator/operator_routes.ts";

const path = "/api/portal/organizations/{id}/members";

export function memberRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = withAccess(sessionRoutes(app, parts, { tag: "Organizations" }), accessTo);

  route({
    route: `GET ${path}`,
    operationId: "listMembers",
    summary: "List members",
    params: schemas.organizationParamsSchema,
    query: pageQuerySchema,
    responses: {
      200: { description: "A page of members, oldest accounts first.", schema: schemas.membersSchema },
    },
  }, (_c, { query }, access) => listMembers(services, access, query));

  route({
    route: `PATCH ${path}/{userId}`,
    operationId: "changeMemberRole",
    summary: "Change a member's role",
    description:
      "Requires the owner role. Making someone an owner also requires authentication within the last 10 minutes. " +
      "An organization keeps at least one owner.",
    params: schemas.memberParamsSchema,
    body: schemas.changeRoleSchema,
    responses: { 200: { description: "The member.", schema: schemas.memberResponseSchema } },
    errors: ["forbidden", "proof_required", "last_owner"],
  }, async (_c, { params: { userId }, body: { role } }, access) => ({
    member: await changeMemberRole(services, access, { userId, role }),
  }));

  route({
    route: `DELETE ${path}/{userId}`,
    operationId: "removeMember",
    summary: "Remove a member, or leave",
    description:
      "Owners can remove anyone, admins can remove admins and members, and everyone can leave. The removed member loses " +
      "access immediately. The keys that they created here are revoked unless `keys=keep`.",
    params: schemas.memberParamsSchema,
    query: schemas.removeMemberQuerySchema,
    responses: { 204: { description: "Removed." } },
    errors: ["forbidden", "last_owner"],
  }, (_c, { params: { userId }, query: { keys } }, access) => {
    return removeMember(services, access, { userId, keepKeys: keys === "keep" });
  });
}

export function operatorMemberRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  operatorRoutes(app, parts, { read: "organizations:read" })(
    {
      route: "GET /api/operator/organizations/{id}/members",
      operationId: "operatorListMembers",
      summary: "List an organization's members",
      params: organizationParamsSchema,
      query: pageQuerySchema,
      responses: { 200: { description: "A page of members.", schema: schemas.membersSchema } },
    },
    async (_c, { params: { id }, query }, actor) =>
      await listMembers(services, await operatorAccess(services, actor, id), query),
  );
}
