// The standings of limits, for API keys, sessions and operators.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { readOwnLimits } from "../../../services/meter/limits.ts";
import { readLimitsAsOperator } from "../../../services/operator/usage.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { limitStandingsSchema } from "../../schemas/limits.ts";
import { organizationParamsSchema } from "../../schemas/operator_organizations.ts";
import { requireSession } from "../../session.ts";
import { mount } from "../endpoint.ts";
import { operatorRoutes } from "../operator/operator_routes.ts";
import { apiKeyAuth } from "./api_key_auth.ts";

/** Mounts `/api/v1/limits`, `/api/portal/limits` and `/api/operator/organizations/{id}/limits`. */
export function limitRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const responses = {
    200: { description: "Every limit that applies, in its current window.", schema: limitStandingsSchema },
  } as const;

  mount(app, {
    route: "GET /api/v1/limits",
    tag: "Usage",
    security: "apiKey",
    operationId: "readLimits",
    summary: "Get the limits of the key and its organization",
    description: "What is used of each limit, and when it resets.",
    responses,
  }, {
    ...apiKeyAuth(parts),
    handle: async (c, _input, keyHash) => ({
      limits: await readOwnLimits(services, keyHash, c.req.raw.signal),
    }),
  });

  mount(app, {
    route: "GET /api/portal/limits",
    tag: "Usage",
    security: "session",
    operationId: "readOrganizationLimits",
    summary: "Get the limits of the active organization",
    description: "What is used of each limit, and when it resets.",
    responses,
    errors: ["forbidden"],
  }, {
    authenticate: (c) => requireSession(c, parts),
    handle: async (c, _input, session) => ({
      limits: await readOwnLimits(services, session, c.req.raw.signal),
    }),
  });

  operatorRoutes(app, parts)({
    route: "GET /api/operator/organizations/{id}/limits",
    access: "organizations:read",
    operationId: "readLimitsOfOrganization",
    summary: "Get the limits of an organization",
    description: "What is used of each limit, and when it resets.",
    params: organizationParamsSchema,
    responses,
  }, async (c, { params: { id } }, actor) => ({
    limits: await readLimitsAsOperator(services, actor, { idText: id, signal: c.req.raw.signal }),
  }));
}
