// Routes about one organization, whose handlers get the access to it: of members to their active one, and of operators to any.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { type Access, activeAccess, type OperatorAccess, operatorAccess } from "../../services/access/mod.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { type MountRoute, sessionRoutes, withAccess } from "./endpoint.ts";
import { operatorRoutes } from "./operator_routes.ts";

export function activeRoutes(
  app: OpenAPIHono<AppEnv>,
  parts: AppParts,
  { tag = "Usage" }: Partial<Pick<Parameters<typeof sessionRoutes>[2], "tag">> = {},
): MountRoute<Access> {
  return withAccess(sessionRoutes(app, parts, { tag, errors: ["forbidden"] }), activeAccess);
}

/** The organization is the `organizationId` of the query or the `id` of the path. @param scopes As for `operatorRoutes`. */
export function operatedRoutes(
  app: OpenAPIHono<AppEnv>,
  parts: AppParts,
  scopes: Parameters<typeof operatorRoutes>[2] = { read: "organizations:read", write: "organizations:write" },
): MountRoute<OperatorAccess> {
  return withAccess(
    operatorRoutes(app, parts, scopes),
    (actor, id, organizationId = id) => operatorAccess(parts.services, actor, organizationId),
  );
}
