// The shapes of the audit log.
import { z } from "@hono/zod-openapi";
import { type AuditAction, auditActions, auditActionsOf, auditGroups } from "../../../domain/access/audit.ts";
import { idOut, parsed, rangeEnd, stringSchema, timeOut } from "../../schemas/common.ts";

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

export const auditFilters = {
  from: rangeEnd("The start of the range, inclusive. Defaults to the oldest entry."),
  to: rangeEnd("The end of the range, exclusive. Defaults to now."),
  action: action.optional(),
  actorId: z.string().max(100).optional().describe("The id of a user or an API key."),
};

export const auditEventSchema = z.object({
  id: idOut("aud", "The entry's id."),
  at: timeOut("When it happened."),
  action: z.enum(Object.keys(auditActions) as [AuditAction, ...AuditAction[]]).openapi({
    description: "The action.",
    example: "member.role_changed",
  }),
  actor: z.object({
    type: z.enum(["session", "apiKey", "operator", "system", "anonymous"]).describe(
      "A user or a portal session, an API key, the operator, the service itself, or an unknown person.",
    ),
    id: idOut("usr", "The id of the user, the portal session (`pse_`) or the key.").nullable(),
    name: stringSchema("The name at that time.", "Ada Lovelace").nullable(),
  }).describe("Who did it."),
  target: z.object({
    id: idOut("usr", "The target's id.").nullable(),
    name: stringSchema("The name at that time.", "Grace Hopper").nullable(),
  }).nullable().describe("The object of the action."),
  details: z.record(z.string(), z.string()).openapi({
    description: "Further details. A change has what its values were and are, such as `from` and `to`, or " +
      "`limits` and `previousLimits`. Products and metrics are slugs, quantities are in the unit of the metric.",
    example: { from: "MEMBER", to: "ADMIN" },
  }),
  address: stringSchema("The client's IP address.", "198.51.100.7"),
  userAgent: stringSchema("The client's user agent.", "curl/8.14.1"),
  requestId: stringSchema("The `X-Request-Id` of the response.").nullable(),
}).openapi("AuditEvent");

export const operatorAuditEventSchema = auditEventSchema.extend({
  organizationId: idOut("org", "The organization whose log the entry is in. Null for none.").nullable(),
}).openapi("OperatorAuditEvent");
