// The operators' API of the audit log.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { isoTime } from "../../domain/time.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { listAuditEvents, operatorAccess, readAuditCsv } from "../../services/access/mod.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { auditFilters, operatorAuditEventSchema } from "./schemas/audit.ts";
import { pageOf, pageQuerySchema } from "../schemas/common.ts";
import { csvResponse, sendCsv } from "../api/job_bytes.ts";
import { organizationFilter } from "../schemas/organization_reference.ts";
import { operatorRoutes } from "../api/operator_routes.ts";

const filters = {
  ...auditFilters,
  organizationId: organizationFilter(
    "Returns its whole log. By default, the entries of everything that operators did.",
  ),
};

export function operatorAuditRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts, { read: "audit:read" });
  const logOf = async (actor: OperatorActor, organizationId: string | undefined) =>
    organizationId === undefined ? actor : await operatorAccess(services, actor, organizationId);

  route({
    route: "GET /api/operator/audit",
    operationId: "listOperatorAuditEvents",
    summary: "List audit log entries of operators or of an organization",
    description: "Newest first. Entries are kept for 400 days.",
    query: pageQuerySchema.extend(filters),
    responses: {
      200: { description: "A page of entries.", schema: pageOf("events", operatorAuditEventSchema) },
    },
  }, async (_c, { query: { action: actions, organizationId, ...query } }, actor) => {
    return await listAuditEvents(services, await logOf(actor, organizationId), { ...query, actions });
  });

  route({
    route: "GET /api/operator/audit.csv",
    operationId: "downloadOperatorAuditEvents",
    summary: "Download audit log entries of operators or of an organization as CSV",
    description: "All matching entries. `details` is JSON.",
    query: z.strictObject(filters),
    responses: { 200: csvResponse },
  }, async (c, { query: { action: actions, organizationId, ...query } }, actor) => {
    const csv = await readAuditCsv(services, await logOf(actor, organizationId), {
      filter: { ...query, actions },
      signal: c.req.raw.signal,
    });
    return sendCsv(c, csv, `audit-${isoTime(services.clock()).slice(0, 10)}.csv`);
  });
}
