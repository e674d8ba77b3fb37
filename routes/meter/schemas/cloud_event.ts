// The shapes of CloudEvents 1.0 in JSON, and how an event becomes a usage record. Unknown parts are rejected if they could
// affect the quantity, and ignored if the specification allows extensions there.
import { z } from "@hono/zod-openapi";
import {
  cloudEventKey,
  jsonContentTypeForm,
  openMeterSource,
  productOfSource,
} from "../../../domain/meter/cloud_event.ts";
import * as limits from "../../../domain/limits.ts";
import { decimalForm, parseQuantity, type Quantity, splitQuantity } from "../../../domain/meter/quantity.ts";
import { slugForm, type UsageInput } from "../../../domain/meter/usage_record.ts";
import { batchArray } from "../../schemas/batch_array.ts";
import { stringSchema, timeSchema } from "../../schemas/common.ts";
import { atMost, mustBe, required } from "../../schemas/messages.ts";
import {
  propertyFaults,
  propertyLimitWords,
  propertyNameLimits,
  quantityFault,
  slugWords,
  timestampWords,
} from "./usage.ts";

export const cloudEventType = "application/cloudevents+json";
export const cloudEventBatchType = "application/cloudevents-batch+json";

export const quantityOne: Quantity = { whole: 1, micro: 0 };

/** @param remedy Follows the message about a missing text. */
const textOr = (remedy: string) =>
  z.string({
    error: ({ input }) => input === undefined || input === null ? required + remedy : mustBe("string"),
  }).min(1, `must not be empty.${remedy}`);
const text = textOr("");
const sourceRemedy = " Set it to your product, such as /products/tiles.";

const data = z.record(z.string(), z.unknown())
  .transform((members, context): EventData => {
    const fault = (name: string, message: string) =>
      context.addIssue({ code: "custom", path: [shortName(name)], message });
    const properties = new Map<string, string>();
    let quantity: Quantity | null = quantityOne;
    for (const [name, value] of Object.entries(members)) {
      if (name === "quantity") {
        quantity = quantityOf(value);
        if (quantity === null) fault(name, quantityFault);
      } else if (value !== null) {
        const message = propertyFault(name, value);
        if (message === null) properties.set(name, String(value));
        else fault(name, message);
      }
    }
    return quantity === null ? z.NEVER : { quantity, properties };
  });

/** The data of an event, for the OpenAPI document. */
export const cloudEventDataSchema = {
  type: "object",
  description: "Every string, number or boolean except `quantity` is stored as a property: at most " +
    `${limits.usagePropertiesMax} including the subject, with ${propertyLimitWords}. Objects and arrays are rejected.`,
  // In two parts, because in TypeScript an optional field must have the type of all unnamed fields.
  allOf: [{
    type: "object",
    additionalProperties: {
      type: ["string", "number", "boolean", "null"],
      maxLength: limits.usagePropertyValueCharactersMax,
    },
    ...propertyNameLimits,
  }, {
    type: "object",
    properties: {
      quantity: {
        type: ["number", "string"],
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        pattern: decimalForm.source,
        description:
          "From 0 to 2^53−1 with at most 6 decimal places, as a number or a string of decimal digits. Defaults to 1.",
      },
    },
  }],
  example: { quantity: 2.5, region: "eu-central" },
} as const;

export function quantityOf(value: unknown): Quantity | null {
  if (typeof value === "number") return splitQuantity(value);
  return typeof value === "string" ? parseQuantity(value) : null;
}

export function propertyFault(name: string, value: unknown): string | null {
  if (name === "" || name.length > limits.usagePropertyNameCharactersMax) return propertyFaults.name;
  // Parsing the JSON has already lost digits beyond these.
  if (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    return "has more digits than a JSON number can hold; send it as a string.";
  }
  if (typeof value === "object") return "must be a string, number or boolean.";
  return String(value).length > limits.usagePropertyValueCharactersMax ? propertyFaults.value : null;
}

/** Valid names of extension attributes that are rejected, because ignoring them would lose what the sender meant. */
const rejectedNames: Readonly<Record<string, string>> = {
  data_base64: "is not supported; send JSON in data.",
  quantity: "must be in data.",
  timestamp: "is not an attribute; use time.",
};

const subjectWords =
  `Stored as the property \`subject\`, at most ${limits.usagePropertyValueCharactersMax} characters.`;

