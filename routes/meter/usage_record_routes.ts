// The API of single usage records: listing, reading and voiding them with an API key.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import {
  listUsageRecords,
  readUsageRecord,
  voidUsageRecord,
  withoutNames,
} from "../../services/meter/mod.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { idParam } from "../schemas/common.ts";
import * as schemas from "./schemas/usage.ts";
import { keyRoutes } from "./api_key_auth.ts";

const path = "/api/v1/usage/records";
const one = {
  params: z.object({ id: idParam("use", "The record's id.") }),
  responses: {
    200: { description: "The record.", schema: z.object({ usageRecord: schemas.usageRecordSchema }) },
  },
} as const;

export function usageRecordRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = keyRoutes(app, parts);

  route({
    route: `GET ${path}`,
    operationId: "listUsageRecords",
    summary: "List usage records of the key's organization",
    description:
      "Sorted by timestamp, newest first, including voided records. Records are deleted after the server's retention period.",
    query: schemas.usageRecordsQuerySchema,
    responses: { 200: { description: "A page of records.", schema: schemas.usageRecordsSchema } },
  }, (c, { query }, access) => listUsageRecords(services, access, { query, signal: c.req.raw.signal }));

  route({
    ...one,
    route: `GET ${path}/{id}`,
    operationId: "readUsageRecord",
    summary: "Get a usage record",
  }, async (_c, { params }, access) => ({
    usageRecord: withoutNames(await readUsageRecord(services, access, params.id)),
  }));

  route({
    ...one,
    route: `POST ${path}/{id}/void`,
    operationId: "voidUsageRecord",
    summary: "Void a usage record",
    description:
      `${schemas.voidWords} The key needs the permission \`usage:void\`, which only operators can grant.`,
    body: schemas.voidUsageSchema,
  }, async (c, { params, body }, access) => ({
    usageRecord: await voidUsageRecord(services, access, { ...params, ...body, signal: c.req.raw.signal }),
  }));
}
