// One line of an export of usage: from OpenMeter, Lago, Stripe or Gatehouse. The first three become CloudEvents, so that they are
// read and checked as live events are.
import { hash } from "node:crypto";
import { z } from "@hono/zod-openapi";
import { AppError, validationError } from "../../domain/errors.ts";
import { operatorTimestampPastMaxMs } from "../../domain/limits.ts";
import { cloudEventKey } from "../../domain/meter/cloud_event.ts";
import {
  defaultQuantityProperty,
  idempotencyKeyForm,
  timestampFault,
  type UsageInput,
} from "../../domain/meter/usage_record.ts";
import { externalIdForm } from "../../domain/operator/organization.ts";
import { check } from "./check.ts";
import { timeSchema } from "./common.ts";
import { mustBe, required } from "./messages.ts";
import { readEvent } from "./openmeter_event.ts";
import { exactQuantitySchema } from "./operator_usage.ts";
import { usageInputSchema } from "./usage.ts";

export const importSources = ["openmeter", "lago", "stripe", "gatehouse"] as const;
export type ImportSource = typeof importSources[number];

/** Says how the lines become records. */
export interface ImportMapping {
  readonly source: ImportSource;
  /** Of all records. Undefined for the one that each line names, which lines of Lago and Stripe don't. */
  readonly product: string | undefined;
  /** The properties with the quantity, by metric; that of all other metrics by "". `1` counts each event as 1. */
  readonly quantityProperties: ReadonlyMap<string, string>;
  /** The properties to keep; undefined for all. */
  readonly properties: readonly string[] | undefined;
  /** External ids by the source's customer ids; undefined if both are the same. */
  readonly customers: ReadonlyMap<string, string> | undefined;
}

export interface ImportedRecord {
  readonly externalId: string;
  readonly usage: UsageInput & { readonly timestamp: number };
  /** It has no property with the quantity, and none was named. */
  readonly isCountedAsOne: boolean;
}

/** An event of another system. The names are those of its fields. */
interface SourceEvent {
  readonly id: readonly [name: string, value: unknown];
  readonly type: readonly [name: string, value: unknown];
  readonly time: readonly [name: string, value: unknown];
  readonly data: readonly [name: string, value: unknown];
  readonly customer: readonly [name: string, value: unknown];
  readonly event?: Readonly<Record<string, unknown>>;
  readonly keyOf: (id: string, customer: string) => string;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads a parsed line.
 *
 * @returns Null for a voided record, which doesn't count.
 * @throws {AppError} `validation_failed`, with the names of the source's fields.
 */
export function readImported(
  line: unknown,
  { mapping, now }: { mapping: ImportMapping; now: number },
): ImportedRecord | null {
  if (!isObject(line)) throw fault("", mustBe("object"));
  if (mapping.source === "gatehouse") return readExported(line, mapping, now);
  const source = sourceEvents[mapping.source](line);
  const [timeName] = source.time;
  const type = String(source.type[1]);
  const { data, quantityProperty } = dataOf(source, { mapping, type });
  const time = isoTimeOf(source.time[1]);
  if (time === undefined || time === null) throw fault(timeName, required);
  const { product } = mapping;
  const event = {
    ...source.event,
    specversion: "1.0",
    id: source.id[1],
    type: source.type[1],
    time,
    data,
    ...(product !== undefined && { source: `/products/${product}` }),
  };
  const field = quantityProperty === undefined || quantityProperty === "1" ? null : quantityProperty;
  const usage = inWordsOf(source, () => readEvent(event, { field, isNamed: true }));
  const customer = customerOf(source.customer, mapping);
  return {
    externalId: customer.externalId,
    usage: {
      ...usage,
      timestamp: inRange(usage.timestamp ?? 0, { name: timeName, now }),
      idempotencyKey: source.keyOf(String(source.id[1]), customer.id),
    },
    isCountedAsOne: quantityProperty === undefined,
  };
}

const sourceEvents: Readonly<Record<Exclude<ImportSource, "gatehouse">, (line: Fields) => SourceEvent>> = {
  openmeter: (line) => {
    // Its API returns events inside of what it knows about them.
    const event = isObject(line["event"]) ? line["event"] : line;
    const error = event === line ? undefined : line["validationError"];
    if (typeof error === "string" && error !== "") {
      throw fault("validationError", `says that OpenMeter didn't count this event: ${error}`);
    }
    return {
      id: ["id", event["id"]],
      type: ["type", event["type"]],
      time: ["time", event["time"]],
      data: ["data", event["data"]],
      customer: ["subject", event["subject"]],
      event,
      keyOf: (id) => cloudEventKey({ source: String(event["source"]), id }),
    };
  },
  lago: (line) => {
    const event = isObject(line["event"]) ? line["event"] : line;
    const name = isText(event["external_customer_id"]) ? "external_customer_id" : "external_subscription_id";
    const subscription = event["external_subscription_id"] ?? event[name];
    return {
      id: ["transaction_id", event["transaction_id"]],
      type: ["code", event["code"]],
      time: ["timestamp", event["timestamp"]],
      data: ["properties", event["properties"]],
      customer: [name, event[name]],
      // Subscriptions may use the same transaction ids.
      keyOf: (id) => plainKey(`${subscription}/${id}`),
    };
  },
  stripe: (line) => {
    if (line["livemode"] === false) throw fault("livemode", "is false: events of test mode aren't usage.");
    const { stripe_customer_id: customer, ...data } = isObject(line["payload"]) ? line["payload"] : {};
    return {
      id: ["identifier", line["identifier"]],
      type: ["event_name", line["event_name"]],
      time: ["timestamp", line["timestamp"]],
      data: ["payload", data],
      customer: ["payload.stripe_customer_id", customer],
      keyOf: plainKey,
    };
  },
};

/** Returns the data with the properties to keep, and the one with the quantity; undefined if there is none and none was named. */
function dataOf(
  { data: [name, given], type: [typeName] }: SourceEvent,
  { mapping: { quantityProperties, properties }, type }: { mapping: ImportMapping; type: string },
) {
  const data = given ?? {};
  if (!isObject(data)) throw fault(name, mustBe("object"));
  const named = quantityProperties.get(type) ?? quantityProperties.get("");
  const property = named ?? defaultQuantityProperty;
  const isMissing = property !== "1" && (valueAt(data, property) ?? null) === null;
  if (isMissing && named !== undefined) {
    const remedy = `To count each event of this ${typeName} as 1, add --quantity-property ${type}=1.`;
    throw fault(`${name}.${property}`, `${required} ${remedy}`);
  }
  const kept = properties && new Set([...properties, property, property.split(".")[0]]);
  return {
    data: kept ? Object.fromEntries(Object.entries(data).filter(([name]) => kept.has(name))) : data,
    quantityProperty: isMissing ? undefined : property,
  };
}

/** @param path A name, or names of nested objects joined by dots. */
function valueAt(data: Fields, path: string): unknown {
  if (Object.hasOwn(data, path)) return data[path];
  const dot = path.indexOf(".");
  const inner = dot === -1 ? undefined : data[path.slice(0, dot)];
  return isObject(inner) ? valueAt(inner, path.slice(dot + 1)) : undefined;
}

/** Names the source's fields in errors about the event that was made of them. */
function inWordsOf<T>({ id, type, time, data }: SourceEvent, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof AppError) || error.details === undefined) throw error;
    const names: Readonly<Record<string, string>> = {
      id: id[0],
      type: type[0],
      time: time[0],
      data: data[0],
    };
    throw validationError(error.details.map(({ path, message }) => ({
      path: path.replace(/^\w+/, (first) => names[first] ?? first),
      message: path === "data"
        ? `${message} Name those to keep with --properties.`
        : path === "source"
        ? `${message} Or name the product with --product.`
        : message,
    })));
  }
}

