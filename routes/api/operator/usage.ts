// The operators' API of usage across organizations.
import type { OpenAPIHono, z } from "@hono/zod-openapi";
import type { OperatorActor } from "../../../domain/actor.ts";
import { sumUsageOfOrganizations } from "../../../services/operator/usage.ts";
import type { AppContext, AppEnv, AppParts } from "../../env.ts";
import { operatorUsageQuerySchema, operatorUsageSumsSchema } from "../../schemas/operator_usage.ts";
import { csvResponse, sendCsv, sendJson, usageFile } from "../job_bytes.ts";
import { operatorRoutes } from "./operator_routes.ts";

/** Mounts `GET /api/operator/usage` and `usage.csv`. */
export function operatorUsageRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const route = operatorRoutes(app, parts, { read: "usage:read" });
  const common = {
    query: operatorUsageQuerySchema,
    errors: ["not_found", "range_too_long"],
  } as const;
  const description =
    "Of all organizations, unless you name some. Grouped by organization, rows are sorted by window and then by " +
    "organization. Sums that are neither filtered nor grouped by organization or API key include organizations that have " +
    "been deleted since.";
  const handle = (format: "json" | "csv") =>
  async (
    c: AppContext,
    { query }: { query: z.output<typeof operatorUsageQuerySchema> },
    actor: OperatorActor,
  ) => {
    const { signal } = c.req.raw;
    const sums = await sumUsageOfOrganizations(parts.services, actor, { query, format, signal });
    return format === "json" ? sendJson(c, sums) : sendCsv(c, sums, usageFile(query, parts.services.clock()));
  };

  route({
    ...common,
    route: "GET /api/operator/usage",
    operationId: "readUsageOfOrganizations",
    summary: "Get usage of organizations",
    description,
    responses: { 200: { description: "Sums by window and group.", schema: operatorUsageSumsSchema } },
  }, handle("json"));

  route({
    ...common,
    route: "GET /api/operator/usage.csv",
    operationId: "downloadUsageOfOrganizations",
    summary: "Download usage of organizations as CSV",
    description: `${description} All rows, without a size limit. Sums are exact decimal numbers.`,
    responses: { 200: csvResponse },
  }, handle("csv"));
}
