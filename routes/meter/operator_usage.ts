// The operators' API of usage across organizations.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { sumUsageOfOrganizations } from "../../services/console/mod.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { operatorUsageQuerySchema, operatorUsageSumsSchema } from "./schemas/operator_usage.ts";
import { sumRoutes } from "./usage_sums.ts";
import { operatorRoutes } from "../api/operator_routes.ts";

const description =
  "Of all organizations, unless you name some or a plan. Grouped by organization, rows are sorted by window and then by " +
  "organization. Sums that are neither filtered by organization, plan or API key nor grouped by organization or API key include " +
  "organizations that have been deleted since.";

export function operatorUsageRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  sumRoutes(operatorRoutes(app, parts, { read: "usage:read" }), parts, {
    path: "/api/operator/usage",
    query: operatorUsageQuerySchema,
    sums: operatorUsageSumsSchema,
    errors: ["not_found", "range_too_long", "dimension_unknown", "amount_unknown"],
    json: { operationId: "readUsageOfOrganizations", summary: "Get usage of organizations", description },
    csv: {
      operationId: "downloadUsageOfOrganizations",
      summary: "Download usage of organizations as CSV",
      description: `${description} All rows, without a size limit. Sums are exact decimal numbers.`,
    },
    read: (actor, options) => sumUsageOfOrganizations(parts.services, actor, options),
  });
}
