// The API of the audit log.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import {
  type AuditAction,
  auditActions,
  auditActionsOf,
  type AuditEvent,
  auditGroups,
} from "../../domain/audit.ts";
import { isoTime } from "../../domain/usage_window.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { byActor } from "../session.ts";
import { csvHeaders, csvStream } from "./csv.ts";
import { mount } from "./endpoint.ts";
import { pageQuerySchema, timeSchema } from "./schemas.ts";

const action = z.string()
  .transform((text, context): AuditAction[] => {
    const names = text.split(",").map((name) => name.trim());
    const unknown = names.find((name) => auditActionsOf(name).length === 0);
    if (unknown === undefined) return [...new Set(names.flatMap(auditActionsOf))];
    context.addIssue({
      code: "custom",
      message: `must be actions or groups of them (${
        Object.keys(auditGroups).join(", ")
      }), separated by commas.`,
    });
    return z.NEVER;
  })
  .openapi({
    type: "string",
    example: "api_key.created,people",
    description:
      `Actions, or groups of them, separated by commas. Groups: ${Object.keys(auditGroups).join(", ")}. ` +
      `Actions: ${Object.keys(auditActions).join(", ")}.`,
  });

const filters = {
  from: timeSchema.optional().openapi({ description: "Included. Without it: from the oldest that is kept." }),
  to: timeSchema.optional().openapi({ description: "Not included." }),
  action: action.optional(),
  actorId: z.string().max(100).optional().openapi({ description: "Of a person or an API key." }),
};

const text = z.string().nullable();
const auditEventSchema = z.object({
  id: z.string().openapi({ example: "aud_0199d3c1a2b47c6e8f00112233445566" }),
  at: z.string().openapi({ format: "date-time" }),
  action: z.enum(Object.keys(auditActions) as [AuditAction, ...AuditAction[]]),
  actor: z.object({
    type: z.enum(["session", "apiKey", "operator", "system", "anonymous"]),
    id: text,
    name: text.openapi({ description: "As it was then." }),
  }),
  target: z.object({ id: text, name: text.openapi({ description: "As it was then." }) }).nullable(),
  details: z.record(z.string(), z.string()).openapi({ example: { from: "MEMBER", to: "ADMIN" } }),
  address: z.string().openapi({ example: "198.51.100.7" }),
  userAgent: z.string(),
  requestId: text.openapi({ description: "The `X-Request-Id` of the request's answer." }),
}).openapi("AuditEvent");

const csvColumns = [
  "at",
  "action",
  "actor",
  "actorId",
  "target",
  "targetId",
  "details",
  "address",
  "userAgent",
  "requestId",
];

/** Mounts `/api/portal/audit` and `/api/portal/audit.csv`. */
export function auditRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { audit, clock } = parts.services;
  const common = {
    method: "get",
    tag: "Audit log",
    security: "session",
    errors: ["unauthenticated", "forbidden", "validation_failed", "unavailable"],
  } as const;

  mount(app, {
    ...common,
    path: "/api/portal/audit",
    summary: "Read the active organization's audit log, newest first",
    description: "For ADMINs and OWNERs. Entries are kept for 400 days.",
    query: pageQuerySchema.extend(filters),
    answers: {
      200: {
        description: "A page of entries.",
        schema: z.object({ events: z.array(auditEventSchema), nextCursor: text }),
      },
    },
  }, {
    ...byActor(parts),
    answer: async (c, { query: { action: actions, ...query } }, actor) =>
      c.json(await audit.listAuditEvents(actor, { ...query, actions })),
  });

  mount(app, {
    ...common,
    path: "/api/portal/audit.csv",
    summary: "The same as a table for spreadsheets, of any length",
    description: "`details` is JSON.",
    query: z.strictObject(filters),
    answers: { 200: { description: "CSV (RFC 4180) with a line of names first.", contentType: "text/csv" } },
  }, {
    ...byActor(parts),
    answer(c, { query: { action: actions, ...query } }, actor) {
      const events = audit.streamAuditEvents(actor, { ...query, actions });
      const file = `audit-${isoTime(clock()).slice(0, 10)}.csv`;
      return c.body(csvStream(events, { columns: csvColumns, cellsOf }), 200, csvHeaders(file));
    },
  });
}

function cellsOf({ actor, target, details, ...event }: AuditEvent): string[] {
  return [
    event.at,
    event.action,
    actor.name ?? (actor.type === "session" ? "" : actor.type),
    actor.id ?? "",
    target?.name ?? "",
    target?.id ?? "",
    Object.keys(details).length === 0 ? "" : JSON.stringify(details),
    event.address,
    event.userAgent,
    event.requestId ?? "",
  ];
}
