// The answer to whether an API key works, for the service that received it from a customer.
import type { Environment } from "../environment.ts";
import type { Hold } from "./hold.ts";
import type { LimitStanding } from "./usage_limit.ts";

/** Listed in the order of the checks. */
export const verificationCodes = [
  "NOT_FOUND",
  "REVOKED",
  "EXPIRED",
  "DISABLED",
  "ADDRESS_DENIED",
  "ORGANIZATION_SUSPENDED",
  "INSUFFICIENT_PERMISSIONS",
  "FEATURE_MISSING",
  "RATE_LIMITED",
  "USAGE_EXCEEDED",
  "VALID",
] as const;
export type VerificationCode = (typeof verificationCodes)[number];

/** The plan of a key lacks a feature that its verification requires. Becomes a code of the verification. */
export class FeatureMissingError extends Error {
  override readonly name = "FeatureMissingError";
}

export interface VerifiedOrganization {
  readonly id: string;
  readonly name: string;
  readonly externalId: string | null;
  readonly planId: string;
  /** Features of the plan, sorted. */
  readonly features: readonly string[];
}

export interface KeyVerification {
  readonly valid: boolean;
  readonly code: VerificationCode;
  /** Null if there is no such key. `permissions` are sorted; `expiresAt` is ISO 8601 UTC. */
  readonly apiKey: {
    readonly id: string;
    readonly name: string;
    readonly environment: Environment;
    readonly permissions: readonly string[];
    readonly expiresAt: string | null;
    readonly externalId: string | null;
    readonly metadata: Readonly<Record<string, string>>;
  } | null;
  /** Null if there is no such key, or its organization was deleted. */
  readonly organization: VerifiedOrganization | null;
  /** The limits that apply to the usage to verify, if any, each once. */
  readonly limits: readonly LimitStanding[];
}

/** The records and the hold that a verification made. */
export interface VerifiedWrites {
  /** The ids of the usage records, in the order of the question. */
  readonly usageRecords: readonly string[];
  /** The number of them, or of holds, that existed already. */
  readonly duplicates: number;
  readonly hold: Hold | null;
}
