// The API of organizations: list, create, rename, transfer, delete, and switch the active one.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { sessionUser } from "../../../domain/sign_in/session.ts";
import {
  createOrganization,
  deleteOrganization,
  getOrganization,
  listOrganizations,
  renameOrganization,
  transferOrganization,
} from "../../../services/organization/organizations.ts";
import { switchOrganization } from "../../../services/sign_in/sessions.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { sessionUserSchema } from "../../schemas/sign_in.ts";
import {
  activeOrganizationSchema,
  deleteOrganizationSchema,
  organizationNameSchema,
  organizationParamsSchema,
  organizationResponseSchema,
  organizationsSchema,
  transferOrganizationSchema,
} from "../../schemas/people.ts";
import { type MountSessionRoute, sessionRoutes } from "../session_routes.ts";

const path = "/api/portal/organizations";
const organization = { description: "The organization.", schema: organizationResponseSchema };

/** Mounts `/api/portal/organizations` and `/api/auth/organization`. */
export function organizationRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const route = sessionRoutes(app, parts, { tag: "Organizations" });
  readAndCreateRoutes(route, parts);
  changeRoutes(route, parts);

  sessionRoutes(app, parts, { tag: "Sign-in" })({
    method: "post",
    path: "/api/auth/organization",
    operationId: "switchOrganization",
    summary: "Switch the active organization",
    description: "Applies to this session and to future sign-ins.",
    body: activeOrganizationSchema,
    responses: { 200: { description: "The session user.", schema: sessionUserSchema } },
    errors: ["not_found"],
  }, async (c, { body }, actor) => {
    return c.json(sessionUser(await switchOrganization(parts.services, actor, body.organizationId)));
  });
}

function readAndCreateRoutes(route: MountSessionRoute, { services }: AppParts): void {
  route({
    method: "get",
    path,
    operationId: "listOrganizations",
    summary: "List your organizations",
    responses: { 200: { description: "All of them, by name.", schema: organizationsSchema } },
  }, async (c, _input, actor) => c.json({ organizations: await listOrganizations(services, actor) }));

  route({
    method: "post",
    path,
    operationId: "createOrganization",
    summary: "Create an organization that you own",
    description: "It does not become the active one.",
    body: organizationNameSchema,
    responses: { 201: organization },
    errors: ["limit_reached"],
  }, async (c, { body }, actor) => {
    return c.json({ organization: await createOrganization(services, actor, body.name) }, 201);
  });

  route({
    method: "get",
    path: `${path}/{id}`,
    operationId: "getOrganization",
    summary: "Get one of your organizations",
    params: organizationParamsSchema,
    responses: { 200: organization },
  }, async (c, { params }, actor) => {
    return c.json({ organization: await getOrganization(services, actor, params.id) });
  });
}

function changeRoutes(route: MountSessionRoute, { services }: AppParts): void {
  route({
    method: "patch",
    path: `${path}/{id}`,
    operationId: "renameOrganization",
    summary: "Rename an organization",
    description: "Requires the owner role.",
    params: organizationParamsSchema,
    body: organizationNameSchema,
    responses: { 200: organization },
    errors: ["forbidden"],
  }, async (c, { params: { id }, body: { name } }, actor) => {
    return c.json({ organization: await renameOrganization(services, actor, { id, name }) });
  });

  route({
    method: "delete",
    path: `${path}/{id}`,
    operationId: "deleteOrganization",
    summary: "Delete an organization",
    description:
      "Requires the owner role and authentication within the last ten minutes. Keys, memberships and invitations end " +
      "immediately; usage data is deleted in the background.",
    params: organizationParamsSchema,
    body: deleteOrganizationSchema,
    responses: { 204: { description: "Deleted." } },
    errors: ["forbidden", "proof_required"],
  }, async (c, { params: { id }, body: { name } }, actor) => {
    await deleteOrganization(services, actor, { id, confirmedName: name });
    return c.body(null, 204);
  });

  route({
    method: "post",
    path: `${path}/{id}/transfer`,
    operationId: "transferOrganization",
    summary: "Transfer ownership to another member",
    description:
      "Requires the owner role and authentication within the last ten minutes. You become an admin.",
    params: organizationParamsSchema,
    body: transferOrganizationSchema,
    responses: { 200: organization },
    errors: ["forbidden", "proof_required"],
  }, async (c, { params: { id }, body: { userId } }, actor) => {
    return c.json({ organization: await transferOrganization(services, actor, { id, userId }) });
  });
}
