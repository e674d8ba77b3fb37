// The shapes of CloudEvents 1.0 in JSON, and what each part of an event becomes. What is not understood is refused when
// it may say how much was used, and passed over when the specification says that it is about the transport.
import { z } from "@hono/zod-openapi";
import { cloudEventKey, jsonContentTypeForm, productOfSource } from "../../domain/meter/cloud_event.ts";
import {
  usageBatchRecordsMax,
  usagePropertiesMax,
  usagePropertyNameCharactersMax,
  usagePropertyValueCharactersMax,
  usageTimestampFutureMaxMs,
  usageTimestampPastMaxMs,
} from "../../domain/limits.ts";
import { decimalForm, parseQuantity, type Quantity, splitQuantity } from "../../domain/meter/quantity.ts";
import { slugForm, type UsageInput } from "../../domain/meter/usage_record.ts";
import { timeSchema } from "./common.ts";
import { propertyNameLimits } from "./usage.ts";

/** The content types of events. */
export const cloudEventType = "application/cloudevents+json";
export const cloudEventBatchType = "application/cloudevents-batch+json";

const slugLimits =
  "1 to 64 letters, digits, dots, colons, dashes or underscores, beginning with a letter or digit";
const one: Quantity = { whole: 1, micro: 0 };

function text(message = "must be a string.") {
  return z.string({ error: ({ input }) => input === undefined || input === null ? "is required." : message })
    .min(1, "must not be empty.");
}

/** What an event's data becomes. */
interface EventData {
  readonly quantity: Quantity;
  readonly properties: readonly (readonly [name: string, value: string])[];
}

