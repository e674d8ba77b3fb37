// One line of an export of usage: from OpenMeter, Lago, Stripe or Gatehouse. The first three become CloudEvents, so that they are
// read and checked as live events are.
import { hash } from "node:crypto";
import { z } from "@hono/zod-openapi";
import { environments } from "../../../domain/environment.ts";
import { AppError, validationError } from "../../../domain/errors.ts";
import { operatorTimestampPastMaxMs } from "../../../domain/limits.ts";
import { cloudEventKey } from "../../../domain/meter/cloud_event.ts";
import {
  defaultQuantityProperty,
  idempotencyKeyForm,
  timestampFault,
  type UsageInput,
} from "../../../domain/meter/usage_record.ts";
import { externalIdForm } from "../../../domain/console/organization.ts";
import { check } from "../../schemas/check.ts";
import { timeSchema } from "../../schemas/common.ts";
import { mustBe, required } from "../../schemas/messages.ts";
import { readEvent } from "./openmeter_event.ts";
import { exactQuantitySchema } from "./operator_usage.ts";
import { usageInputSchema } from "./usage.ts";

export const importSources = ["openmeter", "lago", "stripe", "gatehouse"] as const;
export type ImportSource = typeof importSources[number];

/** Says how the lines become records. */
export interface ImportMapping {
  readonly source: ImportSource;
  /** The product of all records. Undefined if each line names its own, which lines of Lago and Stripe don't. */
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

type Fields = Readonly<Record<string, unknown>>;

/** The fields of other systems' events. The customer is in the first of several that there is. */
const fieldNames = {
  openmeter: { id: "id", type: "type", time: "time", data: "data", customer: ["subject"] },
  lago: {
    ...{ id: "transaction_id", type: "code", time: "timestamp", data: "properties" },
    customer: ["external_customer_id", "external_subscription_id"],
  },
  stripe: {
    ...{ id: "identifier", type: "event_name", time: "timestamp", data: "payload" },
    customer: ["stripe_customer_id"],
  },
} as const;

/**
 * Reads a parsed line.
 *
 * @returns Null for a record that doesn't count: a voided one, or one of a test key.
 * @throws {AppError} `validation_failed`, with the names of the source's fields.
 */
export function readImported(
  line: unknown,
  { mapping, now }: { mapping: ImportMapping; now: number },
): ImportedRecord | null {
  if (!isObject(line)) throw fault("", mustBe("object"));
  const { source, product } = mapping;
  if (source === "gatehouse") return readExported(line, mapping, now);
  const names = fieldNames[source];
  // The APIs of OpenMeter and Lago return events inside of an object.
  const event = isObject(line["event"]) ? line["event"] : line;
  checkCounts(line);
  const time = isoTimeOf(event[names.time]) ?? null;
  if (time === null) throw fault(names.time, required);
  const given = event[names.data] ?? {};
  if (!isObject(given)) throw fault(names.data, mustBe("object"));
  const holder = source === "stripe" ? given : event;
  const customerName = names.customer.find((name) => isText(holder[name])) ?? names.customer[0];
  const customer = customerOf([customerName, holder[customerName]], mapping);
  const { data, quantityProperty } = dataOf(given, { mapping, names, type: String(event[names.type]) });
  const cloudEvent = {
    ...(source === "openmeter" && event),
    specversion: "1.0",
    ...{ id: event[names.id], type: event[names.type], time, data },
    ...(product !== undefined && { source: `/products/${product}` }),
  };
  const field = quantityProperty === undefined || quantityProperty === "1" ? null : quantityProperty;
  const usage = inWordsOf(names, () => readEvent(cloudEvent, { field, isNamed: true }));
  const id = String(event[names.id]);
  // Subscriptions of Lago may use the same transaction ids.
  const ownKey = source === "lago" ? `${event["external_subscription_id"] ?? customer.id}/${id}` : id;
  return {
    externalId: customer.externalId,
    usage: {
      ...usage,
      timestamp: inRange(usage.timestamp ?? now, { name: names.time, now }),
      idempotencyKey: source === "openmeter"
        ? cloudEventKey({ source: String(event["source"]), id })
        : plainKey(ownKey),
    },
    isCountedAsOne: quantityProperty === undefined,
  };
}

type Names = typeof fieldNames[keyof typeof fieldNames];

/** Rejects what the other system itself doesn't count. */
function checkCounts({ validationError, livemode }: Fields): void {
  if (isText(validationError)) {
    throw fault("validationError", `says that OpenMeter didn't count this event: ${validationError}`);
  }
  if (livemode === false) throw fault("livemode", "is false: events of test mode aren't usage.");
}

/** Returns the data with the properties to keep, and the one with the quantity; undefined if there is none and none was named. */
function dataOf(
  given: Fields,
  { mapping, names, type }: { mapping: ImportMapping; names: Names; type: string },
) {
  const named = mapping.quantityProperties.get(type) ?? mapping.quantityProperties.get("");
  const property = named ?? defaultQuantityProperty;
  const isMissing = property !== "1" && (valueAt(given, property) ?? null) === null;
  if (isMissing && named !== undefined) {
    const remedy = `To count each event of this ${names.type} as 1, add --quantity-property ${type}=1.`;
    throw fault(`${names.data}.${property}`, `${required} ${remedy}`);
  }
  const kept = mapping.properties && [...mapping.properties, property, property.split(".")[0]];
  const isKept = (name: string) =>
    (kept?.includes(name) ?? true) && !(names === fieldNames.stripe && name === names.customer[0]);
  return {
    data: Object.fromEntries(Object.entries(given).filter(([name]) => isKept(name))),
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
function inWordsOf<T>(names: Names, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof AppError) || error.details === undefined) throw error;
    const remedies: Fields = { data: " Name those to keep with --properties.", source: " Or add --product." };
    throw validationError(error.details.map(({ path, message }) => ({
      path: path.replace(/^(id|type|time|data)\b/, (name) => names[name as "id"]),
      message: `${message}${remedies[path] ?? ""}`,
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
  environment: z.enum(environments).optional(),
});

function readExported(line: Fields, mapping: ImportMapping, now: number): ImportedRecord | null {
  const {
    id,
    organizationId,
    externalId,
    voidedAt,
    environment,
    idempotencyKey,
    timestamp,
    properties = null,
    ...usage
  } = check(exportedRecord, line, "body");
  if (voidedAt || environment === "test") return null;
  const key = idempotencyKey ?? id;
  if (key === undefined) throw fault("id", required);
  return {
    externalId: customerOf(["externalId", externalId ?? organizationId], mapping).externalId,
    usage: {
      ...usage,
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
