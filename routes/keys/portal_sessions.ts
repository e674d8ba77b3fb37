// The operators' API of portal sessions, for the servers of products.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { externalIdCharactersMax, returnToCharactersMax } from "../../domain/limits.ts";
import {
  portalSessionEntryMs,
  portalSessionMinutesMax,
  portalSessionsLiveMax,
  portalSessionsPerMinuteMax,
} from "../../domain/keys/portal_session_limits.ts";
import { externalIdPrefix } from "../../domain/console/organization.ts";
import { portalPages } from "../../domain/keys/portal_session.ts";
import { createPortalSession, endPortalSession } from "../../services/keys/mod.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { exampleId, idOut, idParam, nameSchema, stringSchema, timeOut } from "../schemas/common.ts";
import { characters } from "../schemas/messages.ts";
import { operatorRoutes } from "../api/operator_routes.ts";

const path = "/api/operator/portal-sessions";
const idFault = characters(externalIdCharactersMax, 1);
const idIn = (description: string, example: string) =>
  z.string().min(1, idFault).max(externalIdCharactersMax, idFault).openapi({ description, example });
const minutesFault = `must be a whole number from 1 to ${portalSessionMinutesMax}.`;

const createSchema = z.strictObject({
  organizationId: idIn("The organization.", exampleId("org")).optional(),
  externalId: idIn("The organization, by its external id.", "customer-4711").optional(),
  pages: z.array(z.enum(portalPages)).min(1, "must have at least one page.")
    .transform((pages) => portalPages.filter((page) => pages.includes(page)))
    .openapi({
      type: "array",
      description: "What the customer sees. They can change keys and webhooks if they see them.",
      example: ["keys", "usage"],
    }),
  user: z.strictObject({
    externalId: idIn("Their id in your own systems.", "user-12"),
    name: nameSchema("Their name", { example: "Ada Lovelace" }),
  }).optional().describe("Who it is, for the organization's audit log."),
  readOnly: z.boolean().default(false).describe("True if they can't change anything."),
  returnUrl: z.string().max(returnToCharactersMax, characters(returnToCharactersMax, 1)).optional().openapi({
    description:
      "A page of your product to go back to, for a link above the pages. Its origin must be in `EMBED_ORIGINS` or `ALLOWED_ORIGINS`.",
    example: "https://app.example.com/settings",
  }),
  minutes: z.int(minutesFault).min(1, minutesFault).max(portalSessionMinutesMax, minutesFault)
    .default(portalSessionMinutesMax).describe("How long the session lasts, from now."),
}).refine(
  ({ organizationId, externalId }) => (organizationId === undefined) !== (externalId === undefined),
  "must have exactly one of organizationId and externalId.",
).openapi("CreatePortalSession", {
  description: "Exactly one of `organizationId` and `externalId` is required.",
  example: {
    externalId: "customer-4711",
    pages: ["keys", "usage"],
    user: { externalId: "user-12", name: "Ada Lovelace" },
    returnUrl: "https://app.example.com/settings",
  },
});
const schema = z.object({
  id: idOut("pse", "The session's id."),
  url: stringSchema(
    "Where to send the customer's browser: the `src` of a frame, or the target of a redirect. It works once.",
    "https://auth.example.com/embed/enter?token=nQ7cN0a1bJm0u1T3sYb9cW2eX4gZ6iA8kC0mE2oG4qI",
  ),
  expiresAt: timeOut("When the session ends."),
}).openapi("CreatedPortalSession");

export function portalSessionRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const scope = "portal_sessions:write";
  const route = operatorRoutes(app, parts, { read: scope, write: scope, tokensOnly: true });
  route(
    {
      route: `POST ${path}`,
      operationId: "createPortalSession",
      summary: "Show a customer their pages in your app",
      description:
        `Your server signs its customer in to some pages of the portal. Open \`url\` within ${
          portalSessionEntryMs / 60_000
        } minutes; using it a second time ends the session. The session also ends when the operator token or the organization ` +
        `does. At most ${portalSessionsLiveMax} sessions of an organization are live, and a token creates at most ` +
        `${portalSessionsPerMinuteMax} a minute.`,
      body: createSchema,
      responses: { 201: { description: "The session.", schema } },
      errors: ["not_found", "limit_reached"],
    },
    (_c, { body: { organizationId, externalId, ...body } }, actor) =>
      createPortalSession(services, actor, {
        ...body,
        organization: organizationId ?? `${externalIdPrefix}${externalId}`,
      }),
  );
  route({
    route: `DELETE ${path}/{id}`,
    operationId: "endPortalSession",
    summary: "End a portal session",
    description: "For example, when your customer signs out. It takes effect immediately.",
    params: z.object({ id: idParam("pse", "The session's id.") }),
    responses: { 204: { description: "The session has ended." } },
  }, (_c, { params: { id } }, actor) => endPortalSession(services, actor, id));
}