const data = z.record(z.string(), z.unknown(), { error: "must be an object." })
  .transform((members, context): EventData => {
    const fault = (name: string, message: string) => {
      context.addIssue({ code: "custom", path: [shortName(name)], message });
    };
    const properties: [string, string][] = [];
    let quantity: Quantity | null = one;
    for (const [name, value] of Object.entries(members)) {
      if (name === "quantity") {
        quantity = quantityOf(value);
        if (quantity === null) {
          fault(name, "must be a number from 0 to 9007199254740991 with at most 6 decimal places.");
        }
      } else if (value !== null) {
        const property = propertyOf(name, value);
        if ("message" in property) fault(name, property.message);
        else properties.push([name, property.value]);
      }
    }
    return quantity === null ? z.NEVER : { quantity, properties };
  })
  .openapi({
    type: ["object", "null"],
    description:
      "`quantity` is how much was used: from 0 to 2^53−1 with at most 6 decimal places, as a number or as a string of " +
      "decimal digits; 1 when it is left out. Every other string, number or boolean is kept as a property, up to " +
      `${usagePropertiesMax} together with the subject; names have 1 to ${usagePropertyNameCharactersMax} and values up ` +
      `to ${usagePropertyValueCharactersMax} characters. Objects and arrays are refused.`,
    properties: {
      quantity: {
        oneOf: [
          { type: "number", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
          { type: "string", pattern: decimalForm.source },
        ],
        default: 1,
      },
    },
    additionalProperties: {
      type: ["string", "number", "boolean", "null"],
      maxLength: usagePropertyValueCharactersMax,
    },
    ...propertyNameLimits,
    example: { quantity: 2.5, region: "eu-central" },
  });

/** @returns How much was used, or null for what says no quantity. */
function quantityOf(value: unknown): Quantity | null {
  if (typeof value === "number") return splitQuantity(value);
  return typeof value === "string" ? parseQuantity(value) : null;
}

/** @returns The property that a member of the data becomes, or why it cannot be one. */
function propertyOf(name: string, value: unknown): { value: string } | { message: string } {
  if (name === "" || name.length > usagePropertyNameCharactersMax) {
    return { message: `must have a name of 1 to ${usagePropertyNameCharactersMax} characters.` };
  }
  // Digits beyond these were lost when the JSON was read.
  if (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    return { message: "has more digits than a JSON number keeps; send it as a string." };
  }
  if (typeof value === "object") {
    return { message: "must be a string, a number or a boolean: it would be kept as a property." };
  }
  const property = String(value);
  return property.length > usagePropertyValueCharactersMax
    ? { message: `may have ${usagePropertyValueCharactersMax} characters at most.` }
    : { value: property };
}

/** Names that would be extension attributes and passed over, although who sends them means that they count. */
const refusedNames: Readonly<Record<string, string>> = {
  data_base64: "is not read; send JSON in data.",
  quantity: "belongs into data.",
  timestamp: "is not read; the attribute is called time.",
};

const attributes = z.looseObject({
  specversion: z.literal("1.0", { error: 'must be "1.0".' }).openapi({
    description: "The version of the specification.",
  }),
  id: text().openapi({
    description: "Together with the source, what the event is known by: a repeat changes nothing.",
    example: "4711",
  }),
  source: text().refine(
    (source) => source === "" || productOfSource(source) !== null,
    `must end with a path segment that is a product's slug: ${slugLimits}.`,
  ).openapi({
    description: `A URI reference. The last segment of its path is the product: ${slugLimits}.`,
    example: "https://app.example.com/products/tiles",
  }),
  type: text().refine((type) => type === "" || slugForm.test(type), `must be ${slugLimits}.`).openapi({
    pattern: slugForm.source,
    description: `The metric: ${slugLimits}.`,
    example: "requests",
  }),
  time: timeSchema.nullish().openapi({
    type: ["string", "null"],
    format: "date-time",
    example: "2026-11-21T14:03:11.250Z",
    description: `When it was used; the time of recording when left out. At most ${
      usageTimestampPastMaxMs / (24 * 3_600_000)
    } days back and ${usageTimestampFutureMaxMs / 60_000} minutes ahead.`,
  }),
  subject: text().max(
    usagePropertyValueCharactersMax,
    `may have ${usagePropertyValueCharactersMax} characters at most.`,
  ).nullish().openapi({
    description: `Kept as the property \`subject\`; ${usagePropertyValueCharactersMax} characters at most.`,
    example: "customer-1",
  }),
  datacontenttype: z.string().regex(jsonContentTypeForm, "must be JSON, such as application/json.").nullish()
    .openapi({
      description: "The content type of the data, if any: a JSON one.",
      example: "application/json",
    }),
  data: data.nullish(),
});

/** One event. @returns What is to be recorded. */
export const cloudEventSchema = attributes.transform((event, context): UsageInput => {
  const fault = (path: string[], message: string) => context.addIssue({ code: "custom", path, message });
  for (const name of Object.keys(event)) {
    // An attribute that is null is one that is left out (JSON format, 2.2).
    if (event[name] === null || Object.hasOwn(attributes.shape, name)) continue;
    const refused = Object.hasOwn(refusedNames, name) ? refusedNames[name] : undefined;
    if (refused !== undefined) fault([name], refused);
    else if (!/^[a-z0-9]+$/.test(name)) {
      fault([shortName(name)], "is not an attribute: their names have lower-case letters and digits only.");
    }
  }
  const { quantity, properties } = event.data ?? { quantity: one, properties: [] };
  const all = new Map(properties);
  const subject = event.subject ?? null;
  if (subject !== null) {
    if ((all.get("subject") ?? subject) !== subject) {
      fault(["data", "subject"], "is not the event's subject; only one of them can be kept.");
    }
    all.set("subject", subject);
  }
  if (all.size > usagePropertiesMax) {
    fault(["data"], `may have ${usagePropertiesMax} values at most, with the subject, beside the quantity.`);
  }
  return {
    productSlug: productOfSource(event.source) ?? "",
    metric: event.type,
    quantity,
    timestamp: event.time ?? null,
    idempotencyKey: cloudEventKey(event),
    properties: Object.fromEntries(all),
  };
}).openapi("CloudEvent", {
  description: "A CloudEvent, version 1.0. Extension attributes are passed over.",
});

const headerForm = "In binary mode, percent-encoded beyond printable ASCII: ";

/** The attributes of an event in binary mode, for the OpenAPI document: they are read in their own way. */
export const cloudEventHeaders = {
  "ce-specversion": z.literal("1.0").optional().openapi({
    description: "Makes the request an event in binary mode; the body is then its data, or none.",
  }),
  "ce-id": z.string().min(1).optional().openapi({
    description: `${headerForm}the event's id.`,
    example: "4711",
  }),
  "ce-source": z.string().min(1).optional().openapi({
    description: `${headerForm}the event's source; the last segment of its path is the product.`,
    example: "/products/tiles",
  }),
  "ce-type": z.string().regex(slugForm).optional().openapi({
    description: `In binary mode: the metric, ${slugLimits}.`,
    example: "requests",
  }),
  "ce-time": timeSchema.optional().openapi({
    type: "string",
    format: "date-time",
    description: "In binary mode: when it was used. ISO 8601 with a zone.",
  }),
  "ce-subject": z.string().min(1).max(usagePropertyValueCharactersMax).optional().openapi({
    description:
      `${headerForm}kept as the property \`subject\`; ${usagePropertyValueCharactersMax} characters at most.`,
    example: "customer-1",
  }),
};

/** Several events. */
export const cloudEventBatchSchema = z.array(cloudEventSchema, { error: "must be an array of events." })
  .min(1, "must have at least one event.")
  .max(usageBatchRecordsMax, `may have ${usageBatchRecordsMax} events at most.`)
  .openapi("CloudEventBatch", { description: `1 to ${usageBatchRecordsMax} events, recorded all or none.` });

/** The bodies that hold events, by content type. */
export const cloudEventSchemas = {
  [cloudEventType]: cloudEventSchema,
  [cloudEventBatchType]: cloudEventBatchSchema,
} as const;

/** @returns A sender's name for something, short enough to show. */
function shortName(name: string): string {
  return name.slice(0, 100).toWellFormed();
}
