// The API of single usage records: listing, reading and voiding them with an API key.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { listUsageRecords, readUsageRecord, voidUsageRecord } from "../../../services/meter/usage_records.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { apiKeyAuth } from "./api_key_auth.ts";
import { mount } from "../endpoint.ts";
import { idParam } from "../../schemas/common.ts";
import {
  usageRecordSchema,
  usageRecordsQuerySchema,
  usageRecordsSchema,
  voidUsageSchema,
} from "../../schemas/usage.ts";

const path = "/api/v1/usage/records";
const one = {
  params: z.object({ id: idParam("use", "The record's id.") }),
  responses: { 200: { description: "The record.", schema: z.object({ usageRecord: usageRecordSchema }) } },
} as const;

/** Mounts `/api/v1/usage/records`. */
export function usageRecordRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const apiKey = apiKeyAuth(parts);
  const common = { tag: "Usage", security: "apiKey" } as const;

  mount(app, {
    ...common,
    method: "get",
    path,
    operationId: "listUsageRecords",
    summary: "List usage records of the key's organization",
    description:
      "Sorted by timestamp, newest first, including voided records. Records are deleted after the server's retention period.",
    query: usageRecordsQuerySchema,
    responses: { 200: { description: "A page of records.", schema: usageRecordsSchema } },
  }, {
    ...apiKey,
    handle: async (c, { query }, keyHash) =>
      c.json(await listUsageRecords(services, keyHash, { query, signal: c.req.raw.signal })),
  });

  mount(app, {
    ...common,
    ...one,
    method: "get",
    path: `${path}/{id}`,
    operationId: "readUsageRecord",
    summary: "Get a usage record",
  }, {
    ...apiKey,
    handle: async (c, { params }, keyHash) =>
      c.json({ usageRecord: await readUsageRecord(services, keyHash, params.id) }),
  });

  mount(app, {
    ...common,
    ...one,
    method: "post",
    path: `${path}/{id}/void`,
    operationId: "voidUsageRecord",
    summary: "Void a usage record",
    description:
      "The record no longer counts toward sums, counts, minimums and maximums. It stays in lists, and its idempotency key " +
      "stays in use. Voiding a record again has no effect.",
    body: voidUsageSchema,
  }, {
    ...apiKey,
    handle: async (c, { params, body }, keyHash) =>
      c.json({
        usageRecord: await voidUsageRecord(services, keyHash, {
          ...params,
          ...body,
          signal: c.req.raw.signal,
        }),
      }),
  });
}
