// The standings of limits, for API keys, members and operators, and the plan of the active organization.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { readLimits, type UsageAccess } from "../../services/meter/mod.ts";
import { readPlan } from "../../services/people/mod.ts";
import type { AppContext, AppEnv, AppParts } from "../env.ts";
import {
  limitStandingsSchema,
  organizationPlanSchema,
  valuesIn,
  type ValuesQuery,
  valuesQuerySchema,
} from "./schemas/limits.ts";
import { organizationParamsSchema } from "../schemas/organization_reference.ts";
import { activeRoutes, operatedRoutes } from "../api/access_routes.ts";
import { keyRoutes } from "./api_key_auth.ts";

export function limitRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const common = {
    description:
      "The usage and the reset time of each limit, and the plan's features. Of a limit per value, the values that are closest " +
      "to it, or the one in the query.",
    query: valuesQuerySchema,
    responses: {
      200: { description: "Every limit that applies, in its current window.", schema: limitStandingsSchema },
    },
  } as const;
  const limitsOf = (c: AppContext, access: UsageAccess, query: ValuesQuery = {}) =>
    readLimits(services, access, { properties: valuesIn(query), signal: c.req.raw.signal });
  const read = async (c: AppContext, { query }: { query: ValuesQuery }, access: UsageAccess) => {
    if ("keyHash" in access) return { limits: await limitsOf(c, access, query), features: access.features };
    const [limits, { plan }] = await Promise.all([limitsOf(c, access, query), readPlan(services, access)]);
    return { limits, features: plan.features };
  };

  keyRoutes(app, parts)({
    ...common,
    route: "GET /api/v1/limits",
    operationId: "readLimits",
    summary: "Get the limits of the key and its organization",
  }, read);

  const memberRoute = activeRoutes(app, parts);
  memberRoute({
    ...common,
    route: "GET /api/portal/limits",
    operationId: "readOrganizationLimits",
    summary: "Get the limits of the active organization",
  }, read);
  memberRoute({
    route: "GET /api/portal/plan",
    operationId: "readOrganizationPlan",
    summary: "Get the plan of the active organization",
    description: "The plan's name, and every limit that applies to the organization, with its usage.",
    responses: { 200: { description: "The plan.", schema: organizationPlanSchema } },
  }, async (c, _input, access) => {
    const [plan, limits] = await Promise.all([readPlan(services, access), limitsOf(c, access)]);
    return { ...plan, limits };
  });

  operatedRoutes(app, parts)({
    ...common,
    route: "GET /api/operator/organizations/{id}/limits",
    operationId: "readLimitsOfOrganization",
    summary: "Get the limits of an organization",
    params: organizationParamsSchema,
  }, read);
}
