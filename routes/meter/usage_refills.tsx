// Refills: grants that repeat. Their shapes, their API for operators, and the console's page that voids one.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { windowPeriods } from "../../domain/meter/usage_limit.ts";
import { refillPeriods, usageRefillStatuses } from "../../domain/meter/usage_refill.ts";
import { getRefill, listRefills, voidRefill } from "../../services/meter/mod.ts";
import { everyWords, grantQuantity } from "../../views/meter/grants.tsx";
import { operatedRoutes } from "../api/access_routes.ts";
import type { App, AppEnv, AppParts } from "../env.ts";
import type { PortalParts } from "../portal/page.ts";
import { idOut, idParam, pageOf, pageQuerySchema, stringSchema, timeOut } from "../schemas/common.ts";
import { organizationParamsSchema } from "../schemas/organization_reference.ts";
import { voidPage, voidSchema } from "./usage_grants.tsx";

const schema = z.object({
  id: idOut("rfl", "The refill's id, which is the `refillId` of its grants."),
  limitId: idOut(
    "lim",
    "The limit that it was given for. Its grants raise every limit of the same product, metric and `per`.",
  ),
  productSlug: stringSchema("The product. Null for all products together.", "tiles").nullable(),
  metric: stringSchema("The metric. Null for all metrics together.", "requests").nullable(),
  per: z.enum(windowPeriods).optional().describe(
    "Of the limits that it raises. Missing for those in total.",
  ),
  quantity: z.number().openapi({ description: "That of each grant.", example: 5_000 }),
  every: z.enum(refillPeriods).describe("How often it gives a grant."),
  rollover: z.literal([0, 1]).openapi({
    type: "integer",
    enum: [0, 1],
    description: "How many turns later than at the next one each grant expires.",
    example: 0,
  }),
  until: timeOut("No turn begins at or after it.").nullable(),
  status: z.enum(usageRefillStatuses).describe("Whether it gives further grants."),
  reason: stringSchema("Why it was given.", "Included in the contract."),
  createdAt: timeOut("When it was made."),
  voidedAt: timeOut("When it was voided.").nullable(),
  voidReason: stringSchema("Why it was voided.", "Contract ended.").nullable(),
}).openapi("UsageRefill");
const apiPath = "/api/operator/organizations/{id}/refills";

export function usageRefillRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatedRoutes(app, parts);
  route({
    route: `GET ${apiPath}`,
    operationId: "operatorListRefills",
    summary: "List refills of an organization",
    description: "Grants that repeat, newest first.",
    params: organizationParamsSchema,
    query: pageQuerySchema,
    responses: { 200: { description: "A page of refills.", schema: pageOf("refills", schema) } },
  }, (_c, { query }, access) => listRefills(services, access, query));
  route({
    route: `POST ${apiPath}/{refillId}/void`,
    operationId: "voidRefill",
    summary: "Void a refill",
    description:
      "Ends the refill and its future grants, and what is left of those given. The used part stays used. Voiding a refill again has " +
      "no effect.",
    params: organizationParamsSchema.extend({ refillId: idParam("rfl", "The refill's id.") }),
    body: voidSchema,
    responses: { 200: { description: "The refill.", schema: z.object({ refill: schema }) } },
  }, async (_c, { params: { refillId: id }, body }, access) => ({
    refill: await voidRefill(services, access, { id, ...body }),
  }));
}

export function usageRefillPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  voidPage(app, parts, {
    noun: "refill",
    find: (access, id) => getRefill(services, access, id),
    fact: ({ every, quantity, metric }, catalogue) => ({
      label: everyWords[every],
      value: grantQuantity(quantity, metric, catalogue),
    }),
    end: (access, input) => voidRefill(services, access, input),
    words: {
      title: "Stop repeating",
      heading: "Stop repeating the grant of “{name}”?",
      text:
        "No further grants start. The unused part of those given can't be used anymore. The used part stays used. This can't be undone.",
      reason: "Reason for stopping it",
    },
  });
}
