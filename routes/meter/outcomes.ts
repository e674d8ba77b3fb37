// The API of outcomes of requests with API keys, for members and for operators.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import {
  outcomes,
  outcomesKeptMs,
  rejectionsKeptMs,
  rejectionsOfKeyMax,
} from "../../domain/meter/outcome.ts";
import type { Access } from "../../services/access/mod.ts";
import { listRejections, type OutcomeQuery, readUsage } from "../../services/meter/mod.ts";
import { activeRoutes, operatedRoutes } from "../api/access_routes.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { idOut, pageOf, pageQuerySchema, stringSchema, timeOut } from "../schemas/common.ts";
import { organizationParamsSchema } from "../schemas/organization_reference.ts";
import { limitStandingSchema } from "./schemas/limits.ts";
import { timeOutInZone, usageQuerySchema } from "./schemas/usage.ts";

const dayMs = 24 * 3_600_000;
const outcomeSchema = z.enum(outcomes).openapi({
  description: "The outcome:\n\n" +
    "- `accepted`: the request succeeded.\n" +
    "- `duplicate`: it succeeded, and everything in it had been recorded or held before.\n" +
    "- `limit_exceeded`: it didn't fit into a limit of usage, holds or series.\n" +
    "- `rate_limited`: the key had reached its requests per second.\n" +
    "- `permission_missing`, `feature_missing`: the key lacked a permission, or its plan a feature.\n" +
    "- `suspended`: the organization was suspended.\n" +
    "- `revoked`, `expired`, `disabled`: the key didn't work.\n" +
    "- `address_denied`: the key can't be used from that address.\n" +
    "- `invalid`: any other 4xx status, such as 422.",
  example: "limit_exceeded",
});

const windows = ["hour", "day", "total"] as const;
const querySchema = usageQuerySchema.pick({ from: true, to: true, apiKey: true, timezone: true }).extend({
  window: z.enum(windows).optional().openapi({
    description: "The windows to count by, in `timezone`. `total` is one window for the whole range.",
    default: "day",
  }),
  groupBy: z.literal("apiKey", "must be apiKey.").optional().describe("`apiKey` counts each key by itself."),
});
const countsSchema = z.object({
  from: timeOutInZone("The start of the range, inclusive."),
  to: timeOutInZone("The end of the range, exclusive."),
  window: z.enum(windows).openapi({ description: "The requested windows.", example: "day" }),
  data: z.array(
    z.object({
      start: timeOutInZone("The start of the window, inclusive."),
      end: timeOutInZone("The end of the window, exclusive."),
      apiKey: idOut("key", "The key's id, if grouped by key.").optional(),
      outcome: outcomeSchema,
      count: z.number().int().describe("The number of requests."),
    }),
  ).describe("One row for each window, key and outcome that has requests."),
}).openapi("OutcomeCounts");

const rejectionSchema = z.object({
  time: timeOut("When the request was rejected."),
  outcome: outcomeSchema,
  message: stringSchema(
    "The message of the response. Null for a verification, and for a key that doesn't work.",
    "This usage exceeds a limit of the organization or of the API key.",
  ).nullable(),
  limit: limitStandingSchema.pick({
    limitId: true,
    productSlug: true,
    metric: true,
    per: true,
    by: true,
    value: true,
  }).nullable().describe("If the request exceeded a limit of usage: the first one."),
  requestId: stringSchema("The request's id, from the header `X-Request-Id`.", "req_019e3f51c2d84b1c7a90"),
  apiKey: z.object({
    id: idOut("key", "The key's id."),
    name: stringSchema("The key's name.", "Production"),
  }),
}).openapi("Rejection");

const counting = {
  description:
    "Requests with API keys, reading ones included, and verifications of keys. They are counted by hours of UTC: an hour belongs to the " +
    `window in which it begins. Counts are kept for ${
      outcomesKeptMs / dayMs
    } days and appear within seconds; a server that is killed ` +
    "loses those of its last seconds, so they are not for billing.",
  query: querySchema,
  responses: { 200: { description: "Requests by window and outcome.", schema: countsSchema } },
  errors: ["range_too_long"],
} as const;
const rejectionsQuerySchema = pageQuerySchema.extend({ apiKey: usageQuerySchema.shape.apiKey });
const listing = {
  description:
    `The newest first. The last ${rejectionsOfKeyMax} of each key are kept for ${
      rejectionsKeptMs / dayMs
    } days. They appear within ` +
    "seconds; during a flood, some are left out.",
  query: rejectionsQuerySchema,
  responses: {
    200: { description: "A page of rejections.", schema: pageOf("rejections", rejectionSchema) },
  },
} as const;

export function outcomeRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const count = (access: Access, query: OutcomeQuery, signal: AbortSignal) =>
    readUsage(services, access, { job: "sumOutcomes", query, signal });

  const member = activeRoutes(app, parts);
  member({
    ...counting,
    route: "GET /api/portal/outcomes",
    operationId: "readOutcomes",
    summary: "Count requests of the active organization by outcome",
  }, (c, { query }, access) => count(access, query, c.req.raw.signal));
  member({
    ...listing,
    route: "GET /api/portal/rejections",
    operationId: "listRejections",
    summary: "List the last rejected requests of the active organization",
  }, (_c, { query }, access) => listRejections(services, access, query));

  const operator = operatedRoutes(app, parts, { read: "usage:read" });
  const { id: organizationId } = organizationParamsSchema.shape;
  operator({
    ...counting,
    route: "GET /api/operator/outcomes",
    operationId: "readOutcomesOfOrganization",
    summary: "Count requests of an organization by outcome",
    query: querySchema.extend({ organizationId }),
  }, (c, { query: { organizationId: _id, ...query } }, access) => count(access, query, c.req.raw.signal));
  operator({
    ...listing,
    route: "GET /api/operator/rejections",
    operationId: "listRejectionsOfOrganization",
    summary: "List the last rejected requests of an organization",
    query: rejectionsQuerySchema.extend({ organizationId }),
  }, (_c, { query }, access) => listRejections(services, access, query));
}
