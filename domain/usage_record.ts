// Usage records: what a caller sends, what the program keeps, what it shows.
import { hash } from "node:crypto";
import { usageTimestampFutureMaxMs, usageTimestampPastMaxMs } from "./limits.ts";
import { joinQuantity, type Quantity } from "./quantity.ts";
import { isoTime } from "./usage_window.ts";

/** The form of product slugs and metrics. */
export const slugForm = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/;
/** The form of idempotency keys: printable ASCII. */
export const idempotencyKeyForm = /^[\x20-\x7e]{1,255}$/;

/** One record as a caller sent it, checked. Times in milliseconds since 1970. */
export interface UsageInput {
  readonly productSlug: string;
  readonly metric: string;
  readonly quantity: Quantity;
  /** Null when the caller left it out: then it is the time of recording. */
  readonly timestamp: number | null;
  readonly idempotencyKey: string | null;
  readonly properties: Readonly<Record<string, string>> | null;
}

/**
 * @param timestamp Given by the caller; null when left out. Both in milliseconds since 1970.
 * @returns What is wrong with it, or null.
 */
export function timestampFault(timestamp: number | null, now: number): string | null {
  const isInRange = timestamp === null ||
    (timestamp >= now - usageTimestampPastMaxMs && timestamp <= now + usageTimestampFutureMaxMs);
  return isInRange ? null : "must be at most 35 days back and 5 minutes ahead.";
}

/** One record as callers see it. Times are ISO 8601 UTC. */
export interface UsageRecord {
  readonly id: string;
  readonly productSlug: string;
  readonly metric: string;
  readonly quantity: number;
  readonly timestamp: string;
  readonly recordedAt: string;
  readonly idempotencyKey: string | null;
  readonly properties: Readonly<Record<string, string>> | null;
  readonly apiKeyId: string;
  /** Null for a record that counts. */
  readonly voidedAt: string | null;
  /** The id of who voided it. */
  readonly voidedBy: string | null;
  readonly voidReason: string | null;
}

/** One record as the database keeps it. Times in milliseconds since 1970. */
export interface StoredUsageRecord extends UsageRecordPlace, Quantity {
  readonly productSlug: string;
  readonly metric: string;
  readonly apiKeyId: string;
  readonly timestamp: number;
  readonly idempotencyKey: string | null;
  /** See {@linkcode propertiesText}. */
  readonly properties: string | null;
  readonly voidedAt: number | null;
  readonly voidedBy: string | null;
  readonly voidReason: string | null;
}

/** @returns A stored record as callers see it. */
export function shownUsageRecord(stored: StoredUsageRecord): UsageRecord {
  return {
    id: usageRecordId(stored),
    productSlug: stored.productSlug,
    metric: stored.metric,
    quantity: joinQuantity(stored),
    timestamp: isoTime(stored.timestamp),
    recordedAt: isoTime(stored.recordedAt),
    idempotencyKey: stored.idempotencyKey,
    properties: stored.properties === null ? null : JSON.parse(stored.properties),
    apiKeyId: stored.apiKeyId,
    voidedAt: stored.voidedAt === null ? null : isoTime(stored.voidedAt),
    voidedBy: stored.voidedBy,
    voidReason: stored.voidReason,
  };
}

/** Where a record is: its place in the order of recording, and when it was recorded, in milliseconds since 1970. */
export interface UsageRecordPlace {
  readonly seq: number;
  readonly recordedAt: number;
}

/**
 * The public id of a record: `use_`, 12 hexadecimal digits of its time, and 12 that stand for its place, in an order that
 * tells nobody how many records a server takes. It sorts by the millisecond of recording and is kept nowhere.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * const place = { seq: 41, recordedAt: 1_790_000_000_000 };
 * assert.deepEqual(parseUsageRecordId(usageRecordId(place)), place);
 * ```
 */
export function usageRecordId({ seq, recordedAt }: UsageRecordPlace): string {
  return usageRecordIdsOf(recordedAt)(seq);
}

/** @returns What gives the id of each record of one moment, see {@linkcode usageRecordId}. */
export function usageRecordIdsOf(recordedAt: number): (seq: number) => string {
  const start = `use_${hex48(recordedAt)}`;
  return (seq) => start + hex48(timesModulo48(seq, mixing));
}

/** @returns The place that an id names, or null for what is no id. */
export function parseUsageRecordId(id: string): UsageRecordPlace | null {
  const parts = /^use_([0-9a-f]{12})([0-9a-f]{12})$/.exec(id);
  if (parts === null) return null;
  return { recordedAt: Number(`0x${parts[1]}`), seq: timesModulo48(Number(`0x${parts[2]}`), unmixing) };
}

/** Two odd numbers whose product is 1 modulo 2^48, each as its upper and lower 24 bits. */
const mixing = [0x9e3779, 0xb97f4b] as const;
const unmixing = [0x393dee, 0x219263] as const;

function timesModulo48(value: number, [factorHigh, factorLow]: readonly [number, number]): number {
  const half = 2 ** 24;
  const high = Math.floor(value / half);
  const low = value % half;
  const lowProduct = low * factorLow;
  const carried = Math.floor(lowProduct / half);
  const upper = (((high * factorLow) % half) + ((low * factorHigh) % half) + carried) % half;
  return upper * half + lowProduct % half;
}

function hex48(value: number): string {
  return value.toString(16).padStart(12, "0");
}

/** Hashes of idempotency keys are whole numbers below this. */
export const idempotencyHashSpace = 2 ** 48;

/**
 * A hash that nobody can aim: many keys with one hash would make each of them slow to look up.
 *
 * @returns 48 bits of the key's SHA-256.
 */
export function idempotencyKeyHash(idempotencyKey: string): number {
  return Number.parseInt(hash("sha256", idempotencyKey, "hex").slice(0, 12), 16);
}

/** @returns The properties as they are stored and compared: JSON with sorted names, or null for none. */
export function propertiesText(properties: UsageInput["properties"]): string | null {
  if (properties === null) return null;
  const names = Object.keys(properties).sort();
  return names.length === 0
    ? null
    : JSON.stringify(Object.fromEntries(names.map((name) => [name, properties[name]])));
}

/** @returns Whether two inputs say the same, so that the second is a repeat of the first. */
export function isSameUsage(a: UsageInput, b: UsageInput): boolean {
  return a.productSlug === b.productSlug && a.metric === b.metric && a.timestamp === b.timestamp &&
    a.quantity.whole === b.quantity.whole && a.quantity.micro === b.quantity.micro &&
    propertiesText(a.properties) === propertiesText(b.properties);
}
