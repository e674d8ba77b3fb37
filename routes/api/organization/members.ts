// The API of members: list them, change their roles, remove them.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { changeMemberRole, listMembers, removeMember } from "../../../services/organization/members.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import {
  changeRoleSchema,
  listQuerySchema,
  memberParamsSchema,
  memberResponseSchema,
  membersSchema,
  organizationParamsSchema,
  removeMemberQuerySchema,
} from "../../schemas/people.ts";
import { sessionRoutes } from "../session_routes.ts";

const path = "/api/portal/organizations/{id}/members";

/** Mounts `/api/portal/organizations/{id}/members`. */
export function memberRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = sessionRoutes(app, parts, { tag: "Organizations" });

  route({
    method: "get",
    path,
    operationId: "listMembers",
    summary: "List members",
    params: organizationParamsSchema,
    query: listQuerySchema,
    responses: { 200: { description: "A page of members, oldest accounts first.", schema: membersSchema } },
  }, async (c, { params: { id }, query }, actor) => {
    return c.json(await listMembers(services, actor, { organizationId: id, ...query }));
  });

  route({
    method: "patch",
    path: `${path}/{userId}`,
    operationId: "changeMemberRole",
    summary: "Change a member's role",
    description:
      "Requires the owner role. Making someone an owner also requires authentication within the last ten minutes. " +
      "An organization keeps at least one owner.",
    params: memberParamsSchema,
    body: changeRoleSchema,
    responses: { 200: { description: "The member.", schema: memberResponseSchema } },
    errors: ["forbidden", "proof_required", "last_owner"],
  }, async (c, { params: { id, userId }, body: { role } }, actor) => {
    const member = await changeMemberRole(services, actor, { organizationId: id, userId, role });
    return c.json({ member });
  });

  route({
    method: "delete",
    path: `${path}/{userId}`,
    operationId: "removeMember",
    summary: "Remove a member, or leave",
    description:
      "Owners can remove anyone, admins can remove admins and members, and everyone can leave. The removed member loses " +
      "access immediately. The keys that they created here are revoked unless `keys=keep`.",
    params: memberParamsSchema,
    query: removeMemberQuerySchema,
    responses: { 204: { description: "Removed." } },
    errors: ["forbidden", "last_owner"],
  }, async (c, { params: { id, userId }, query: { keys } }, actor) => {
    await removeMember(services, actor, { organizationId: id, userId, keepKeys: keys === "keep" });
    return c.body(null, 204);
  });
}
