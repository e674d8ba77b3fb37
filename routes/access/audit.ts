// The API of the audit log.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { isoTime } from "../../domain/time.ts";
import { activeAccess, listAuditEvents, readAuditCsv } from "../../services/access/mod.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { auditEventSchema, auditFilters } from "./schemas/audit.ts";
import { pageOf, pageQuerySchema } from "../schemas/common.ts";
import { csvResponse, sendCsv } from "../api/job_bytes.ts";
import { sessionRoutes } from "../api/endpoint.ts";

export function auditRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = sessionRoutes(app, parts, { tag: "Audit log", errors: ["forbidden"] });

  route({
    route: "GET /api/portal/audit",
    operationId: "listAuditEvents",
    summary: "List audit log entries of the active organization",
    description: "Newest first. Requires the admin or owner role. Entries are kept for 400 days.",
    query: pageQuerySchema.extend(auditFilters),
    responses: { 200: { description: "A page of entries.", schema: pageOf("events", auditEventSchema) } },
  }, (_c, { query: { action: actions, ...query } }, actor) => {
    return listAuditEvents(services, activeAccess(actor), { ...query, actions });
  });

  route({
    route: "GET /api/portal/audit.csv",
    operationId: "downloadAuditEvents",
    summary: "Download the audit log as CSV",
    description: "All matching entries. `details` is JSON.",
    query: z.strictObject(auditFilters),
    responses: { 200: csvResponse },
  }, async (c, { query: { action: actions, ...query } }, actor) => {
    const csv = await readAuditCsv(services, activeAccess(actor), {
      filter: { ...query, actions },
      signal: c.req.raw.signal,
    });
    return sendCsv(c, csv, `audit-${isoTime(services.clock()).slice(0, 10)}.csv`);
  });
}
