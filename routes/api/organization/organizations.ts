// The API of organizations: list, create, rename, transfer, delete, and switch the active one.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { SessionActor } from "../../../domain/access/actor.ts";
import { sessionUser } from "../../../domain/access/session.ts";
import { accessTo, type MemberAccess } from "../../../services/access/mod.ts";
import {
  createOrganization,
  deleteOrganization,
  getOrganization,
  listOrganizations,
  renameOrganization,
  switchOrganization,
  transferOrganization,
} from "../../../services/people/mod.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { sessionUserSchema } from "../../schemas/sign_in.ts";
import * as schemas from "../../schemas/people.ts";
import { type MountRoute, sessionRoutes, withAccess } from "../endpoint.ts";

const path = "/api/portal/organizations";
const organization = { description: "The organization.", schema: schemas.organizationResponseSchema };

export function organizationRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const route = sessionRoutes(app, parts, { tag: "Organizations" });
  readAndCreateRoutes(route, parts);
  changeRoutes(withAccess(route, accessTo), parts);

  sessionRoutes(app, parts, { tag: "Sign-in" })(
    {
      route: "POST /api/auth/organization",
      operationId: "switchOrganization",
      summary: "Switch the active organization",
      description: "Applies to this session and to future sign-ins.",
      body: schemas.activeOrganizationSchema,
      responses: { 200: { description: "The session user.", schema: sessionUserSchema } },
      errors: ["not_found"],
    },
    async (_c, { body }, actor) =>
      sessionUser(await switchOrganization(parts.services, actor, body.organizationId)),
  );
}

function readAndCreateRoutes(route: MountRoute<SessionActor>, { services }: AppParts): void {
  route({
    route: `GET ${path}`,
    operationId: "listOrganizations",
    summary: "List your organizations",
    responses: {
      200: { description: "Your organizations, sorted by name.", schema: schemas.organizationsSchema },
    },
  }, async (_c, _input, actor) => ({ organizations: await listOrganizations(services, actor) }));

  route({
    route: `POST ${path}`,
    operationId: "createOrganization",
    summary: "Create an organization that you own",
    description: "It does not become the active one.",
    body: schemas.organizationNameSchema,
    responses: { 201: organization },
    errors: ["limit_reached", "rate_limited"],
  }, async (_c, { body }, actor) => ({ organization: await createOrganization(services, actor, body.name) }));

  route({
    route: `GET ${path}/{id}`,
    operationId: "getOrganization",
    summary: "Get one of your organizations",
    params: schemas.organizationParamsSchema,
    responses: { 200: organization },
  }, async (_c, { params: { id } }, actor) => ({
    organization: await getOrganization(services, accessTo(actor, id)),
  }));
}

function changeRoutes(route: MountRoute<MemberAccess>, { services }: AppParts): void {
  route({
    route: `PATCH ${path}/{id}`,
    operationId: "renameOrganization",
    summary: "Rename an organization",
    description: "Requires the owner role.",
    params: schemas.organizationParamsSchema,
    body: schemas.organizationNameSchema,
    responses: { 200: organization },
    errors: ["forbidden"],
  }, async (_c, { body: { name } }, access) => {
    return { organization: await renameOrganization(services, access, name) };
  });

  route({
    route: `DELETE ${path}/{id}`,
    operationId: "deleteOrganization",
    summary: "Delete an organization",
    description:
      "Requires the owner role and authentication within the last 10 minutes. Keys, memberships and invitations end " +
      "immediately; usage data is deleted in the background.",
    params: schemas.organizationParamsSchema,
    body: schemas.deleteOrganizationSchema,
    responses: { 204: { description: "Deleted." } },
    errors: ["forbidden", "proof_required"],
  }, (_c, { body: { name } }, access) => {
    return deleteOrganization(services, access, name);
  });

  route({
    route: `POST ${path}/{id}/transfer`,
    operationId: "transferOrganization",
    summary: "Transfer ownership to another member",
    description:
      "Requires the owner role and authentication within the last 10 minutes. You become an admin.",
    params: schemas.organizationParamsSchema,
    body: schemas.transferOrganizationSchema,
    responses: { 200: organization },
    errors: ["forbidden", "proof_required"],
  }, async (_c, { body: { userId } }, access) => {
    return { organization: await transferOrganization(services, access, userId) };
  });
}
