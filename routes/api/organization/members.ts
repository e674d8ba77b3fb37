// The API of members: who belongs to an organization, as what, and no longer.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { AppEnv, AppParts } from "../../env.ts";
import { byActor } from "../../session.ts";
import { mount } from "../endpoint.ts";
import {
  changeRoleSchema,
  listQuerySchema,
  memberParamsSchema,
  memberResponseSchema,
  membersSchema,
  organizationParamsSchema,
  removeMemberQuerySchema,
} from "../../schemas/people.ts";

const path = "/api/portal/organizations/{id}/members";

/** Mounts `/api/portal/organizations/{id}/members`. */
export function memberRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { members } = parts.services;
  const session = byActor(parts);
  const common = { tag: "Organizations", security: "session" } as const;

  mount(app, {
    ...common,
    method: "get",
    path,
    operationId: "listMembers",
    summary: "List members",
    params: organizationParamsSchema,
    query: listQuerySchema,
    responses: { 200: { description: "A page of members, oldest account first.", schema: membersSchema } },
  }, {
    ...session,
    handle: async (c, { params, query }, actor) => c.json(await members.listMembers(actor, params.id, query)),
  });

  mount(app, {
    ...common,
    method: "patch",
    path: `${path}/{userId}`,
    operationId: "changeMemberRole",
    summary: "Change a member's role",
    description:
      "For an OWNER; to make somebody an OWNER, with a proof of who they are that is at most ten minutes old. " +
      "An organization keeps at least one OWNER.",
    params: memberParamsSchema,
    body: changeRoleSchema,
    responses: { 200: { description: "The member.", schema: memberResponseSchema } },
    errors: ["forbidden", "proof_required", "last_owner"],
  }, {
    ...session,
    handle: async (c, { params, body }, actor) =>
      c.json({
        member: await members.changeRole(
          actor,
          { organizationId: params.id, userId: params.userId },
          body.role,
        ),
      }),
  });

  mount(app, {
    ...common,
    method: "delete",
    path: `${path}/{userId}`,
    operationId: "removeMember",
    summary: "Remove a member, or leave",
    description:
      "An OWNER removes anybody, an ADMIN removes ADMINs and MEMBERs, everybody themself. From the next request on their " +
      "sessions cannot use the organization. The keys that they made in it are revoked, unless `keys=keep`.",
    params: memberParamsSchema,
    query: removeMemberQuerySchema,
    responses: { 204: { description: "Removed." } },
    errors: ["forbidden", "last_owner"],
  }, {
    ...session,
    async handle(c, { params, query }, actor) {
      const place = { organizationId: params.id, userId: params.userId };
      await members.removeMember(actor, place, { keepKeys: query.keys === "keep" });
      return c.body(null, 204);
    },
  });
}
