// The usage API: sums of usage for API keys, members and operators, as JSON and as CSV.
import type { OpenAPIHono, z } from "@hono/zod-openapi";
import type { ErrorCode } from "../../domain/errors.ts";
import type { UsageRangeInput } from "../../domain/meter/usage_window.ts";
import { sumUsageOfOrganizations } from "../../services/console/mod.ts";
import { sumUsage, type UsageAccess } from "../../services/meter/mod.ts";
import type { JobBytes } from "../../services/reports/reports.ts";
import { activeRoutes } from "../api/access_routes.ts";
import type { MountRoute, RouteWords } from "../api/endpoint.ts";
import { csvResponse, sendCsv, sendJson, usageFile } from "../api/job_bytes.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { keyRoutes } from "./api_key_auth.ts";
import { operatorUsageQuerySchema, operatorUsageSumsSchema } from "./schemas/operator_usage.ts";
import { usageQuerySchema, usageSumsSchema } from "./schemas/usage.ts";

const csvDescription =
  "All rows, without a size limit. Sums are exact decimal numbers. The columns are the window, the groups and the sums.";

export function readingRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const common = {
    query: usageQuerySchema,
    sums: usageSumsSchema,
    errors: ["range_too_long", "dimension_unknown", "amount_unknown"],
    read: (access: UsageAccess, options: Parameters<typeof sumUsage>[2]) =>
      sumUsage(services, access, options),
  } as const;

  sumRoutes(keyRoutes(app, parts), parts, {
    ...common,
    path: "/api/v1/usage",
    json: { operationId: "readUsage", summary: "Get usage of the key's organization" },
    csv: {
      operationId: "readUsageCsv",
      summary: "Download usage of the key's organization as CSV",
      description: csvDescription,
    },
  });

  sumRoutes(activeRoutes(app, parts), parts, {
    ...common,
    path: "/api/portal/usage",
    json: { operationId: "readOrganizationUsage", summary: "Get usage of the active organization" },
    csv: {
      operationId: "downloadUsage",
      summary: "Download usage of the active organization as CSV",
      description: csvDescription,
    },
  });
}

const ofOrganizations =
  "Of all organizations, unless you name some or a plan. Grouped by organization, rows are sorted by window and then by " +
  "organization. Sums that are neither filtered by organization, plan or API key nor grouped by organization or API key include " +
  "organizations that have been deleted since.";

export function operatorUsageRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  sumRoutes(operatorRoutes(app, parts, { read: "usage:read" }), parts, {
    path: "/api/operator/usage",
    query: operatorUsageQuerySchema,
    sums: operatorUsageSumsSchema,
    errors: ["not_found", "range_too_long", "dimension_unknown", "amount_unknown"],
    json: {
      operationId: "readUsageOfOrganizations",
      summary: "Get usage of organizations",
      description: ofOrganizations,
    },
    csv: {
      operationId: "downloadUsageOfOrganizations",
      summary: "Download usage of organizations as CSV",
      description: `${ofOrganizations} All rows, without a size limit. Sums are exact decimal numbers.`,
    },
    read: (actor, options) => sumUsageOfOrganizations(parts.services, actor, options),
  });
}

/** Mounts a route with JSON and one with CSV. @param options `read`: returns the sums in a format. */
function sumRoutes<Actor, Query extends UsageRangeInput>(
  route: MountRoute<Actor>,
  { services }: AppParts,
  { path, query, sums, json, csv, errors, read }:
    & Record<"json" | "csv", Omit<RouteWords, "route">>
    & {
      path: `/${string}`;
      query: z.ZodType<Query>;
      sums: z.ZodType;
      errors: readonly ErrorCode[];
      read: (
        actor: Actor,
        options: { query: Query; format: "json" | "csv"; signal: AbortSignal },
      ) => Promise<JobBytes>;
    },
): void {
  route({
    ...json,
    route: `GET ${path}`,
    query,
    responses: { 200: { description: "Sums by window and group.", schema: sums } },
    errors,
  }, async (c, { query }, actor) => {
    return sendJson(c, await read(actor, { query, format: "json", signal: c.req.raw.signal }));
  });

  route({
    ...csv,
    route: `GET ${path}.csv`,
    query,
    responses: { 200: csvResponse },
    errors,
  }, async (c, { query }, actor) => {
    const sums = await read(actor, { query, format: "csv", signal: c.req.raw.signal });
    return sendCsv(c, sums, usageFile(query, services.clock()));
  });
}
