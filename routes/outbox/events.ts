// The API of events, and what endpoints get of them, in the OpenAPI document.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { exampleEvent } from "../../domain/outbox/example_event.ts";
import { type EventType, eventTypes, operatorEventTypes } from "../../domain/outbox/event_types.ts";
import { activeAccess, operatorAccess } from "../../services/access/mod.ts";
import { listEvents } from "../../services/outbox/mod.ts";
import { sessionRoutes, whenDocumented } from "../api/endpoint.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { pageOf } from "../schemas/common.ts";
import * as schemas from "./schemas/events.ts";

const responses = {
  200: { description: "A page of events.", schema: pageOf("events", schemas.eventSchema) },
};

const bodies = "[Events](/docs/reference/events) has the fields of each type.";

export function eventsRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  sessionRoutes(app, parts, { tag: "Webhooks", errors: ["forbidden"] })({
    route: "GET /api/portal/events",
    operationId: "listEvents",
    summary: "List events of the active organization",
    description:
      `What an endpoint that receives everything would have got, newest first. Requires the admin or owner role. ${schemas.eventsKept} ${bodies}`,
    query: schemas.eventQuerySchema,
    responses,
  }, (_c, { query }, actor) => listEvents(services, activeAccess(actor), query));

  operatorRoutes(app, parts, { read: "events:read" })({
    route: "GET /api/operator/events",
    operationId: "listOperatorEvents",
    summary: "List events of all organizations or of one",
    description:
      `What an endpoint of operators that receives everything would have got, newest first. ${schemas.eventsKept} ${bodies}`,
    query: schemas.operatorEventQuerySchema,
    responses,
  }, async (_c, { query: { organizationId, ...query } }, actor) => {
    const scope = organizationId === undefined
      ? actor
      : await operatorAccess(services, actor, organizationId);
    return await listEvents(services, scope, query);
  });

  whenDocumented(app, () => registerWebhooks(app));
}

function registerWebhooks(app: OpenAPIHono<AppEnv>): void {
  for (const [type, meaning] of Object.entries(eventTypes) as [EventType, string][]) {
    app.openAPIRegistry.registerWebhook({
      method: "post",
      path: type,
      operationId: `${type.replaceAll(/[._]([a-z])/g, (_all, letter) => letter.toUpperCase())}Event`,
      summary: meaning,
      ...(operatorEventTypes.has(type) && { description: "Only endpoints of operators get it." }),
      tags: ["Webhooks"],
      security: [],
      request: {
        body: {
          required: true,
          content: {
            "application/json": { schema: schemas.eventBodySchema(type), example: exampleEvent(type) },
          },
        },
      },
      responses: { 200: { description: "Any status from 200 to 299 means that the event was received." } },
    });
  }
}
