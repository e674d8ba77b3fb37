// The shapes of events of gateways, of their mappings and of their subjects.
import { z } from "@hono/zod-openapi";
import { validationError } from "../../../domain/errors.ts";
import {
  type CollectedEvent,
  type EventMapping,
  eventPathForm,
  eventSubjectCharactersMax,
  mappedMetricsMax,
  missingActions,
  roundings,
  scaleForm,
} from "../../../domain/meter/event_mapping.ts";
import { mappingPresets } from "../../../domain/meter/mapping_presets.ts";
import { exampleId, idOut, idParam, nameSchema, stringSchema, timeOut } from "../../schemas/common.ts";
import { atMost, characters, required } from "../../schemas/messages.ts";
import { checkAttributes, eventAttributes } from "./cloud_event.ts";
import { targetId } from "./operator_usage.ts";
import { propertyName, propertyValue, slugSchema } from "./usage.ts";

const textMax = 255;
const idMax = 1_024;
const text = (max: number) => z.string().min(1, "must not be empty.").max(max, characters(max));

/** An event of a gateway. Its type and its source are free, because mappings name them. */
export const collectedEventSchema = eventAttributes.extend({
  id: text(idMax),
  source: text(idMax),
  type: text(textMax),
  // LiteLLM on Python before 3.11 sends UTC without an offset.
  time: z.preprocess(
    (time) => typeof time === "string" && /T[\d:.]+$/.test(time) ? `${time}Z` : time,
    eventAttributes.shape.time,
  ),
  subject: text(eventSubjectCharactersMax).nullish(),
  data: z.record(z.string(), z.unknown()).nullish(),
}).transform((event, context): CollectedEvent => {
  checkAttributes(event, (path, message) => context.addIssue({ code: "custom", path, message }));
  const { id, source, type, subject = null, time = null, data } = event;
  return { id, source, type, subject, time, data: data ?? {} };
});

const path = z.string().max(textMax, characters(textMax)).regex(
  eventPathForm,
  "must be a path into data, such as usage.total_tokens, or @subject or @source.",
).openapi({ description: "A path into the data of the event, or `@subject` or `@source`.", example: "cost" });

const metricSchema = z.strictObject({
  productSlug: slugSchema.openapi({ description: "The product of the records.", example: "models" }),
  metric: slugSchema.openapi({ description: "The metric of the records.", example: "tokens" }),
  path: path.openapi({ description: "Where the quantity is.", example: "prompt_tokens" }),
  scale: z.string().regex(
    scaleForm,
    "must be a positive decimal text with at most 12 digits on each side of the point, such as 1000000.",
  ).nullish().transform((scale) => scale ?? null).openapi({
    type: ["string", "null"],
    description: "The quantity is multiplied by this decimal, exactly.",
    example: "1000000",
  }),
  round: z.enum(roundings).nullish().transform((round) => round ?? null).openapi({
    type: ["string", "null"],
    description: "Rounds to a whole number. Without it, the quantity is rounded to 6 decimals.",
  }),
  whenMissing: z.enum(missingActions).default("reject").describe(
    "The action if an event has no value at the path: `reject` it, or `skip` this metric.",
  ),
  properties: z.record(propertyName, propertyValue).default({}).openapi({
    description: "Constant properties of the records.",
    example: { type: "input" },
  }),
}).openapi("MappedMetric");

const fields = {
  name: nameSchema("The name of the mapping", { example: "LiteLLM" }),
  type: text(textMax).openapi({ description: "The type of its events.", example: "litellm_tokens" }),
  source: text(idMax).nullable().openapi({
    description: "Only events from this source. Null for all that have no mapping of their own.",
    example: "litellm-proxy",
  }),
  metrics: z.array(metricSchema).min(1, "must have at least one metric.").max(
    mappedMetricsMax,
    atMost(mappedMetricsMax, "metrics"),
  ).openapi({ description: "The records of an event: one for each entry, all or none." }),
  properties: z.record(propertyName, path).openapi({
    description: "Where the properties of all records are, by their names.",
    example: { model: "model" },
  }),
  subject: path.nullable().openapi({
    type: ["string", "null"],
    description: "Where the subject is. Null for that of the event.",
    example: "user.id",
  }),
};

