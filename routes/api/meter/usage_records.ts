// The API of single usage records: listing, reading and voiding them with an API key.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { listUsageRecords, readUsageRecord, withoutNames } from "../../../services/meter/usage_records.ts";
import { voidUsageRecord } from "../../../services/meter/usage_voids.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { apiKeyAccess } from "./api_key_auth.ts";
import { mount } from "../endpoint.ts";
import { idParam } from "../../schemas/common.ts";
import * as schemas from "../../schemas/usage.ts";

const path = "/api/v1/usage/records";
const one = {
  params: z.object({ id: idParam("use", "The record's id.") }),
  responses: {
    200: { description: "The record.", schema: z.object({ usageRecord: schemas.usageRecordSchema }) },
  },
} as const;

/** Mounts `/api/v1/usage/records`. */
export function usageRecordRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const apiKey = apiKeyAccess(parts);
  const common = { tag: "Usage", security: "apiKey" } as const;

  mount(app, {
    ...common,
    route: `GET ${path}`,
    operationId: "listUsageRecords",
    summary: "List usage records of the key's organization",
    description:
      "Sorted by timestamp, newest first, including voided records. Records are deleted after the server's retention period.",
    query: schemas.usageRecordsQuerySchema,
    responses: { 200: { description: "A page of records.", schema: schemas.usageRecordsSchema } },
  }, {
    ...apiKey,
    handle: (c, { query }, access) => listUsageRecords(services, access, { query, signal: c.req.raw.signal }),
  });

  mount(app, {
    ...common,
    ...one,
    route: `GET ${path}/{id}`,
    operationId: "readUsageRecord",
    summary: "Get a usage record",
  }, {
    ...apiKey,
    handle: async (_c, { params }, access) => ({
      usageRecord: withoutNames(await readUsageRecord(services, access, params.id)),
    }),
  });

  mount(app, {
    ...common,
    ...one,
    route: `POST ${path}/{id}/void`,
    operationId: "voidUsageRecord",
    summary: "Void a usage record",
    description:
      "The record no longer counts toward sums, counts, minimums and maximums. It stays in lists, and its idempotency key " +
      "stays in use. Voiding a record again has no effect. The key needs the permission `usage:void`, which only operators " +
      "can grant.",
    body: schemas.voidUsageSchema,
  }, {
    ...apiKey,
    handle: async (c, { params, body }, access) => ({
      usageRecord: await voidUsageRecord(services, access, {
        ...params,
        ...body,
        signal: c.req.raw.signal,
      }),
    }),
  });
}
