// Usage records: what a caller sends, what the program keeps, what it shows.
import type { Quantity } from "./quantity.ts";

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
