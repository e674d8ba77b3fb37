// The operators' API of plans.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { changePlan, createPlan, deletePlan, getPlan, listPlans } from "../../../services/operator/plans.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { pageQuerySchema } from "../../schemas/common.ts";
import * as schemas from "../../schemas/plans.ts";
import { operatorRoutes } from "./operator_routes.ts";

const path = "/api/operator/plans";
const plan = { description: "The plan.", schema: schemas.planResponseSchema };

/** Mounts `/api/operator/plans`. */
export function operatorPlanRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts);

  route({
    route: `GET ${path}`,
    access: "organizations:read",
    operationId: "listPlans",
    summary: "List plans",
    description: "The oldest first.",
    query: pageQuerySchema,
    responses: { 200: { description: "A page of plans.", schema: schemas.plansSchema } },
  }, (_c, { query }) => listPlans(services, query));

  route({
    route: `POST ${path}`,
    access: "organizations:write",
    operationId: "createPlan",
    summary: "Create a plan",
    body: schemas.createPlanSchema,
    responses: { 201: plan },
    errors: ["plan_taken", "limit_reached"],
  }, async (_c, { body }, actor) => ({ plan: await createPlan(services, actor, body) }));

  route({
    route: `GET ${path}/{id}`,
    access: "organizations:read",
    operationId: "getPlan",
    summary: "Get a plan",
    params: schemas.planParamsSchema,
    responses: { 200: plan },
  }, async (_c, { params: { id } }) => ({ plan: await getPlan(services, id) }));

  route({
    route: `PATCH ${path}/{id}`,
    access: "organizations:write",
    operationId: "changePlan",
    summary: "Change a plan",
    description:
      "Takes effect on the next request of every organization that has the plan. `limits` replaces the whole list; what " +
      "organizations have used in the current windows counts against new and changed limits.",
    params: schemas.planParamsSchema,
    body: schemas.changePlanSchema,
    responses: { 200: plan },
    errors: ["plan_taken"],
  }, async (_c, { params: { id }, body }, actor) => ({
    plan: await changePlan(services, actor, { id, ...body }),
  }));

  route({
    route: `DELETE ${path}/{id}`,
    access: "organizations:write",
    operationId: "deletePlan",
    summary: "Delete a plan",
    description: "The default plan and plans that organizations have can't be deleted.",
    params: schemas.planParamsSchema,
    responses: { 204: { description: "Deleted." } },
    errors: ["plan_in_use"],
  }, (_c, { params: { id } }, actor) => deletePlan(services, actor, id));
}