export const eventAttributes = z.looseObject({
  specversion: z.literal("1.0", { error: 'must be "1.0".' }).describe(
    "The version of the CloudEvents specification.",
  ),
  id: text.openapi({
    description: "Identifies the event together with `source`. Repeated events have no effect.",
    example: "4711",
  }),
  source: textOr(sourceRemedy).refine(
    (source) => source !== openMeterSource,
    `is the default of OpenMeter's SDK, which names no product.${sourceRemedy}`,
  ).refine(
    (source) => source === "" || productOfSource(source) !== null,
    `must have a product as its last path segment, such as /products/tiles: ${slugWords}.`,
  ).openapi({
    description: `A URI reference. The last path segment is the product: ${slugWords}.`,
    example: "https://app.example.com/products/tiles",
  }),
  type: text.refine((type) => type === "" || slugForm.test(type), `must be ${slugWords}.`).openapi({
    pattern: slugForm.source,
    description: `The metric: ${slugWords}.`,
    example: "requests",
  }),
  time: timeSchema.nullish().openapi({
    type: ["string", "null"],
    format: "date-time",
    example: "2026-11-21T14:03:11.250Z",
    description: `When the usage occurred. ${timestampWords()}`,
  }),
  subject: text.max(limits.usagePropertyValueCharactersMax, propertyFaults.value).nullish().openapi({
    description: subjectWords,
    example: "customer-1",
  }),
  datacontenttype: z.string().regex(jsonContentTypeForm, "must be a JSON content type.").nullish()
    .openapi({
      description: "The content type of the data. Only JSON is supported.",
      example: "application/json",
    }),
  // Without a type of its own, which generators of clients would add to the reference's.
  data: z.unknown().optional().pipe(data.nullish()).openapi({
    anyOf: [{ $ref: "#/components/schemas/CloudEventData" }, { type: "null" }],
    description: "The quantity, and properties to store.",
    example: cloudEventDataSchema.example,
  }),
});

interface EventData {
  readonly quantity: Quantity;
  readonly properties: Map<string, string>;
}

export type EventFault = (path: string[], message: string) => void;

export function checkAttributes(event: Readonly<Record<string, unknown>>, fault: EventFault): void {
  for (const name of Object.keys(event)) {
    // Null means that the attribute is absent (JSON format, 2.2).
    if (event[name] === null || Object.hasOwn(eventAttributes.shape, name)) continue;
    const rejected = Object.hasOwn(rejectedNames, name) ? rejectedNames[name] : undefined;
    if (rejected !== undefined) fault([name], rejected);
    else if (!/^[a-z0-9]+$/.test(name)) {
      fault([shortName(name)], "is not a valid attribute name: use lowercase letters and digits.");
    }
  }
}

/** Returns the usage of an event. Adds problems with its subject and the number of its properties. */
export function usageOfEvent(
  event: Pick<z.output<typeof eventAttributes>, "id" | "source" | "type" | "time" | "subject">,
  { quantity, properties }: EventData,
  fault: EventFault,
): UsageInput {
  const subject = event.subject ?? null;
  if (subject !== null) {
    if ((properties.get("subject") ?? subject) !== subject) {
      fault(["data", "subject"], "must not differ from the subject of the event.");
    }
    properties.set("subject", subject);
  }
  if (properties.size > limits.usagePropertiesMax) {
    fault(["data"], atMost(limits.usagePropertiesMax, "properties, including the subject"));
  }
  return {
    productSlug: productOfSource(event.source) ?? "",
    metric: event.type,
    quantity,
    timestamp: event.time ?? null,
    idempotencyKey: cloudEventKey(event),
    properties: Object.fromEntries(properties),
  };
}

export const cloudEventSchema = eventAttributes.transform((event, context): UsageInput => {
  const fault: EventFault = (path, message) => context.addIssue({ code: "custom", path, message });
  checkAttributes(event, fault);
  return usageOfEvent(event, event.data ?? { quantity: quantityOne, properties: new Map() }, fault);
}).openapi("CloudEvent", {
  description: "A CloudEvent, version 1.0. Extension attributes are ignored.",
});

const headerWords = "For binary mode. Percent-encode everything outside printable ASCII.";

/** In binary mode, for the OpenAPI document. They are parsed separately. */
export const cloudEventHeaders = {
  "ce-specversion": z.literal("1.0").optional().describe(
    "Marks the request as an event in binary mode. The body is the event's data, if any.",
  ),
  "ce-id": stringSchema(`The event's id. ${headerWords}`, "4711").min(1).optional(),
  "ce-source": stringSchema(
    `The event's source. The last path segment is the product. ${headerWords}`,
    "/products/tiles",
  ).min(1).optional(),
  "ce-type": z.string().regex(slugForm).optional().openapi({
    description: `The metric: ${slugWords}. For binary mode.`,
    example: "requests",
  }),
  "ce-time": timeSchema.optional().openapi({
    type: "string",
    format: "date-time",
    description: "When the usage occurred, in ISO 8601 with a UTC offset. For binary mode.",
  }),
  "ce-subject": stringSchema(`${subjectWords} ${headerWords}`, "customer-1").min(1)
    .max(limits.usagePropertyValueCharactersMax).optional(),
};

export const cloudEventBatchSchema = batchArray(cloudEventSchema, "event", "must be an array of events.");

/** Shortens a name from the request, for an error message. */
export function shortName(name: string): string {
  return name.slice(0, 100).toWellFormed();
}
