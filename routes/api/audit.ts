// The API of the audit log.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { type AuditAction, auditActions, auditActionsOf, auditGroups } from "../../domain/audit.ts";
import { isoTime } from "../../domain/time.ts";
import { listAuditEvents, readAuditCsv } from "../../services/audit.ts";
import type { AppEnv, AppParts } from "../env.ts";
import {
  idOut,
  nextCursorSchema,
  pageQuerySchema,
  parsed,
  rangeEnd,
  stringSchema,
  timeOut,
} from "../schemas/common.ts";
import { csvResponse, sendCsv } from "./meter/report.ts";
import { sessionRoutes } from "./endpoint.ts";

const groups = Object.keys(auditGroups).join(", ");

const action = parsed(z.string(), (text): AuditAction[] | null => {
  const names = text.split(",").map((name) => name.trim());
  const isValid = names.every((name) => auditActionsOf(name).length > 0);
  return isValid ? [...new Set(names.flatMap(auditActionsOf))] : null;
}, () => `must be actions or groups of actions (${groups}), separated by commas.`).openapi({
  type: "string",
  example: "api_key.created,people",
  description: `Actions, or groups of actions, separated by commas. Groups: ${groups}. Actions: ${
    Object.keys(auditActions).join(", ")
  }.`,
});

const filters = {
  from: rangeEnd("The start of the range, inclusive. Defaults to the oldest entry."),
  to: rangeEnd("The end of the range, exclusive. Defaults to now."),
  action: action.optional(),
  actorId: z.string().max(100).optional().openapi({ description: "The id of a user or an API key." }),
};

const auditEventSchema = z.object({
  id: idOut("aud", "The entry's id."),
  at: timeOut("When it happened."),
  action: z.enum(Object.keys(auditActions) as [AuditAction, ...AuditAction[]]).openapi({
    description: "What was done.",
    example: "member.role_changed",
  }),
  actor: z.object({
    type: z.enum(["session", "apiKey", "operator", "system", "anonymous"]).openapi({
      description: "A user, an API key, the operator, the service itself, or an unknown person.",
    }),
    id: idOut("usr", "The id of the user or key.").nullable(),
    name: stringSchema("The name at that time.", "Ada Lovelace").nullable(),
  }).openapi({ description: "Who did it." }),
  target: z.object({
    id: idOut("usr", "The target's id.").nullable(),
    name: stringSchema("The name at that time.", "Grace Hopper").nullable(),
  }).nullable().openapi({ description: "What it was done to." }),
  details: z.record(z.string(), z.string()).openapi({
    description: "Further details.",
    example: { from: "MEMBER", to: "ADMIN" },
  }),
  address: stringSchema("The client's IP address.", "198.51.100.7"),
  userAgent: stringSchema("The client's user agent.", "curl/8.14.1"),
  requestId: stringSchema("The `X-Request-Id` of the response.").nullable(),
}).openapi("AuditEvent");

/** Mounts `/api/portal/audit` and `/api/portal/audit.csv`. */
export function auditRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = sessionRoutes(app, parts, { tag: "Audit log", errors: ["forbidden"] });

  route({
    route: "GET /api/portal/audit",
    operationId: "listAuditEvents",
    summary: "List audit log entries of the active organization",
    description: "Newest first. Requires the admin or owner role. Entries are kept for 400 days.",
    query: pageQuerySchema.extend(filters),
    responses: {
      200: {
        description: "A page of entries.",
        schema: z.object({ events: z.array(auditEventSchema), nextCursor: nextCursorSchema }),
      },
    },
  }, (_c, { query: { action: actions, ...query } }, actor) => {
    return listAuditEvents(services, actor, { ...query, actions });
  });

  route({
    route: "GET /api/portal/audit.csv",
    operationId: "downloadAuditEvents",
    summary: "Download the audit log as CSV",
    description: "All matching entries. `details` is JSON.",
    query: z.strictObject(filters),
    responses: { 200: csvResponse },
  }, async (c, { query: { action: actions, ...query } }, actor) => {
    const { signal } = c.req.raw;
    const report = await readAuditCsv(services, actor, { filter: { ...query, actions }, signal });
    return sendCsv(c, report, `audit-${isoTime(services.clock()).slice(0, 10)}.csv`);
  });
}
