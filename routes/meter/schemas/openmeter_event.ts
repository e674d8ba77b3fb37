// Events as OpenMeter's SDKs send them. Each meter of OpenMeter names the field of the data that holds its value, so here the
// request does, and no event counts without a value.
import { z } from "@hono/zod-openapi";
import { type ErrorDetail, validationError } from "../../../domain/errors.ts";
import * as limits from "../../../domain/limits.ts";
import type { UsageInput } from "../../../domain/meter/usage_record.ts";
import { joinPath } from "../../../domain/json_bounds.ts";
import { batchArray } from "../../schemas/batch_array.ts";
import { check } from "../../schemas/check.ts";
import {
  checkAttributes,
  cloudEventBatchType,
  cloudEventType,
  eventAttributes,
  type EventFault,
  propertyFault,
  quantityOf,
  quantityOne,
  shortName,
  usageOfEvent,
} from "./cloud_event.ts";
import { required } from "../../schemas/messages.ts";
import { propertyLimitWords, propertyNameLimits } from "./usage.ts";

/** Locates the quantity of an event. */
interface EventValue {
  /** The field of the data, with dots before nested ones. Null if each event counts as 1. */
  readonly field: string | null;
  readonly isNamed: boolean;
}

/** `1`, or a field: `tokens`, `usage.tokens`, or with the `$.` of OpenMeter's meters. */
const valueForm = /^(1|(\$\.)?(?![\d.]+$)[^\s.$*[\]]+(\.[^\s.$*[\]]+)*)$/;
const valueCharactersMax = limits.usagePropertyNameCharactersMax + "$.".length;

export const eventsQuerySchema = z.strictObject({
  value: z.string().max(valueCharactersMax, `must be at most ${valueCharactersMax} characters.`)
    .regex(
      valueForm,
      "must be a field of data, such as tokens, or 1 to count each event as 1. For a field of an object, send its path, such " +
        "as usage.tokens.",
    )
    .optional()
    .transform((value): EventValue => {
      if (value === undefined) return { field: "quantity", isNamed: false };
      return { field: value === "1" ? null : value.replace(/^\$\./, ""), isNamed: true };
    })
    .openapi({
      type: "string",
      pattern: valueForm.source,
      maxLength: valueCharactersMax,
      description:
        "The field of `data` that holds the quantity of each event: `tokens`, or `usage.tokens` for a field of an object. The " +
        "`$.` of OpenMeter's meters is optional. `1` counts each event as 1, as meters that count do.",
      default: "quantity",
    }),
});

const eventSchema = eventAttributes.extend({
  data: z.record(z.string(), z.unknown()).nullish().openapi({
    type: ["object", "null"],
    description:
      "The quantity is in the field that the query parameter `value` names. It is from 0 to 2^53−1 with at most 6 decimal " +
      "places, as a number or a string of decimal digits. Every other string, number or boolean is stored as a property: at " +
      `most ${limits.usagePropertiesMax} including the subject, with ${propertyLimitWords}. Fields of objects have names such ` +
      "as `usage.model`. Arrays are rejected.",
    additionalProperties: true,
    ...propertyNameLimits,
    example: { quantity: 2.5, region: "eu-central" },
  }),
}).transform((event, context) => {
  checkAttributes(event, (path, message) => context.addIssue({ code: "custom", path, message }));
  return event;
}).openapi("OpenMeterEvent", {
  description: "A CloudEvent, version 1.0. Extension attributes are ignored.",
});
type Event = z.output<typeof eventSchema>;

const batchSchema = batchArray(eventSchema, "event", "must be an array of events.")
  .openapi("OpenMeterEventBatch", {
    description: `1 to ${limits.usageBatchRecordsMax} events. Either all are recorded or none.`,
  });

export const openMeterSchemas = {
  [cloudEventBatchType]: batchSchema,
  [cloudEventType]: eventSchema,
  "application/json": z.union([eventSchema, batchSchema]),
} as const;

/** @throws {AppError} `validation_failed`. */
export function readEvent(body: unknown, value: EventValue): UsageInput {
  const faults: ErrorDetail[] = [];
  const usage = usageOf(check(eventSchema, body, "body"), value, faultsAt(faults, ""));
  return usageOrFaults(usage, faults);
}

/** @throws {AppError} `validation_failed`. */
export function readBatch(body: unknown, value: EventValue): UsageInput[] {
  const faults: ErrorDetail[] = [];
  const usage: UsageInput[] = [];
  for (const [index, event] of check(batchSchema, body, "body").entries()) {
    usage.push(usageOf(event, value, faultsAt(faults, `[${index}]`)));
    if (faults.length >= limits.errorDetailsMax) break;
  }
  return usageOrFaults(usage, faults);
}

function faultsAt(faults: ErrorDetail[], start: string): EventFault {
  return (path, message) => {
    if (faults.length < limits.errorDetailsMax) faults.push({ path: path.reduce(joinPath, start), message });
  };
}

function usageOrFaults<T>(usage: T, faults: readonly ErrorDetail[]): T {
  if (faults.length > 0) throw validationError(faults);
  return usage;
}

function usageOf(event: Event, value: EventValue, fault: EventFault): UsageInput {
  const properties = new Map<string, string>();
  let found: unknown;
  const names = new Set<string>();
  const visit = (members: Readonly<Record<string, unknown>>, before: string) => {
    for (const [last, item] of Object.entries(members)) {
      const name = before + last;
      const isNested = typeof item === "object" && item !== null && !Array.isArray(item);
      if (isNested && name !== value.field && propertyFault(name, "") === null) {
        visit(item as Record<string, unknown>, `${name}.`);
      } else if (names.has(name)) {
        fault(
          ["data", shortName(name)],
          "is given twice: once with a dot in its name, and once in an object.",
        );
      } else {
        names.add(name);
        if (name === value.field) found = item;
        else if (item !== null) {
          const message = propertyFault(name, item);
          if (message === null) properties.set(name, String(item));
          else fault(["data", shortName(name)], message);
        }
      }
    }
  };
  visit(event.data ?? {}, "");
  const message = quantityFault(found, value);
  if (message !== null) fault(["data", value.field ?? ""], message);
  const quantity = value.field === null ? quantityOne : quantityOf(found) ?? quantityOne;
  return usageOfEvent(event, { quantity, properties }, fault);
}

const anyNumber = 'must be a number, such as 12.5, or a string of digits, such as "12.5".';

function quantityFault(found: unknown, { field, isNamed }: EventValue): string | null {
  if (field === null || quantityOf(found) !== null) return null;
  if (found === undefined || found === null) {
    return isNamed
      ? `${required} The quantity is taken from this field, because the query parameter value is “${field}”.`
      : `${required} Send the quantity in this field, name another one in the query, such as ?value=tokens, or count each event ` +
        "as 1 with ?value=1.";
  }
  const isDecimal = typeof found === "string" && /^-?\d+(\.\d+)?$/.test(found);
  const number = isDecimal ? Number(found) : found;
  if (typeof number !== "number") return anyNumber;
  if (number < 0) return "must not be negative. To take usage back, void its record.";
  if (number > Number.MAX_SAFE_INTEGER) return `must be at most ${Number.MAX_SAFE_INTEGER}.`;
  return "must have at most 6 decimal places. Round it before you send it.";
}
