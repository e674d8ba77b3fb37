// The operators' API of the audit log.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { isoTime } from "../../../domain/time.ts";
import { listOperatorAudit, readOperatorAuditCsv } from "../../../services/operator/audit.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { auditFilters, operatorAuditEventSchema } from "../../schemas/audit.ts";
import { exampleId, nextCursorSchema, pageQuerySchema } from "../../schemas/common.ts";
import { csvResponse, sendCsv } from "../meter/report.ts";
import { organizationParamsSchema } from "../../schemas/operator_organizations.ts";
import { operatorRoutes } from "./operator_routes.ts";

const filters = {
  ...auditFilters,
  organizationId: organizationParamsSchema.shape.id.optional().openapi({
    description:
      "An organization, by its id or as `external:` and its external id: returns its whole log. By default, the entries of " +
      "everything that operators did.",
    example: exampleId("org"),
  }),
};

/** Mounts `/api/operator/audit` and `/api/operator/audit.csv`. */
export function operatorAuditRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts);

  route({
    route: "GET /api/operator/audit",
    access: "audit:read",
    operationId: "listOperatorAuditEvents",
    summary: "List audit log entries of operators or of an organization",
    description: "Newest first. Entries are kept for 400 days.",
    query: pageQuerySchema.extend(filters),
    responses: {
      200: {
        description: "A page of entries.",
        schema: z.object({ events: z.array(operatorAuditEventSchema), nextCursor: nextCursorSchema }),
      },
    },
  }, (_c, { query: { action: actions, organizationId: organization, ...query } }) => {
    return listOperatorAudit(services, { ...query, actions, organization });
  });

  route({
    route: "GET /api/operator/audit.csv",
    access: "audit:read",
    operationId: "downloadOperatorAuditEvents",
    summary: "Download audit log entries of operators or of an organization as CSV",
    description: "All matching entries. `details` is JSON.",
    query: z.strictObject(filters),
    responses: { 200: csvResponse },
  }, async (c, { query: { action: actions, organizationId: organization, ...query } }, actor) => {
    const { signal } = c.req.raw;
    const filter = { ...query, actions, organization, signal };
    const report = await readOperatorAuditCsv(services, actor, filter);
    return sendCsv(c, report, `audit-${isoTime(services.clock()).slice(0, 10)}.csv`);
  });
}
