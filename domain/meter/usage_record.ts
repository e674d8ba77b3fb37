// Usage records: as callers send them, as the database stores them, and as callers see them.
import { hash } from "node:crypto";
import type { Environment } from "../environment.ts";
import { isId } from "../id.ts";
import { usageTimestampFutureMaxMs, usageTimestampPastMaxMs } from "../limits.ts";
import { joinQuantity, type Quantity } from "./quantity.ts";
import type { RecordReference, UsageRecordIds } from "./usage_record_id.ts";
import { isoTime } from "../time.ts";

/** The form of product slugs and metrics. */
export const slugForm = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/;
/** The form of idempotency keys: printable ASCII. */
export const idempotencyKeyForm = /^[\x20-\x7e]{1,255}$/;

/** The property with the quantity of an imported event, unless another one is named. Stripe's default has the same name. */
export const defaultQuantityProperty = "value";

/** A valid record from a caller. */
export interface UsageInput {
  readonly productSlug: string;
  readonly metric: string;
  readonly quantity: Quantity;
  /** Null for the time of recording. */
  readonly timestamp: number | null;
  readonly idempotencyKey: string | null;
  readonly properties: Readonly<Record<string, string>> | null;
}

/** Returns the problem with a timestamp, or null. @param timestamp Null when the caller sent none. */
export function timestampFault(
  timestamp: number | null,
  now: number,
  pastMaxMs = usageTimestampPastMaxMs,
): string | null {
  const isInRange = timestamp === null ||
    (timestamp >= now - pastMaxMs && timestamp <= now + usageTimestampFutureMaxMs);
  return isInRange
    ? null
    : `must be at most ${pastMaxMs / (24 * 3_600_000)} days in the past and 5 minutes in the future.`;
}

/** A record for callers. Times are ISO 8601 UTC. */
export interface UsageRecord {
  readonly id: string;
  readonly productSlug: string;
  readonly metric: string;
  readonly quantity: number;
  readonly timestamp: string;
  readonly recordedAt: string;
  readonly idempotencyKey: string | null;
  readonly properties: Readonly<Record<string, string>> | null;
  /** Null if an operator recorded it without a key. */
  readonly apiKeyId: string | null;
  /** The key's environment. */
  readonly environment: Environment;
  /** Null unless the record is void. */
  readonly voidedAt: string | null;
  /** The id of the key that voided it, or `operator`; operators see the id of the user or token. */
  readonly voidedBy: string | null;
  readonly voidReason: string | null;
}

export interface NamedUsageRecord extends UsageRecord {
  readonly apiKeyName: string | null;
  /** The id of the user who created the key. */
  readonly apiKeyCreatedBy: string | null;
  /** The name of the key that voided it. If an operator did, the operator's id for operators, null for others. */
  readonly voidedByName: string | null;
}

export interface StoredUsageRecord extends RecordReference, Quantity {
  readonly productSlug: string;
  readonly metric: string;
  readonly apiKeyId: string | null;
  readonly environment: Environment;
  readonly timestamp: number;
  readonly idempotencyKey: string | null;
  /** See {@linkcode propertiesText}. */
  readonly properties: string | null;
  readonly voidedAt: number | null;
  /** The id of the key, user or token that voided it; `operator` for the command line. */
  readonly voidedBy: string | null;
  readonly voidReason: string | null;
}

/** Returns a stored record as callers see it. Only operators see which of them voided it. @param ids Of its database. */
export function toUsageRecord(
  stored: StoredUsageRecord,
  ids: UsageRecordIds,
  { isForOperators = false } = {},
): UsageRecord {
  const { voidedBy } = stored;
  return {
    id: ids.of(stored),
    productSlug: stored.productSlug,
    metric: stored.metric,
    quantity: joinQuantity(stored),
    timestamp: isoTime(stored.timestamp),
    recordedAt: isoTime(stored.recordedAt),
    idempotencyKey: stored.idempotencyKey,
    properties: stored.properties === null ? null : JSON.parse(stored.properties),
    apiKeyId: stored.apiKeyId,
    environment: stored.environment,
    voidedAt: isoTime(stored.voidedAt),
    voidedBy: isForOperators || voidedBy === null || isId("key", voidedBy) ? voidedBy : "operator",
    voidReason: stored.voidReason,
  };
}

/** Hashes of idempotency keys are integers below this. */
export const idempotencyHashSpace = 2 ** 48;

/** Returns 48 bits of a key's SHA-256. Many keys with the same hash would be slow to look up, so it must be cryptographic. */
export function idempotencyKeyHash(idempotencyKey: string): number {
  return Number.parseInt(hash("sha256", idempotencyKey, "hex").slice(0, 12), 16);
}

/** Returns the properties for storage and comparison: JSON with sorted names, or null without any. */
export function propertiesText(properties: UsageInput["properties"]): string | null {
  if (properties === null) return null;
  const names = Object.keys(properties).sort();
  return names.length === 0
    ? null
    : JSON.stringify(Object.fromEntries(names.map((name) => [name, properties[name]])));
}

/** True if two inputs have the same content, so that the second repeats the first. */
export function isSameUsage(a: UsageInput, b: UsageInput): boolean {
  return a.productSlug === b.productSlug && a.metric === b.metric && a.timestamp === b.timestamp &&
    a.quantity.whole === b.quantity.whole && a.quantity.micro === b.quantity.micro &&
    propertiesText(a.properties) === propertiesText(b.properties);
}
