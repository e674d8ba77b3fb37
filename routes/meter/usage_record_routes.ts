// The API of single usage records: listing, reading and voiding them with an API key, and for operators, who also record on behalf of
// organizations.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { recordTargetKinds } from "../../db/meter/mod.ts";
import { usageBodyBytesMax } from "../../domain/limits.ts";
import type { UsageRecord } from "../../domain/meter/usage_record.ts";
import type { OperatorAccess } from "../../services/access/mod.ts";
import {
  accessToRecord,
  listRecordsOfOrganizations,
  type OperatorUsageInput,
  recordUsageAsOperator,
} from "../../services/console/mod.ts";
import {
  listUsageRecords,
  readUsageRecord,
  voidUsageRecord,
  withoutNames,
} from "../../services/meter/mod.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { idParam } from "../schemas/common.ts";
import { keyRoutes } from "./api_key_auth.ts";
import { usageInput } from "./recording.ts";
import {
  operatorUsageBatchSchema,
  operatorUsageRecordSchema,
  operatorUsageRecordsQuerySchema,
  operatorUsageRecordsSchema,
} from "./schemas/operator_usage.ts";
import * as schemas from "./schemas/usage.ts";

const path = "/api/v1/usage/records";
const one = <T extends z.ZodType>(schema: T) => ({
  params: z.object({ id: idParam("use", "The record's id.") }),
  responses: { 200: { description: "The record.", schema: z.object({ usageRecord: schema }) } },
});
const oneOfKey = one(schemas.usageRecordSchema);

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
    ...oneOfKey,
    route: `GET ${path}/{id}`,
    operationId: "readUsageRecord",
    summary: "Get a usage record",
  }, async (_c, { params }, access) => ({
    usageRecord: withoutNames(await readUsageRecord(services, access, params.id)),
  }));

  route({
    ...oneOfKey,
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

const operatorPath = "/api/operator/usage/records";
const oneOfOperators = one(operatorUsageRecordSchema);

export function operatorUsageRecordRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts, { read: "usage:read", write: "usage:write" });

  route({
    route: "POST /api/operator/usage",
    operationId: "recordUsageAsOperator",
    summary: "Record usage for organizations",
    description:
      "Up to 1,000 records of any organizations, without their keys. Either all are recorded or none. Idempotency keys are " +
      "unique within each organization, as for records with its API keys. Suspended organizations are not an obstacle.",
    body: operatorUsageBatchSchema,
    bodyBytesMax: usageBodyBytesMax,
    responses: { 201: { description: "The number of records.", schema: schemas.recordedBatchSchema } },
    errors: ["idempotency_conflict", "series_limit_reached", "limit_exceeded"],
  }, (_c, { body }, actor) => recordUsageAsOperator(services, actor, body.records.map(operatorUsageInput)));

  route(
    {
      route: `GET ${operatorPath}`,
      operationId: "listOperatorUsageRecords",
      summary: "List usage records of organizations",
      description:
        "Newest first, including voided records. With `organizationId` or `apiKey`, they are sorted by timestamp; those of all " +
        "organizations are in reverse order of recording.",
      query: operatorUsageRecordsQuerySchema,
      responses: { 200: { description: "A page of records.", schema: operatorUsageRecordsSchema } },
    },
    (c, { query: { organizationId: organizationIds, ...query } }, actor) =>
      listRecordsOfOrganizations(services, actor, {
        query: { ...query, organizationIds },
        signal: c.req.raw.signal,
      }),
  );

  route({
    ...oneOfOperators,
    route: `GET ${operatorPath}/{id}`,
    operationId: "readOperatorUsageRecord",
    summary: "Get a usage record of any organization",
  }, async (_c, { params: { id } }, actor) => {
    const access = await accessToRecord(services, actor, id);
    return withOrganization(access, withoutNames(await readUsageRecord(services, access, id)));
  });

  operatorRoutes(app, parts, { read: "usage:read", write: "usage:void" })({
    ...oneOfOperators,
    route: `POST ${operatorPath}/{id}/void`,
    operationId: "voidOperatorUsageRecord",
    summary: "Void a usage record of any organization",
    description: `${schemas.voidWords} The void is in the organization's audit log.`,
    body: schemas.voidUsageSchema,
  }, async (c, { params, body }, actor) => {
    const access = await accessToRecord(services, actor, params.id);
    const input = { ...params, ...body, signal: c.req.raw.signal };
    return withOrganization(access, await voidUsageRecord(services, access, input));
  });
}

function withOrganization({ organizationId }: OperatorAccess, record: UsageRecord) {
  return { usageRecord: { ...record, organizationId } };
}

function operatorUsageInput(
  body: z.output<typeof operatorUsageBatchSchema>["records"][number],
): OperatorUsageInput {
  const kind = recordTargetKinds.find((kind) => body[kind] !== undefined) ?? "organizationId";
  return { ...usageInput(body), target: { kind, id: body[kind] ?? "" } };
}
