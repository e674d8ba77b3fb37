// How an event of a gateway becomes usage records: a mapping says where its quantities, its properties and its subject are.
import { hash } from "node:crypto";
import type { ErrorDetail } from "../errors.ts";
import { usagePropertiesMax, usagePropertyValueCharactersMax } from "../limits.ts";
import { parseQuantity, type Quantity, scaledToDecimal } from "./quantity.ts";
import type { UsageInput } from "./usage_record.ts";

export const roundings = ["nearest", "up"] as const;
export const missingActions = ["reject", "skip"] as const;
/** The records of an event, at most. */
export const mappedMetricsMax = 8;
/** A dotted path into the data, such as `usage.total_tokens` or `$.cost`; or an attribute. */
export const eventPathForm = /^(@subject|@source|(\$\.)?[^\s.$@*[\]]+(\.[^\s.$@*[\]]+){0,9})$/;
/** A positive decimal with at most 12 digits on each side of the point. */
export const scaleForm = /^(?=.*[1-9])\d{1,12}(\.\d{1,12})?$/;
/** Texts with more characters are no quantities. */
const numberCharactersMax = 64;
const placesOfQuantity = 6;
export const eventSubjectCharactersMax = 255;

/** Describes one record of an event, whose quantity is at one path. */
export interface MappedMetric {
  readonly productSlug: string;
  readonly metric: string;
  readonly path: string;
  /** See {@linkcode scaleForm}. */
  readonly scale: string | null;
  /** To a whole number; null to six decimals, the nearest. */
  readonly round: typeof roundings[number] | null;
  readonly whenMissing: typeof missingActions[number];
  /** Constants. */
  readonly properties: Readonly<Record<string, string>>;
}

export interface EventMapping {
  readonly id: string;
  readonly name: string;
  /** Those of the events. Without a source, of any. */
  readonly type: string;
  readonly source: string | null;
  readonly metrics: readonly MappedMetric[];
  /** Paths by the name of the property. */
  readonly properties: Readonly<Record<string, string>>;
  /** In place of the event's subject. */
  readonly subject: string | null;
}

