// The standings of limits, for API keys, sessions and operators.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { activeAccess, operatorAccess } from "../../../services/access.ts";
import { readLimits } from "../../../services/meter/limits.ts";
import type { UsageAccess } from "../../../services/meter/usage_access.ts";
import type { AppContext, AppEnv, AppParts } from "../../env.ts";
import { limitStandingsSchema } from "../../schemas/limits.ts";
import { organizationParamsSchema } from "../../schemas/operator_organizations.ts";
import { requireSession } from "../../session.ts";
import { mount } from "../endpoint.ts";
import { operatorRoutes } from "../operator/operator_routes.ts";
import { apiKeyAccess } from "./api_key_auth.ts";

/** Mounts `/api/v1/limits`, `/api/portal/limits` and `/api/operator/organizations/{id}/limits`. */
export function limitRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const responses = {
    200: { description: "Every limit that applies, in its current window.", schema: limitStandingsSchema },
  } as const;
  const read = async (c: AppContext, access: UsageAccess) => ({
    limits: await readLimits(services, access, { signal: c.req.raw.signal }),
  });

  mount(app, {
    route: "GET /api/v1/limits",
    tag: "Usage",
    security: "apiKey",
    operationId: "readLimits",
    summary: "Get the limits of the key and its organization",
    description: "What is used of each limit, and when it resets.",
    responses,
  }, {
    ...apiKeyAccess(parts),
    handle: (c, _input, access) => read(c, access),
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
    handle: (c, _input, session) => read(c, activeAccess(session)),
  });

  operatorRoutes(app, parts, { read: "organizations:read" })({
    route: "GET /api/operator/organizations/{id}/limits",
    operationId: "readLimitsOfOrganization",
    summary: "Get the limits of an organization",
    description: "What is used of each limit, and when it resets.",
    params: organizationParamsSchema,
    responses,
  }, async (c, { params: { id } }, actor) => read(c, await operatorAccess(services, actor, id)));
}
