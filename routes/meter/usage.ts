// The usage API: recording usage with an API key.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { AppError, validationError } from "../../domain/errors.ts";
import { usageBodyBytesMax } from "../../domain/limits.ts";
import { apiKeyAuth } from "./api_key_auth.ts";
import { cloudEventsBody, cloudEventsDescription } from "./cloud_events.ts";
import { collectedBody, collectorErrors, keyOrCollectorAuth } from "./collecting.ts";
import { cloudEventHeaders, cloudEventSchema, cloudEventType } from "./schemas/cloud_event.ts";
import type { AppContext, AppEnv, AppParts } from "../env.ts";
import { mount } from "../api/endpoint.ts";
import { check } from "../schemas/check.ts";
import { recordRequest, sendBatch, sendRecord, usageInput } from "./recording.ts";
import * as schemas from "./schemas/usage.ts";

export function recordingRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const apiKey = apiKeyAuth(parts);
  const common = {
    tag: "Usage",
    security: "apiKey",
    bodyBytesMax: usageBodyBytesMax,
    errors: ["idempotency_conflict", "series_limit_reached", "limit_exceeded"],
  } as const;

  mount(app, {
    ...common,
    route: "POST /api/v1/usage",
    errors: [...common.errors, ...collectorErrors],
    operationId: "recordUsage",
    summary: "Record usage",
    description:
      "The record is on disk when the 201 response is sent. A repeated request with the same idempotency key has no " +
      `effect.\n\n${cloudEventsDescription}`,
    headers: z.object({ "Idempotency-Key": schemas.idempotencyKeySchema.optional(), ...cloudEventHeaders }),
    body: schemas.usageInputSchema,
    otherBodies: { [cloudEventType]: cloudEventSchema },
    responses: {
      201: {
        description: "The new record.",
        schema: schemas.recordedUsageSchema,
      },
      200: { description: "The usage had already been recorded.", schema: schemas.recordedUsageSchema },
    },
  }, {
    ...keyOrCollectorAuth(parts),
    otherBody: (c, auth) =>
      typeof auth === "string" ? cloudEventsBody(c, services, auth) : collectedBody(c, services, auth),
    async handle(c, { body, bytes }, auth) {
      // Without a key, all bodies are events.
      const keyHash = String(auth);
      const header = idempotencyHeader(c);
      if (header !== null && (body.idempotencyKey ?? header) !== header) {
        const message = "must not differ from the header Idempotency-Key.";
        throw validationError([{ path: "idempotencyKey", message }]);
      }
      const inputs = [usageInput(body, header)];
      const timePath = () => "timestamp";
      return sendRecord(c, await recordRequest(c, services, keyHash, { inputs, bytes, timePath }));
    },
  });

  mount(app, {
    ...common,
    route: "POST /api/v1/usage/batch",
    operationId: "recordUsageBatch",
    summary: "Record a batch of usage",
    description: "Up to 1,000 records. Either all are recorded or none.",
    body: schemas.usageBatchSchema,
    responses: { 201: { description: "The number of records.", schema: schemas.recordedBatchSchema } },
  }, {
    ...apiKey,
    async handle(c, { body, bytes }, keyHash) {
      if (idempotencyHeader(c) !== null) {
        const message = "is not allowed with a batch; give each record its own idempotencyKey.";
        throw validationError([{ path: "Idempotency-Key", message }]);
      }
      const inputs = body.records.map((record) => usageInput(record));
      const timePath = (index: number) => `records[${index}].timestamp`;
      const recorded = await recordRequest(c, services, keyHash, { inputs, bytes, timePath });
      return sendBatch(c, recorded, inputs.length);
    },
  });
}

export function idempotencyHeader(c: AppContext): string | null {
  const header = c.get("headers")["idempotency-key"];
  if (header === undefined) return null;
  try {
    return check(schemas.idempotencyKeySchema, header, "body");
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw validationError((error.details ?? []).map(({ message }) => ({ path: "Idempotency-Key", message })));
  }
}
