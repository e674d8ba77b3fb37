// The usage API: reading usage with an API key, and with a session.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { activeAccess } from "../../services/access/mod.ts";
import { sumUsage, type UsageAccess } from "../../services/meter/mod.ts";
import type { AppEnv, AppParts } from "../env.ts";
import * as schemas from "./schemas/usage.ts";
import { sessionRoutes, withAccess } from "../api/endpoint.ts";
import { keyRoutes } from "./api_key_auth.ts";
import { sumRoutes } from "./usage_sums.ts";

const csvDescription =
  "All rows, without a size limit. Sums are exact decimal numbers. The columns are the window, the groups and the sums.";

export function readingRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const common = {
    query: schemas.usageQuerySchema,
    sums: schemas.usageSumsSchema,
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

  const session = sessionRoutes(app, parts, { tag: "Usage", errors: ["forbidden"] });
  sumRoutes(withAccess(session, activeAccess), parts, {
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
