// One record: the input of callers, and the line of JSON that waits and is sent.
import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { rejectUnknown } from "../errors.ts";

export interface Usage {
  product: string;
  metric: string;
  /** From 0 to 2^53−1, rounded to 6 decimal places. Default: 1. */
  quantity?: number | undefined;
  /** Default: now. */
  timestamp?: Date | undefined;
  /** Usage with the same key and content counts once. Default: a random one. */
  idempotencyKey?: string | undefined;
  /** Your own data, stored with the record. */
  properties?: Record<string, string> | undefined;
  /** With an operator token, exactly one of `organizationId`, `externalId` and `apiKeyId` is required. */
  organizationId?: string | undefined;
  externalId?: string | undefined;
  apiKeyId?: string | undefined;
}

export interface SentRecord {
  readonly productSlug: string;
  readonly metric: string;
  readonly quantity: number;
  readonly timestamp: string;
  readonly idempotencyKey: string;
  readonly properties?: Readonly<Record<string, string>>;
  readonly organizationId?: string;
  readonly externalId?: string;
  readonly apiKeyId?: string;
}

/** The longest line, in bytes. A valid record is shorter, even if every character is escaped. */
export const lineBytesMax = 64 * 1024;
const decimalPlacesMax = 6;
/** Gatehouse accepts timestamps up to this far in the future. */
export const futureMaxMs = 5 * 60_000;

/**
 * Checks values that Gatehouse could not report as this record's fault, such as those that JSON can't represent. Returns the
 * record as JSON.
 *
 * @param isOperator Records are sent with an operator token.
 * @throws When usage is invalid, or a getter or `toJSON` method throws.
 */
export function recordLine(usage: Usage, isOperator: boolean): { line: string; isRounded: boolean } {
  if (typeof usage !== "object" || usage === null) {
    throw new TypeError("record() takes an object with product and metric");
  }
  const {
    product,
    metric,
    quantity = 1,
    timestamp = new Date(),
    idempotencyKey = randomUUID(),
    properties,
    organizationId,
    externalId,
    apiKeyId,
    ...unknown
  } = usage;
  const ids = Object.entries({ organizationId, externalId, apiKeyId }).filter(([, id]) => id !== undefined);
  for (const [field, text] of [...Object.entries({ product, metric, idempotencyKey }), ...ids]) {
    if (typeof text !== "string") throw new TypeError(`${field} must be a string`);
  }
  rejectUnknown(unknown, "record()");
  const name = `${product}/${metric}`;
  if (ids.length !== (isOperator ? 1 : 0)) {
    throw new TypeError(
      `${name}: ` +
        (isOperator
          ? "exactly one of organizationId, externalId and apiKeyId is required with an operator token"
          : "organizationId, externalId and apiKeyId require an operator token"),
    );
  }
  if (typeof quantity !== "number") throw new TypeError(`${name}: quantity must be a number`);
  // `+ 0` turns the -0 of rounded noise into 0.
  const rounded = Number(quantity.toFixed(decimalPlacesMax)) + 0;
  if (!(rounded >= 0 && rounded <= Number.MAX_SAFE_INTEGER)) {
    throw new RangeError(`${name}: quantity must be from 0 to ${Number.MAX_SAFE_INTEGER}: ${quantity}`);
  }
  const time = typeof timestamp?.getTime === "function" ? timestamp.getTime() : NaN;
  if (Number.isNaN(time)) throw new TypeError(`${name}: timestamp must be a valid Date`);
  // Later ones can only come from a clock that was ahead.
  if (time > Date.now() + futureMaxMs) {
    throw new RangeError(`${name}: timestamp must be at most 5 minutes in the future`);
  }
  const record = {
    organizationId,
    externalId,
    apiKeyId,
    productSlug: product,
    metric,
    quantity: rounded,
    timestamp: timestamp.toISOString(),
    idempotencyKey,
    properties,
  };
  const line = JSON.stringify(record);
  if (Buffer.byteLength(line) > lineBytesMax) {
    throw new RangeError(`a record must be at most ${lineBytesMax} bytes`);
  }
  return { line, isRounded: rounded !== quantity };
}

/** Returns null for a line that is no record that can be sent twice without harm. */
export function parseLine(line: string): SentRecord | null {
  try {
    const record = JSON.parse(line);
    const isRecord = typeof record?.idempotencyKey === "string" && typeof record.timestamp === "string";
    return isRecord ? record : null;
  } catch {
    return null;
  }
}
