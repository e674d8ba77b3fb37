// Holds: room that is taken in limits before the work begins, and settled with what was used.
import type { ErrorDetail } from "../errors.ts";
import { AppError } from "../errors.ts";
import { joinQuantity, type Quantity } from "./quantity.ts";
import type { UsageInput } from "./usage_record.ts";
import { isoTime } from "../time.ts";

export const holdStatuses = ["active", "settled", "released", "expired"] as const;
export const expiryActions = ["release", "record"] as const;
export type HoldStatus = (typeof holdStatuses)[number];

export const holdRecordsMax = 8;
export const holdSecondsDefault = 600;
export const holdSecondsMax = 86_400;
/** The most active holds that a plan can allow, and does by default. */
export const activeHoldsMax = 10_000;
const dayMs = 24 * 3_600_000;
/** A hold that has expired can be settled until this long after it was made. */
export const holdKeptExpiredMs = 35 * dayMs;
/** A hold is kept this long after it was settled or released. */
export const holdKeptMs = 3 * dayMs;
/** When to try again if an organization has too many holds: most end before they expire. */
const holdRetrySeconds = 5;

/** A record that is held, or settled with. */
export type HoldRecord = Pick<UsageInput, "productSlug" | "metric" | "quantity" | "properties">;

/** A record as it is stored: product, metric, whole, micro and properties. */
export type StoredHoldRecord = readonly [
  productSlug: string,
  metric: string,
  whole: number,
  micro: number,
  properties: Readonly<Record<string, string>> | null,
];

/** Returns records as they are stored and compared. */
export function holdRecordsText(records: readonly HoldRecord[]): string {
  return JSON.stringify(records.map(({ productSlug, metric, quantity, properties }): StoredHoldRecord => {
    const names = Object.keys(properties ?? {}).sort();
    const sorted = Object.fromEntries(names.map((name) => [name, properties?.[name] ?? ""]));
    return [productSlug, metric, quantity.whole, quantity.micro, names.length === 0 ? null : sorted];
  }));
}

export function parseHoldRecords(text: string): HoldRecord[] {
  const stored: StoredHoldRecord[] = JSON.parse(text);
  return stored.map(([productSlug, metric, whole, micro, properties]) => ({
    productSlug,
    metric,
    quantity: { whole, micro } satisfies Quantity,
    properties,
  }));
}

/** A hold for callers. */
export interface Hold {
  readonly id: string;
  readonly status: HoldStatus;
  readonly records: readonly {
    readonly productSlug: string;
    readonly metric: string;
    readonly quantity: number;
    readonly properties: Readonly<Record<string, string>> | null;
  }[];
  readonly apiKeyId: string | null;
  readonly heldBy: "key" | "operator";
  readonly onExpiry: (typeof expiryActions)[number];
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly endedAt: string | null;
  readonly usageRecordIds: readonly string[];
}

export interface StoredHold {
  readonly number: number;
  readonly id: string;
  /** The number of its usage: negative for a test key. */
  readonly organization: number;
  readonly organizationId: string;
  readonly apiKeyId: string | null;
  readonly heldBy: "key" | "operator" | "verification";
  /** `recorded`: it expired, and its records were recorded. An active one may have expired. */
  readonly status: HoldStatus | "recorded";
  readonly records: string;
  readonly isRecordedOnExpiry: 0 | 1;
  readonly createdAt: number;
  /** As requested; `expiresAt` may have been extended. */
  readonly expiresInMs: number;
  readonly expiresAt: number;
  readonly endedAt: number | null;
  readonly idempotencyKey: string | null;
  readonly settlement: string | null;
  readonly firstSeq: number | null;
  readonly recordedAt: number | null;
}

/** True for an active hold that ended by itself: one that is recorded when it expires stays active until then. */
export function isExpired(
  { status, expiresAt, isRecordedOnExpiry }: Pick<StoredHold, "status" | "expiresAt" | "isRecordedOnExpiry">,
  now: number,
): boolean {
  return status === "active" && expiresAt <= now && isRecordedOnExpiry === 0;
}

/** @param idOf Returns the id of a usage record. */
export function toHold(
  stored: StoredHold,
  { now, idOf }: { now: number; idOf: (reference: { seq: number; recordedAt: number }) => string },
): Hold {
  const { id, apiKeyId, status, heldBy, createdAt, expiresAt, firstSeq, recordedAt } = stored;
  const isOver = isExpired(stored, now);
  const recorded = firstSeq === null || recordedAt === null
    ? []
    : parseHoldRecords(stored.settlement ?? "[]");
  return {
    id,
    status: isOver || status === "recorded" ? "expired" : status,
    records: parseHoldRecords(stored.records).map((record) => ({
      ...record,
      quantity: joinQuantity(record.quantity),
    })),
    apiKeyId,
    heldBy: heldBy === "key" ? "key" : "operator",
    onExpiry: stored.isRecordedOnExpiry === 1 ? "record" : "release",
    createdAt: isoTime(createdAt),
    expiresAt: isoTime(expiresAt),
    endedAt: isoTime(isOver ? expiresAt : stored.endedAt),
    usageRecordIds: recorded.map((_, index) =>
      idOf({ seq: (firstSeq ?? 0) + index, recordedAt: recordedAt ?? 0 })
    ),
  };
}

/** Reports a hold that was settled, released or recorded, or has expired. */
export function holdEndedError({ id, status, usageRecordIds }: Hold): AppError {
  return new AppError("hold_ended", `This hold was ${status === "expired" ? "ended: it expired" : status}.`, {
    holds: [{ holdId: id, status, usageRecordIds }],
  });
}

export function holdOfOperatorError(): AppError {
  return new AppError(
    "hold_of_operator",
    "An operator made this hold, and only operators can end or extend it.",
  );
}

export function holdLimitError(): AppError {
  return new AppError(
    "hold_limit_reached",
    "This organization has as many active holds as it can have. Settle or release some first.",
    { retryAfterSeconds: holdRetrySeconds },
  );
}

export function keyInactiveError(): AppError {
  return new AppError("key_inactive", "This API key was revoked or has expired.");
}

export function holdConflictError(): AppError {
  const message = "was used before for a hold with different content.";
  const details: readonly ErrorDetail[] = [{ path: "idempotencyKey", message }];
  return new AppError("idempotency_conflict", `This idempotency key ${message}`, { details });
}
