// The usage API: recording and reading with an API key, and reading with a session.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import type { UsageGroup } from "../../../db/meter/usage_sums.ts";
import { AppError, validationError } from "../../../domain/errors.ts";
import { errorDetailsMax, usageBodyBytesMax } from "../../../domain/limits.ts";
import { timestampFault, type UsageInput } from "../../../domain/meter/usage_record.ts";
import type { ReportBytes } from "../../../services/reports/reports.ts";
import type { UsageReadInput } from "../../../services/meter/usage_sums.ts";
import type { AppContext, AppEnv, AppParts } from "../../env.ts";
import type { ApiKeyLimits } from "../../middleware/api_key_limits.ts";
import { requireSession } from "../../session.ts";
import { apiKeyAuth } from "./api_key_auth.ts";
import { cloudEventsBody, cloudEventsDescription } from "./cloud_events.ts";
import { cloudEventHeaders, cloudEventSchemas } from "../../schemas/cloud_event.ts";
import { csvHeaders, csvResponse } from "./csv.ts";
import { mount } from "../endpoint.ts";
import { check } from "../../schemas/check.ts";
import { sendReport } from "./report.ts";
import {
  idempotencyKeySchema,
  recordedBatchSchema,
  recordedUsageSchema,
  usageBatchSchema,
  usageInputSchema,
  usageQuerySchema,
  usageSumsSchema,
} from "../../schemas/usage.ts";

type ParsedInput = z.output<typeof usageInputSchema>;

/** Mounts `/api/v1/usage` and `/api/portal/usage`. */
export function usageRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts, limits: ApiKeyLimits): void {
  const { usage, clock } = parts.services;
  const apiKey = apiKeyAuth(parts, limits);
  const recording = {
    method: "post",
    tag: "Usage",
    security: "apiKey",
    bodyBytesMax: usageBodyBytesMax,
    errors: ["idempotency_conflict", "series_limit_reached"],
  } as const;

  mount(app, {
    ...recording,
    path: "/api/v1/usage",
    operationId: "recordUsage",
    summary: "Record usage",
    description:
      "When this answers 201 the record is on disk. A repeat with the same idempotency key changes nothing.\n\n" +
      cloudEventsDescription,
    headers: z.object({ "Idempotency-Key": idempotencyKeySchema.optional(), ...cloudEventHeaders }),
    body: usageInputSchema,
    otherBodies: cloudEventSchemas,
    responses: {
      201: {
        description: "Recorded; of a batch of CloudEvents, how many.",
        schema: z.union([recordedUsageSchema, recordedBatchSchema]),
      },
      200: { description: "A repeat: the first record.", schema: recordedUsageSchema },
    },
  }, {
    ...apiKey,
    otherBody: (c, keyHash) => cloudEventsBody(c, { keyHash, usage, clock }),
    async handle(c, { body, bytes }, keyHash) {
      const header = idempotencyHeader(c);
      if (header !== null && (body.idempotencyKey ?? header) !== header) {
        throw validationError([{
          path: "idempotencyKey",
          message: "is not the one in the header Idempotency-Key.",
        }]);
      }
      checkTimestamps([body], clock(), () => "timestamp");
      const { duplicates, usageRecord } = await usage.recordUsage(keyHash, [usageInput(body, header)], bytes);
      return duplicates > 0
        ? c.json({ duplicate: true, usageRecord: usageRecord(0) }, 200)
        : c.json({ usageRecord: usageRecord(0) }, 201);
    },
  });

  mount(app, {
    ...recording,
    path: "/api/v1/usage/batch",
    operationId: "recordUsageBatch",
    summary: "Record up to 1,000 records, all or none",
    body: usageBatchSchema,
    responses: { 201: { description: "Recorded.", schema: recordedBatchSchema } },
  }, {
    ...apiKey,
    async handle(c, { body, bytes }, keyHash) {
      if (idempotencyHeader(c) !== null) {
        const message = "is for single records; give each record of a batch its own idempotencyKey.";
        throw validationError([{ path: "Idempotency-Key", message }]);
      }
      checkTimestamps(body.records, clock(), (index) => `records[${index}].timestamp`);
      const inputs = body.records.map((record) => usageInput(record, null));
      const { duplicates } = await usage.recordUsage(keyHash, inputs, bytes);
      return c.json({ accepted: inputs.length - duplicates, duplicates }, 201);
    },
  });

  const reading = {
    method: "get",
    tag: "Usage",
    query: usageQuerySchema,
    responses: { 200: { description: "Sums by window and group.", schema: usageSumsSchema } },
  } as const;
  const readingCsv = {
    ...reading,
    summary: "The same as CSV, of any length",
    description: "Sums are exact decimal numbers. The columns are those of the groups and of the sums.",
    responses: { 200: csvResponse },
  } as const;

  mount(app, {
    ...reading,
    path: "/api/v1/usage",
    operationId: "readUsage",
    summary: "Read usage of the key's organization",
    security: "apiKey",
    errors: ["range_too_long"],
  }, {
    ...apiKey,
    handle: async (c, { query }, keyHash) =>
      sendReport(c, await usage.readUsageByApiKey(keyHash, inputOf(query), c.req.raw.signal)),
  });

  mount(app, {
    ...readingCsv,
    path: "/api/v1/usage.csv",
    operationId: "readUsageCsv",
    security: "apiKey",
    errors: ["range_too_long"],
  }, {
    ...apiKey,
    handle: async (c, { query }, keyHash) =>
      sendCsv(c, await usage.readUsageCsvByApiKey(keyHash, inputOf(query), c.req.raw.signal)),
  });

  mount(app, {
    ...reading,
    path: "/api/portal/usage",
    operationId: "readOrganizationUsage",
    summary: "Read usage of the active organization",
    security: "session",
    errors: ["forbidden", "range_too_long"],
  }, {
    authenticate: (c) => requireSession(c, parts),
    handle: async (c, { query }, session) =>
      sendReport(c, await usage.readUsage(session, inputOf(query), c.req.raw.signal)),
  });

  mount(app, {
    ...readingCsv,
    path: "/api/portal/usage.csv",
    operationId: "downloadUsage",
    security: "session",
    errors: ["forbidden", "range_too_long"],
  }, {
    authenticate: (c) => requireSession(c, parts),
    async handle(c, { query }, session) {
      return sendCsv(c, await usage.readUsageCsv(session, inputOf(query), c.req.raw.signal));
    },
  });
}

