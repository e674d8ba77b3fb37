// The operators' API of usage records: recording on behalf of organizations, listing, reading and voiding.
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
import { readUsageRecord, voidUsageRecord, withoutNames } from "../../services/meter/mod.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { idParam } from "../schemas/common.ts";
import * as schemas from "./schemas/operator_usage.ts";
import { recordedBatchSchema, voidUsageSchema, voidWords } from "./schemas/usage.ts";
import { usageInput } from "./recording.ts";
import { operatorRoutes } from "../api/operator_routes.ts";

const path = "/api/operator/usage/records";
const one = {
  params: z.object({ id: idParam("use", "The record's id.") }),
  responses: {
    200: {
      description: "The record.",
      schema: z.object({ usageRecord: schemas.operatorUsageRecordSchema }),
    },
  },
} as const;

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
    body: schemas.operatorUsageBatchSchema,
    bodyBytesMax: usageBodyBytesMax,
    responses: { 201: { description: "The number of records.", schema: recordedBatchSchema } },
    errors: ["idempotency_conflict", "series_limit_reached", "limit_exceeded"],
  }, (_c, { body }, actor) => recordUsageAsOperator(services, actor, body.records.map(operatorUsageInput)));

  route(
    {
      route: `GET ${path}`,
      operationId: "listOperatorUsageRecords",
      summary: "List usage records of organizations",
      description:
        "Newest first, including voided records. With `organizationId` or `apiKey`, they are sorted by timestamp; those of all " +
        "organizations are in reverse order of recording.",
      query: schemas.operatorUsageRecordsQuerySchema,
      responses: { 200: { description: "A page of records.", schema: schemas.operatorUsageRecordsSchema } },
    },
    (c, { query: { organizationId: organizationIds, ...query } }, actor) =>
      listRecordsOfOrganizations(services, actor, {
        query: { ...query, organizationIds },
        signal: c.req.raw.signal,
      }),
  );

  route({
    ...one,
    route: `GET ${path}/{id}`,
    operationId: "readOperatorUsageRecord",
    summary: "Get a usage record of any organization",
  }, async (_c, { params: { id } }, actor) => {
    const access = await accessToRecord(services, actor, id);
    return withOrganization(access, withoutNames(await readUsageRecord(services, access, id)));
  });

  operatorRoutes(app, parts, { read: "usage:read", write: "usage:void" })({
    ...one,
    route: `POST ${path}/{id}/void`,
    operationId: "voidOperatorUsageRecord",
    summary: "Void a usage record of any organization",
    description: `${voidWords} The void is in the organization's audit log.`,
    body: voidUsageSchema,
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
  body: z.output<typeof schemas.operatorUsageBatchSchema>["records"][number],
): OperatorUsageInput {
  const kind = recordTargetKinds.find((kind) => body[kind] !== undefined) ?? "organizationId";
  return { ...usageInput(body), target: { kind, id: body[kind] ?? "" } };
}
