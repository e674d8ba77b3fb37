// The API of organizations: one's own list, names, handing over, the end; and which one is active.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { sessionUser } from "../../../domain/sign_in/session.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { byActor } from "../../session.ts";
import { mount } from "../endpoint.ts";
import {
  activeOrganizationSchema,
  deleteOrganizationSchema,
  organizationNameSchema,
  organizationParamsSchema,
  organizationResponseSchema,
  organizationsSchema,
  transferOrganizationSchema,
} from "../../schemas/people.ts";
import { sessionUserSchema } from "../../schemas/sign_in.ts";
import { switchOrganization } from "../../../services/sign_in/sessions.ts";

const path = "/api/portal/organizations";

/** Mounts `/api/portal/organizations` and `/api/auth/organization`. */
export function organizationRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { organizations } = parts.services;
  const session = byActor(parts);
  const common = { tag: "Organizations", security: "session" } as const;
  const one = { 200: { description: "The organization.", schema: organizationResponseSchema } };

  mount(app, {
    ...common,
    method: "get",
    path,
    operationId: "listOrganizations",
    summary: "List your organizations",
    responses: { 200: { description: "All of them, by name.", schema: organizationsSchema } },
  }, {
    ...session,
    handle: async (c, _input, actor) =>
      c.json({ organizations: await organizations.listOrganizations(actor) }),
  });

  mount(app, {
    ...common,
    method: "post",
    path,
    operationId: "createOrganization",
    summary: "Create an organization that you own",
    description: "It does not become the active one by this.",
    body: organizationNameSchema,
    responses: { 201: { description: "The organization.", schema: organizationResponseSchema } },
    errors: ["limit_reached"],
  }, {
    ...session,
    handle: async (c, { body }, actor) =>
      c.json({ organization: await organizations.createOrganization(actor, body.name) }, 201),
  });

  mount(app, {
    ...common,
    method: "get",
    path: `${path}/{id}`,
    operationId: "getOrganization",
    summary: "One of your organizations",
    params: organizationParamsSchema,
    responses: one,
  }, {
    ...session,
    handle: async (c, { params }, actor) =>
      c.json({ organization: await organizations.getOrganization(actor, params.id) }),
  });

  mount(app, {
    ...common,
    method: "patch",
    path: `${path}/{id}`,
    operationId: "renameOrganization",
    summary: "Rename an organization",
    description: "For an OWNER.",
    params: organizationParamsSchema,
    body: organizationNameSchema,
    responses: one,
    errors: ["forbidden"],
  }, {
    ...session,
    handle: async (c, { params, body }, actor) =>
      c.json({ organization: await organizations.renameOrganization(actor, params.id, body.name) }),
  });

  mount(app, {
    ...common,
    method: "delete",
    path: `${path}/{id}`,
    operationId: "deleteOrganization",
    summary: "Delete an organization",
    description:
      "For an OWNER, with a proof of who they are that is at most ten minutes old. Keys are refused from the " +
      "next request on, memberships and invitations end; what was recorded is deleted in the background.",
    params: organizationParamsSchema,
    body: deleteOrganizationSchema,
    responses: { 204: { description: "Deleted." } },
    errors: ["forbidden", "proof_required"],
  }, {
    ...session,
    async handle(c, { params, body }, actor) {
      await organizations.deleteOrganization(actor, params.id, body.name);
      return c.body(null, 204);
    },
  });

  mount(app, {
    ...common,
    method: "post",
    path: `${path}/{id}/transfer`,
    operationId: "transferOrganization",
    summary: "Make another member the owner",
    description:
      "For an OWNER, who becomes an ADMIN, with a proof of who they are that is at most ten minutes old.",
    params: organizationParamsSchema,
    body: transferOrganizationSchema,
    responses: one,
    errors: ["forbidden", "proof_required"],
  }, {
    ...session,
    handle: async (c, { params, body }, actor) =>
      c.json({ organization: await organizations.transferOrganization(actor, params.id, body.userId) }),
  });

  mount(app, {
    method: "post",
    path: "/api/auth/organization",
    tag: "Sign-in",
    security: "session",
    operationId: "switchOrganization",
    summary: "Make another of your organizations the active one",
    description: "For this session now, and for the next sign-in.",
    body: activeOrganizationSchema,
    responses: { 200: { description: "The session user.", schema: sessionUserSchema } },
    errors: ["not_found"],
  }, {
    ...session,
    handle: async (c, { body }, actor) =>
      c.json(sessionUser(await switchOrganization(parts.services, actor, body.organizationId))),
  });
}