/** Sums of different metrics are never added up: unless there is only one, each row names its metric. */
function inputOf(query: z.output<typeof usageQuerySchema>): UsageReadInput & { groupBy: UsageGroup[] } {
  const { groupBy = [], metric = [] } = query;
  const isNamed = groupBy.includes("metric") || metric.length === 1;
  return { ...query, groupBy: isNamed ? groupBy : [...groupBy, "metric"] };
}

function sendCsv(c: AppContext, report: ReportBytes): Response {
  return sendReport(c, report, csvHeaders(`usage-${report.head}.csv`));
}

function idempotencyHeader(c: AppContext): string | null {
  const header = c.get("headers")["idempotency-key"];
  if (header === undefined) return null;
  try {
    return check(idempotencyKeySchema, header, "body") as string;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw validationError((error.details ?? []).map(({ message }) => ({ path: "Idempotency-Key", message })));
  }
}

/** @throws {AppError} `validation_failed` that names each record whose time is out of range, so that all can be left out. */
function checkTimestamps(
  records: readonly ParsedInput[],
  now: number,
  pathOf: (index: number) => string,
): void {
  const faults = records.flatMap(({ timestamp }, index) => {
    const message = timestampFault(timestamp ?? null, now);
    return message === null ? [] : [{ path: pathOf(index), message }];
  });
  if (faults.length > 0) throw validationError(faults.slice(0, errorDetailsMax));
}

function usageInput(body: ParsedInput, header: string | null): UsageInput {
  return {
    productSlug: body.productSlug,
    metric: body.metric,
    quantity: body.quantity,
    timestamp: body.timestamp ?? null,
    idempotencyKey: body.idempotencyKey ?? header,
    properties: body.properties ?? null,
  };
}
