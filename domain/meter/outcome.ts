// Outcomes of requests with API keys. They explain what happened; nothing is billed by them.
import type { ErrorCode } from "../errors.ts";
import type { LimitStanding } from "./usage_limit.ts";
import type { VerificationCode } from "./key_verification.ts";

/** The position of an outcome is stored: new ones go last. */
export const outcomes = [
  "accepted",
  "duplicate",
  "limit_exceeded",
  "rate_limited",
  "permission_missing",
  "feature_missing",
  "suspended",
  "revoked",
  "expired",
  "disabled",
  "address_denied",
  "invalid",
] as const;
export type Outcome = (typeof outcomes)[number];
/** An outcome, or all that {@linkcode isRejection} is true for. */
export type ChosenOutcome = Outcome | "rejected";

const numbers = new Map(outcomes.map((outcome, number) => [outcome, number]));

export function outcomeNumber(outcome: Outcome): number {
  return numbers.get(outcome) ?? 0;
}

/** True unless the request was accepted or repeats one that was. */
export function isRejection(outcome: Outcome): boolean {
  return outcome !== "accepted" && outcome !== "duplicate";
}

/** Counts are kept for this long. */
export const outcomesKeptMs = 90 * 24 * 3_600_000;
/** Rejections are kept for this long, and of each key only the last. */
export const rejectionsKeptMs = 30 * 24 * 3_600_000;
export const rejectionsOfKeyMax = 20;

/** A limit that a request didn't fit into. */
export type RejectingLimit = Pick<
  LimitStanding,
  "limitId" | "productSlug" | "metric" | "per" | "by" | "value"
>;

export interface Rejection {
  readonly time: string;
  readonly outcome: Outcome;
  /** As in the response; null for a verification, and for a key that doesn't work. */
  readonly message: string | null;
  readonly limit: RejectingLimit | null;
  readonly requestId: string;
  readonly apiKey: { readonly id: string; readonly name: string };
}

const ofErrors: Partial<Record<ErrorCode, Outcome>> = {
  limit_exceeded: "limit_exceeded",
  hold_limit_reached: "limit_exceeded",
  series_limit_reached: "limit_exceeded",
  rate_limited: "rate_limited",
  permission_missing: "permission_missing",
  forbidden: "permission_missing",
  organization_suspended: "suspended",
};

/** Returns the outcome of a request with a key that works, or null for an error of the server. */
export function outcomeOfError({ code, status }: { code: ErrorCode; status: number }): Outcome | null {
  return status >= 500 ? null : ofErrors[code] ?? "invalid";
}

const ofVerifications: Readonly<Record<VerificationCode, Outcome | null>> = {
  NOT_FOUND: null,
  REVOKED: "revoked",
  EXPIRED: "expired",
  DISABLED: "disabled",
  ADDRESS_DENIED: "address_denied",
  ORGANIZATION_SUSPENDED: "suspended",
  INSUFFICIENT_PERMISSIONS: "permission_missing",
  FEATURE_MISSING: "feature_missing",
  RATE_LIMITED: "rate_limited",
  USAGE_EXCEEDED: "limit_exceeded",
  VALID: "accepted",
};

/** Returns the outcome of a verification, or null if there is no such key. */
export function outcomeOfVerification(code: VerificationCode): Outcome | null {
  return ofVerifications[code];
}

export function rejectingLimit(limit: LimitStanding | undefined): RejectingLimit | null {
  if (limit === undefined) return null;
  const { limitId, productSlug, metric, per, by, value } = limit;
  return {
    limitId,
    productSlug,
    metric,
    per,
    ...by !== undefined && { by },
    ...value !== undefined && { value },
  };
}