export const createMappingSchema = z.strictObject({
  preset: z.enum(Object.keys(mappingPresets) as [string, ...string[]]).optional().describe(
    "Fields that aren't given are those of this gateway.",
  ),
  ...z.object(fields).partial().shape,
}).openapi("CreateEventMapping");
export const changeMappingSchema = z.strictObject(fields).partial().openapi("ChangeEventMapping");

export const mappingSchema = z.object({
  id: idOut("map", "The mapping's id."),
  name: stringSchema("Its name.", "LiteLLM"),
  type: stringSchema("The type of its events.", "litellm_tokens"),
  source: stringSchema("The source of its events. Null for any.", "litellm-proxy").nullable(),
  metrics: z.array(z.object({
    productSlug: stringSchema("The product of the records.", "models"),
    metric: stringSchema("The metric of the records.", "tokens"),
    path: stringSchema("Where the quantity is.", "prompt_tokens"),
    scale: stringSchema("The quantity is multiplied by this.", "1000000").nullable(),
    round: z.enum(roundings).nullable().describe("How it is rounded to a whole number. Null if it isn't."),
    whenMissing: z.enum(missingActions).describe("The action without a value at the path."),
    properties: z.record(z.string(), z.string()).describe("Constant properties."),
  })).describe("The records of an event."),
  properties: z.record(z.string(), z.string()).describe("Where the properties are."),
  subject: stringSchema("Where the subject is. Null for that of the event.", "user.id").nullable(),
  createdAt: timeOut("When the mapping was added."),
}).openapi("EventMapping");
export const mappingParamsSchema = z.object({ id: idParam("map", "The mapping's id.") });

export const tryMappingSchema = z.strictObject({
  event: z.record(z.string(), z.unknown()).describe("A CloudEvent, as the gateway sends it."),
}).openapi("TryEventMapping");
export const triedMappingSchema = z.object({
  subject: stringSchema("Whose usage it would be.", "customer-1"),
  records: z.array(z.object({
    productSlug: stringSchema("The product.", "models"),
    metric: stringSchema("The metric.", "tokens"),
    quantity: z.number().describe("The quantity."),
    properties: z.record(z.string(), z.string()).describe("The properties."),
  })).describe("The records that it would become."),
}).openapi("TriedEventMapping");

export const subjectSchema = z.object({
  id: idOut("sub", "The subject's id."),
  subject: stringSchema("The subject of the events.", "user-17"),
  organizationId: idOut("org", "Whose usage it is. Null for an unknown subject.").nullable(),
  apiKeyId: idOut("key", "The key that it is recorded for, if there is one.").nullable(),
  kept: z.int().describe("How many events are kept because the subject was unknown."),
  lost: z.int().describe(
    "How many events were not kept, because there were too many or they were too large.",
  ),
  firstAt: timeOut("When the first event arrived that was not recorded. Null without any.").nullable(),
  lastAt: timeOut("When the last one arrived.").nullable(),
  assignedAt: timeOut("When it was assigned. Null for an unknown subject.").nullable(),
}).openapi("EventSubject");
export const assignSubjectSchema = z.strictObject({
  subject: text(eventSubjectCharactersMax).openapi({
    description: "The subject of the events.",
    example: "user-17",
  }),
  organizationId: targetId("The organization whose usage it is.", exampleId("org")),
  externalId: targetId("The organization, by its external id.", "customer-4711"),
  apiKeyId: targetId("The API key to record for.", exampleId("key")),
}).openapi("AssignEventSubject");
export const subjectParamsSchema = z.object({ id: idParam("sub", "The subject's id.") });

/** Leaves out fields that are undefined. */
export const givenOf = <T extends object>(body: T) =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>;
  };

/** Completes a mapping by its preset. @throws {AppError} `validation_failed` for what is missing. */
export function newMapping(
  { preset, ...body }: z.output<typeof createMappingSchema>,
): Omit<EventMapping, "id"> {
  const mapping = {
    ...(preset === undefined ? { source: null, properties: {}, subject: null } : mappingPresets[preset]),
    ...givenOf(body),
  };
  const missing = (["name", "type", "metrics"] as const).filter((name) => mapping[name] === undefined);
  if (missing.length > 0) throw validationError(missing.map((path) => ({ path, message: required })));
  return mapping as Omit<EventMapping, "id">;
}