/** An event with the attributes that matter, as CloudEvents 1.0 names them. */
export interface CollectedEvent {
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject: string | null;
  /** In milliseconds since 1970; null without one. */
  readonly time: number | null;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Says why an event can't be mapped. `path` is from the event. */
export interface MappingFault {
  readonly code: "validation_failed" | "nothing_to_record";
  readonly path: string;
  readonly message: string;
}

export type MappedEvent =
  | { readonly subject: string; readonly records: readonly UsageInput[] }
  | { readonly fault: MappingFault };

/** Maps an event to the records of one request. */
export function mapEvent(mapping: EventMapping, event: CollectedEvent): MappedEvent {
  const subjectPath = mapping.subject ?? "@subject";
  const subject = textAt(event, subjectPath);
  if (subject === null || subject === "") {
    const message = mapping.subject === null
      ? "is required: it says whose usage this is."
      : `is required: the mapping takes the subject from ${mapping.subject}.`;
    return invalid(pathIn(subjectPath), message);
  }
  if (subject.length > eventSubjectCharactersMax) {
    return invalid(pathIn(subjectPath), `must have at most ${eventSubjectCharactersMax} characters.`);
  }
  const records: UsageInput[] = [];
  const properties = propertiesOf(mapping, event);
  for (const metric of mapping.metrics) {
    const found = valueAt(event, metric.path);
    if (found === undefined || found === null) {
      if (metric.whenMissing === "skip") continue;
      return invalid(pathIn(metric.path), `is required: the mapping counts ${metric.metric} from it.`);
    }
    const quantity = mappedQuantity(found, metric);
    if (typeof quantity === "string") return invalid(pathIn(metric.path), quantity);
    records.push({
      productSlug: metric.productSlug,
      metric: metric.metric,
      quantity,
      timestamp: event.time,
      idempotencyKey: mappedEventKey(event, metric),
      properties: { ...properties, ...metric.properties },
    });
  }
  if (records.length > 0) return { subject, records };
  const message = "has nothing that the mapping counts.";
  return { fault: { code: "nothing_to_record", path: "data", message } };
}

/** Returns what is wrong with a mapping whose fields are valid one by one. */
export function mappingFaults(
  { metrics, properties }: Pick<EventMapping, "metrics" | "properties">,
): ErrorDetail[] {
  const names = metrics.map(({ productSlug, metric, properties }) =>
    JSON.stringify([productSlug, metric, constantsOf(properties)])
  );
  return metrics.flatMap((metric, index) => {
    const count = new Set([...Object.keys(properties), ...Object.keys(metric.properties)]).size;
    return [
      ...names.indexOf(names[index] ?? "") === index ? [] : [{
        path: `metrics[${index}]`,
        message: "must not have the product, metric and properties of an earlier one.",
      }],
      ...count <= usagePropertiesMax ? [] : [{
        path: `metrics[${index}].properties`,
        message: `must be at most ${usagePropertiesMax} together with those of all records.`,
      }],
    ];
  });
}

const constantsOf = (properties: MappedMetric["properties"]) =>
  Object.entries(properties).sort(([a], [b]) => a < b ? -1 : 1);

const invalid = (path: string, message: string): MappedEvent => ({
  fault: { code: "validation_failed", path, message },
});

/** Names what a path means, as errors do: `data.cost` or `subject`. */
const pathIn = (path: string): string =>
  path.startsWith("@") ? path.slice(1) : `data.${path.replace(/^\$\./, "")}`;

/** Finds the value at a path. Only own members of objects count; nothing is found in lists. */
function valueAt(event: CollectedEvent, path: string): unknown {
  if (path === "@subject") return event.subject;
  if (path === "@source") return event.source;
  let value: unknown = event.data;
  for (const name of path.replace(/^\$\./, "").split(".")) {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    if (!isObject || !Object.hasOwn(value as object, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** Returns the text of a scalar, or null for everything else. */
function textAt(event: CollectedEvent, path: string): string | null {
  const value = valueAt(event, path);
  return ["string", "number", "boolean"].includes(typeof value) ? String(value) : null;
}

/** A label is less than usage: what can't be a property is left out. */
function propertiesOf({ properties }: EventMapping, event: CollectedEvent): Record<string, string> {
  const found = Object.entries(properties).flatMap(([name, path]) => {
    const text = textAt(event, path);
    return text === null || text.length > usagePropertyValueCharactersMax ? [] : [[name, text]];
  });
  return Object.fromEntries(found);
}

/**
 * Derives the idempotency key of a record from what identifies its event (CloudEvents 1.0, 3.1.1) and from the entry of the mapping,
 * so that nothing counts twice if the mapping changes between two attempts.
 */
function mappedEventKey(
  { source, id }: Pick<CollectedEvent, "source" | "id">,
  { productSlug, metric, properties }: MappedMetric,
): string {
  const parts = JSON.stringify([source, id, productSlug, metric, constantsOf(properties)]);
  return `map:${hash("sha256", parts, "base64url")}`;
}

/**
 * Reads a quantity exactly: a number counts as its shortest decimal, a text digit by digit. Returns what is wrong with it as a text
 * that follows its name.
 */
export function mappedQuantity(
  value: unknown,
  { scale, round }: Pick<MappedMetric, "scale" | "round">,
): Quantity | string {
  if (typeof value !== "number" && typeof value !== "string") return notANumber;
  const decimal = decimalOf(String(value));
  if (decimal === null) return value === Infinity ? tooLarge : notANumber;
  if (decimal.digits < 0n) return "must not be negative. To take usage back, void its record.";
  const factor = decimalOf(scale ?? "1");
  if (factor === null) throw new Error(`not a scale: ${scale}`);
  const digits = decimal.digits * factor.digits;
  const places = decimal.places + factor.places;
  const micros = round === null
    ? divided(digits * 10n ** BigInt(placesOfQuantity), places, "nearest")
    : divided(digits, places, round) * 10n ** BigInt(placesOfQuantity);
  return parseQuantity(scaledToDecimal(micros, placesOfQuantity)) ?? tooLarge;
}

const notANumber = 'must be a number, such as 12.5, or a string of digits, such as "12.5".';
const tooLarge = `must be at most ${Number.MAX_SAFE_INTEGER} after scaling.`;

/** A decimal number, exactly: `digits` / 10^`places`. */
interface Decimal {
  readonly digits: bigint;
  readonly places: number;
}

/** Parses what JavaScript prints for numbers, and decimal texts. Exponents are those of numbers, so at most 324. */
function decimalOf(text: string): Decimal | null {
  if (text.length > numberCharactersMax) return null;
  const [, sign = "", whole = "", decimals = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text) ?? [];
  if (whole === "") return null;
  const digits = BigInt(sign + whole + decimals);
  const places = decimals.length - Number(exponent);
  return places >= 0 ? { digits, places } : { digits: digits * 10n ** BigInt(-places), places: 0 };
}

function divided(value: bigint, places: number, round: typeof roundings[number]): bigint {
  const divisor = 10n ** BigInt(places);
  return (value + (round === "up" ? divisor - 1n : divisor / 2n)) / divisor;
}
