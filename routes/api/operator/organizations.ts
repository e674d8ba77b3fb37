// The operators' API of organizations.
import type { OpenAPIHono } from "@hono/zod-openapi";
import {
  changeOrganization,
  createOrganization,
  deleteOrganization,
  getOrganization,
  listOrganizations,
} from "../../../services/operator/organizations.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import * as schemas from "../../schemas/operator_organizations.ts";
import { operatorRoutes } from "./operator_routes.ts";

const path = "/api/operator/organizations";
const organization = { description: "The organization.", schema: schemas.organizationResponseSchema };

/** Mounts `/api/operator/organizations`. */
export function operatorOrganizationRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts);

  route(
    {
      route: `GET ${path}`,
      access: "organizations:read",
      operationId: "operatorListOrganizations",
      summary: "List and search organizations",
      query: schemas.organizationQuerySchema,
      responses: { 200: { description: "A page of organizations.", schema: schemas.organizationsSchema } },
    },
    (_c, { query: { plan, ...query } }, actor) =>
      listOrganizations(services, actor, { ...query, planId: plan }),
  );

  route({
    route: `POST ${path}`,
    access: "organizations:write",
    operationId: "operatorCreateOrganization",
    summary: "Create an organization for a customer",
    description:
      "With `owner`, an invitation is mailed in the same transaction. If a response is lost, repeat the request with the " +
      "same `externalId`: `external_id_taken` means that the organization exists.",
    body: schemas.createOrganizationSchema,
    responses: { 201: organization },
    errors: ["external_id_taken", "rate_limited", "mail_unavailable"],
  }, async (_c, { body }, actor) => ({ organization: await createOrganization(services, actor, body) }));

  route({
    route: `GET ${path}/{id}`,
    access: "organizations:read",
    operationId: "operatorGetOrganization",
    summary: "Get an organization",
    params: schemas.organizationParamsSchema,
    responses: { 200: organization },
  }, async (_c, { params: { id } }) => ({ organization: await getOrganization(services, id) }));

  route({
    route: `PATCH ${path}/{id}`,
    access: "organizations:write",
    operationId: "operatorChangeOrganization",
    summary: "Change, suspend or resume an organization",
    description:
      "All changes are made, or none. A suspended organization's keys get `organization_suspended` from the next request on; its " +
      "members can still sign in, read and export. A plan, overrides and a time zone take effect on the next request, too.",
    params: schemas.organizationParamsSchema,
    body: schemas.changeOrganizationSchema,
    responses: { 200: organization },
    errors: ["external_id_taken"],
  }, async (_c, { params, body }, actor) => ({
    organization: await changeOrganization(services, actor, { idText: params.id, ...body }),
  }));

  route({
    route: `DELETE ${path}/{id}`,
    access: "organizations:write",
    operationId: "operatorDeleteOrganization",
    summary: "Delete an organization",
    description:
      "Its keys, memberships and invitations end immediately; usage data is deleted in the background. Its external id can be " +
      "used again.",
    params: schemas.organizationParamsSchema,
    responses: { 204: { description: "Deleted." } },
  }, (_c, { params: { id } }, actor) => deleteOrganization(services, actor, id));
}
