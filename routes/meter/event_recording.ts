// The address that OpenMeter's SDKs send events to. See docs/decisions/0054.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { usageBodyBytesMax } from "../../domain/limits.ts";
import { readJsonBody } from "../body.ts";
import type { AppContext, AppEnv, AppParts } from "../env.ts";
import { eventsQuerySchema, openMeterSchemas, readBatch, readEvent } from "./schemas/openmeter_event.ts";
import { mount } from "../api/endpoint.ts";
import { collectedBody, collectorErrors, keyOrCollectorAuth } from "./collecting.ts";
import { eventsBody, formOfKey } from "./cloud_events.ts";

export function eventRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  // The SDK for Python takes every other status for an error.
  const done = (c: AppContext) => c.body(null, 204);
  mount(app, {
    route: "POST /api/v1/events",
    tag: "Usage",
    operationId: "recordEvents",
    summary: "Record events of OpenMeter's SDKs",
    description:
      "Records CloudEvents 1.0 as OpenMeter's SDKs send them: the last path segment of `source` is the product, `type` the " +
      "metric, `time` the timestamp, and a field of `data` the quantity. An event without a quantity is rejected, unless each " +
      "event counts as 1. The records are on disk when the 204 response is sent. Sending an event again has no effect.",
    security: "apiKey",
    bodyBytesMax: usageBodyBytesMax,
    query: eventsQuerySchema,
    otherBodies: openMeterSchemas,
    responses: { 204: { description: "The events are recorded, or had already been." } },
    errors: [
      "idempotency_conflict",
      "series_limit_reached",
      "limit_exceeded",
      ...collectorErrors,
    ],
    hasProblems: true,
  }, {
    ...keyOrCollectorAuth(parts),
    async handle(c, { query }, auth) {
      const { contentType: type, handle, ...options } = typeof auth !== "string"
        ? collectedBody(c, services, auth)
        : eventsBody(
          c,
          formOfKey(c, {
            services,
            keyHash: auth,
            readEvent: (body) => readEvent(body, query.value),
            readBatch: (body) => readBatch(body, query.value),
            send: { record: done, batch: done },
          }),
        );
      return await handle(await readJsonBody(c, { bytesMax: usageBodyBytesMax, type, ...options }));
    },
  });
}
