// The API of single usage records: listing, reading and voiding them with an API key.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import type { AppEnv, AppParts } from "../../env.ts";
import type { ApiKeyLimits } from "../../middleware/api_key_limits.ts";
import { apiKeyAuth } from "./api_key_auth.ts";
import { mount } from "../endpoint.ts";
import { idParam } from "../../schemas/common.ts";
import {
  usageRecordSchema,
  usageRecordsQuerySchema,
  usageRecordsSchema,
  voidUsageSchema,
} from "../../schemas/usage.ts";

/** Mounts `/api/v1/usage/records`. */
export function usageRecordRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts, limits: ApiKeyLimits): void {
  const { usageRecords } = parts.services;
  const apiKey = apiKeyAuth(parts, limits);
  const common = { tag: "Usage", security: "apiKey" } as const;

  mount(app, {
    ...common,
    method: "get",
    path: "/api/v1/usage/records",
    operationId: "listUsageRecords",
    summary: "List the records of the key's organization, newest first",
    description:
      "By timestamp. Voided records are there too. Records are kept for as long as the server is set to.",
    query: usageRecordsQuerySchema,
    responses: { 200: { description: "A page of records.", schema: usageRecordsSchema } },
  }, {
    ...apiKey,
    handle: async (c, { query }, keyHash) =>
      c.json(await usageRecords.listUsageRecordsByApiKey(keyHash, query, c.req.raw.signal)),
  });

  const one = {
    params: z.object({ id: idParam("use", "The record's id.") }),
    responses: { 200: { description: "The record.", schema: z.object({ usageRecord: usageRecordSchema }) } },
  } as const;

  mount(app, {
    ...common,
    ...one,
    method: "get",
    path: "/api/v1/usage/records/{id}",
    operationId: "readUsageRecord",
    summary: "Read a record of the key's organization",
  }, {
    ...apiKey,
    handle: async (c, { params }, keyHash) =>
      c.json({ usageRecord: await usageRecords.readUsageRecord(keyHash, params.id) }),
  });

  mount(app, {
    ...common,
    ...one,
    method: "post",
    path: "/api/v1/usage/records/{id}/void",
    operationId: "voidUsageRecord",
    summary: "Void a record",
    description:
      "Sums, counts, smallest and largest drop at once. The record stays in lists and its idempotency key stays " +
      "taken. Voiding it again gives the same answer.",
    body: voidUsageSchema,
  }, {
    ...apiKey,
    handle: async (c, { params, body }, keyHash) =>
      c.json({
        usageRecord: await usageRecords.voidUsageRecord(keyHash, { ...params, ...body }, c.req.raw.signal),
      }),
  });
}
