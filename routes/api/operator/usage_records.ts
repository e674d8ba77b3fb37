// The operators' API of usage records: recording on behalf of organizations.
import type { OpenAPIHono, z } from "@hono/zod-openapi";
import { recordTargetKinds } from "../../../db/meter/record_targets.ts";
import { usageBodyBytesMax } from "../../../domain/limits.ts";
import {
  type OperatorUsageInput,
  recordUsageAsOperator,
} from "../../../services/operator/usage_recording.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { operatorUsageBatchSchema } from "../../schemas/operator_usage.ts";
import { recordedBatchSchema } from "../../schemas/usage.ts";
import { usageInput } from "../meter/recording.ts";
import { operatorRoutes } from "./operator_routes.ts";

/** Mounts `POST /api/operator/usage`. */
export function operatorUsageRecordRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts);

  route({
    route: "POST /api/operator/usage",
    access: "usage:write",
    operationId: "recordUsageAsOperator",
    summary: "Record usage for organizations",
    description:
      "Up to 1,000 records of any organizations, without their keys. Either all are recorded or none. Idempotency keys are " +
      "unique within each organization, as for records with its API keys. Suspended organizations are not an obstacle.",
    body: operatorUsageBatchSchema,
    bodyBytesMax: usageBodyBytesMax,
    responses: { 201: { description: "The number of records.", schema: recordedBatchSchema } },
    errors: ["idempotency_conflict", "series_limit_reached"],
  }, (_c, { body }, actor) => recordUsageAsOperator(services, actor, body.records.map(operatorUsageInput)));
}

function operatorUsageInput(
  body: z.output<typeof operatorUsageBatchSchema>["records"][number],
): OperatorUsageInput {
  const kind = recordTargetKinds.find((kind) => body[kind] !== undefined) ?? "organizationId";
  return { ...usageInput(body), target: { kind, id: body[kind] ?? "" } };
}
