// The API of the audit log.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { type AuditAction, auditActions, auditActionsOf, auditGroups } from "../../domain/audit.ts";
import { isoTime } from "../../domain/meter/usage_window.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { byActor } from "../session.ts";
import { mount } from "./endpoint.ts";
import { csvResponse, sendCsv } from "./meter/report.ts";
import { exampleId, idOut, nextCursorSchema, pageQuerySchema, rangeEnd, timeOut } from "../schemas/common.ts";

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
  from: rangeEnd("Included; by default the oldest entry that is kept."),
  to: rangeEnd("Not included; by default now."),
  action: action.optional(),
  actorId: z.string().max(100).optional().openapi({ description: "Of a person or an API key." }),
};

const text = z.string().nullable();
const auditEventSchema = z.object({
  id: idOut("aud", "The entry's id."),
  at: timeOut("When it was done."),
  action: z.enum(Object.keys(auditActions) as [AuditAction, ...AuditAction[]]).openapi({
    description: "What was done.",
    example: "member.role_changed",
  }),
  actor: z.object({
    type: z.enum(["session", "apiKey", "operator", "system", "anonymous"]).openapi({
      description:
        "A person, a program with a key, the operator, the service itself, or somebody who is not known.",
    }),
    id: text.openapi({ description: "The id of the person or key.", example: exampleId("usr") }),
    name: text.openapi({ description: "As it was then.", example: "Ada Lovelace" }),
  }).openapi({ description: "Who did it." }),
  target: z.object({
    id: text.openapi({ description: "The id of what it was done to.", example: exampleId("usr") }),
    name: text.openapi({ description: "As it was then.", example: "Grace Hopper" }),
  }).nullable().openapi({ description: "What it was done to." }),
  details: z.record(z.string(), z.string()).openapi({
    description: "What else is known of it.",
    example: { from: "MEMBER", to: "ADMIN" },
  }),
  address: z.string().openapi({ description: "Where it came from.", example: "198.51.100.7" }),
  userAgent: z.string().openapi({ description: "What the client calls itself.", example: "curl/8.14.1" }),
  requestId: text.openapi({ description: "The `X-Request-Id` of the request's answer." }),
}).openapi("AuditEvent");

/** Mounts `/api/portal/audit` and `/api/portal/audit.csv`. */
export function auditRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { audit, clock } = parts.services;
  const common = {
    method: "get",
    tag: "Audit log",
    security: "session",
    errors: ["forbidden"],
  } as const;

  mount(app, {
    ...common,
    path: "/api/portal/audit",
    operationId: "listAuditEvents",
    summary: "Read the active organization's audit log, newest first",
    description: "For ADMINs and OWNERs. Entries are kept for 400 days.",
    query: pageQuerySchema.extend(filters),
    responses: {
      200: {
        description: "A page of entries.",
        schema: z.object({ events: z.array(auditEventSchema), nextCursor: nextCursorSchema }),
      },
    },
  }, {
    ...byActor(parts),
    handle: async (c, { query: { action: actions, ...query } }, actor) =>
      c.json(await audit.listAuditEvents(actor, { ...query, actions })),
  });

  mount(app, {
    ...common,
    path: "/api/portal/audit.csv",
    operationId: "downloadAuditEvents",
    summary: "The same as a table for spreadsheets, of any length",
    description: "`details` is JSON.",
    query: z.strictObject(filters),
    responses: { 200: csvResponse },
  }, {
    ...byActor(parts),
    async handle(c, { query: { action: actions, ...query } }, actor) {
      const report = await audit.readAuditCsv(actor, { ...query, actions }, c.req.raw.signal);
      return sendCsv(c, report, `audit-${isoTime(clock()).slice(0, 10)}.csv`);
    },
  });
}