const exportedRecord = z.object({
  ...usageInputSchema.shape,
  id: z.string().optional(),
  organizationId: z.string().optional(),
  externalId: z.string().nullish(),
  quantity: exactQuantitySchema,
  timestamp: timeSchema,
  voidedAt: z.string().nullish(),
  environment: z.literal("live", { error: "must be live: usage of test keys isn't imported." }).optional(),
});

function readExported(line: Fields, mapping: ImportMapping, now: number): ImportedRecord | null {
  const { id, organizationId, externalId, voidedAt, idempotencyKey, timestamp, properties = null, ...usage } =
    check(exportedRecord, line, "body");
  if (voidedAt) return null;
  const key = idempotencyKey ?? id;
  if (key === undefined) throw fault("id", required);
  return {
    externalId: customerOf(["externalId", externalId ?? organizationId], mapping).externalId,
    usage: {
      productSlug: usage.productSlug,
      metric: usage.metric,
      quantity: usage.quantity,
      timestamp: inRange(timestamp, { name: "timestamp", now }),
      idempotencyKey: plainKey(key),
      properties,
    },
    isCountedAsOne: false,
  };
}

function customerOf(
  [name, id]: readonly [name: string, id: unknown],
  { customers }: ImportMapping,
): { id: string; externalId: string } {
  if (!isText(id)) throw fault(name, required);
  const externalId = customers === undefined ? id : customers.get(id);
  if (externalId === undefined) throw fault(name, `is “${id}”, which isn't in the file of --customers.`);
  if (!externalIdForm.test(externalId)) throw fault(name, "must be 1 to 255 printable ASCII characters.");
  return { id, externalId };
}

function inRange(timestamp: number, { name, now }: { name: string; now: number }): number {
  const message = timestampFault(timestamp, now, operatorTimestampPastMaxMs);
  if (message !== null) throw fault(name, message);
  return timestamp;
}

/** Turns seconds since 1970, as a number or a text, into a time in ISO 8601; leaves anything else to the schema. */
function isoTimeOf(value: unknown): unknown {
  const isSeconds = typeof value === "number" || (typeof value === "string" && /^\d+(\.\d+)?$/.test(value));
  const ms = isSeconds ? Math.round(Number(value) * 1000) : NaN;
  return Number.isNaN(ms) || Math.abs(ms) > 8.64e15 ? value : new Date(ms).toISOString();
}

/** Returns the text if it can be an idempotency key, or a key derived from it. */
function plainKey(text: string): string {
  return idempotencyKeyForm.test(text) ? text : `sha256:${hash("sha256", text, "base64url")}`;
}

function fault(path: string, message: string): AppError {
  return validationError([{ path, message }]);
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
