// The closed set of errors that callers can see. Any other error is a bug: logged with its cause and reported as `internal`.
import type { Role } from "./access/session.ts";
import type { LimitStanding } from "./meter/usage_limit.ts";
import { countOf } from "./number_text.ts";
import { webhooksOfOperatorsMax, webhooksOfOrganizationMax } from "./outbox/webhook_limits.ts";

/** Every error code with its HTTP status. A code that is missing here doesn't compile. */
export const errorStatuses = {
  malformed_request: 400,
  unauthenticated: 401,
  invalid_credentials: 401,
  invalid_api_key: 401,
  invalid_operator_token: 401,
  invalid_code: 401,
  forbidden: 403,
  cross_site: 403,
  sign_up_closed: 403,
  sso_required: 403,
  proof_required: 403,
  codes_locked: 403,
  second_factor_required: 403,
  scope_missing: 403,
  permission_missing: 403,
  invalid_signature: 403,
  organization_suspended: 403,
  email_unverified: 403,
  hold_of_operator: 403,
  wrong_account: 403,
  provider_rejected: 403,
  not_found: 404,
  invalid_token: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  email_taken: 409,
  key_limit_reached: 409,
  key_disabled: 409,
  key_inactive: 409,
  limit_reached: 409,
  webhook_limit_reached: 409,
  webhook_disabled: 409,
  last_owner: 409,
  last_sign_in_method: 409,
  identity_taken: 409,
  identity_not_linked: 409,
  already_member: 409,
  already_invited: 409,
  two_step_state: 409,
  organization_switched: 409,
  idempotency_conflict: 409,
  hold_ended: 409,
  external_id_taken: 409,
  product_taken: 409,
  plan_taken: 409,
  mapping_taken: 409,
  resource_taken: 409,
  provider_taken: 409,
  secrets_key_missing: 409,
  plan_in_use: 409,
  sso_untested: 409,
  domain_taken: 409,
  domain_unproved: 409,
  month_not_ended: 409,
  statement_out_of_order: 409,
  statement_not_closed: 409,
  body_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  validation_failed: 422,
  range_too_long: 422,
  limit_per_value: 422,
  dimension_unknown: 422,
  hold_too_long: 422,
  event_unmapped: 422,
  subject_unknown: 422,
  nothing_to_record: 422,
  aggregation_fixed: 409,
  dimension_incomplete: 409,
  dimension_priced: 409,
  amount_unknown: 422,
  series_limit_reached: 422,
  webhook_address_blocked: 422,
  rate_limited: 429,
  limit_exceeded: 429,
  hold_limit_reached: 429,
  headers_too_large: 431,
  internal: 500,
  provider_unavailable: 502,
  unavailable: 503,
  mail_unavailable: 503,
} as const;

/** Returns the message of anything thrown. Errors of the operating system are cut to the reason, such as "permission denied". */
export function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  // From Deno 2.9 on, only the cause has the reason.
  if (message === "fetch failed" && error instanceof Error && error.cause) return messageOf(error.cause);
  const [, reason] = /^([^(]+) \(os error \d+\)/.exec(message) ?? [];
  return reason === undefined ? message : reason.charAt(0).toLowerCase() + reason.slice(1);
}

export type ErrorCode = keyof typeof errorStatuses;

export interface ErrorDetail {
  /** The field, such as `name` or `records[17].quantity`. */
  readonly path: string;
  /** The end of a sentence about the field, such as "is required". */
  readonly message: string;
}

interface AppErrorOptions {
  readonly details?: readonly ErrorDetail[] | undefined;
  /** The limits that a request doesn't fit into; its details. */
  readonly limits?: readonly LimitStanding[] | undefined;
  /** The holds that an error is about; its details. */
  readonly holds?: readonly object[] | undefined;
  /** Seconds to wait before the next try; for 429 and 503. */
  readonly retryAfterSeconds?: number | undefined;
  /** Methods that the path supports; for 405. */
  readonly allow?: readonly string[];
  readonly cause?: unknown;
}

export class AppError extends Error {
  readonly details: readonly ErrorDetail[] | undefined;
  readonly limits: readonly LimitStanding[] | undefined;
  readonly holds: readonly object[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly allow: readonly string[] | undefined;

  /** @param message One sentence for a person, without secrets and internal names. */
  constructor(readonly code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AppError";
    this.details = options.details;
    this.limits = options.limits;
    this.holds = options.holds;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.allow = options.allow;
  }

  get status(): (typeof errorStatuses)[ErrorCode] {
    return errorStatuses[this.code];
  }
}

export function validationError(details: readonly ErrorDetail[]): AppError {
  const first = details[0];
  const message = details.length === 1 && first
    ? `${first.path === "" ? "The body" : `“${first.path}”`}: ${first.message}`
    : `${details.length} fields are invalid.`;
  return new AppError("validation_failed", message, { details });
}

/** Reports an unknown id and, identically, an object of another organization. */
export function notFoundError(): AppError {
  return new AppError("not_found", "Not found, or you don't have access.");
}

/**
 * Reports a missing, malformed, unknown, revoked or expired key. Callers can't tell these apart.
 *
 * @param isMisplaced True if the request has `X-API-Key` and no `Authorization` header, which gets a hint.
 */
export function invalidApiKeyError(isMisplaced = false): AppError {
  return new AppError(
    "invalid_api_key",
    isMisplaced
      ? "Send your API key as `Authorization: Bearer KEY` instead of `X-API-Key`."
      : "Invalid or missing API key.",
  );
}

/** Reports an operator token that doesn't work here. Callers can't tell why. */
export function invalidOperatorTokenError(): AppError {
  return new AppError("invalid_operator_token", "Invalid or missing operator token.");
}

/** @param scope The missing one; null if only operator accounts may do this. */
export function scopeMissingError(scope: string | null): AppError {
  return new AppError(
    "scope_missing",
    scope === null
      ? "Operator tokens can't do this. Sign in as an operator."
      : `This operator token lacks the scope ${scope}.`,
  );
}

export function secondFactorRequiredError(): AppError {
  return new AppError(
    "second_factor_required",
    "Operators must have signed in with a passkey or an authenticator app in the last 12 hours.",
  );
}

export function permissionMissingError(permission: string): AppError {
  return new AppError("permission_missing", `This API key lacks the permission ${permission}.`);
}

export function organizationSuspendedError(): AppError {
  return new AppError(
    "organization_suspended",
    "This organization is suspended. Contact the people who run this service.",
  );
}

export function unauthenticatedError(): AppError {
  return new AppError("unauthenticated", "Sign in first.");
}

export function recentAuthenticationError(): AppError {
  return new AppError("proof_required", "Recent authentication required. Confirm that it's you first.");
}

export function lastSignInMethodError(): AppError {
  return new AppError(
    "last_sign_in_method",
    "This is your only way to sign in. Set a password or add another way first.",
  );
}

export function invalidTokenError(): AppError {
  return new AppError(
    "invalid_token",
    "This link has expired, or was already used or replaced by a newer one. Request a new one.",
  );
}

export function keyDisabledError(): AppError {
  return new AppError("key_disabled", "A disabled key can't be rotated. Enable it first.");
}

/** @param max The active keys that the organization may have. @param options `isRotation`: the new key replaces another. */
export function apiKeyLimitError(max: number, { isRotation = false } = {}): AppError {
  const remedy = isRotation
    ? "Revoke one first, or let the old key stop working immediately."
    : "Revoke one first.";
  return new AppError(
    "key_limit_reached",
    `This organization has reached its limit of ${countOf(max, "active key")}. ${remedy}`,
  );
}

export function memberLimitError(max: number): AppError {
  return new AppError(
    "limit_reached",
    `This organization has reached its limit of ${countOf(max, "member")}. Ask one of its owners.`,
  );
}

/** @param details The records that would exceed the limit of series. */
export function seriesLimitError(details: readonly ErrorDetail[], max: number): AppError {
  return new AppError(
    "series_limit_reached",
    `This organization has reached its limit of ${
      countOf(max, "combination")
    } of product, metric and API key. ` +
      "Use existing ones.",
    { details },
  );
}

/**
 * Reports hard limits that a request doesn't fit into, at least one, and the time until the last of their windows ends; or, if only
 * holds are in the way, until the first of them expires, but not longer than most last.
 */
export function limitExceededError(limits: readonly LimitStanding[], now: number): AppError {
  const ends = limits.map(({ resetsAt }) => resetsAt === null ? Infinity : Date.parse(resetsAt));
  const heldUntil = limits.map((limit) => limit.heldUntil === undefined ? NaN : Date.parse(limit.heldUntil));
  const waitMs = heldUntil.every((time) => !Number.isNaN(time))
    ? Math.max(1, Math.min(heldRetryMsMax, Math.max(...heldUntil) - now))
    : Math.max(...ends) - now;
  return new AppError(
    "limit_exceeded",
    "This usage exceeds a limit of the organization or of the API key.",
    {
      limits,
      // A window in the past stays full, like one that never ends.
      retryAfterSeconds: waitMs > 0 && waitMs < Infinity ? Math.ceil(waitMs / 1000) : undefined,
    },
  );
}

/** Most holds end before they expire. */
const heldRetryMsMax = 5_000;

/** @param organizationId Null for operators. */
export function webhookLimitError(organizationId: string | null): AppError {
  const owner = organizationId === null
    ? `There can be at most ${webhooksOfOperatorsMax}`
    : `An organization can have at most ${webhooksOfOrganizationMax}`;
  return new AppError("webhook_limit_reached", `${owner} webhook endpoints. Delete one first.`);
}

export function webhookDisabledError(): AppError {
  return new AppError("webhook_disabled", "This webhook endpoint is disabled. Enable it first.");
}

/** @param message Of the field. Why a host is blocked must not be told: it would reveal names and addresses of this network. */
export function webhookAddressError(
  message: string = "must have a host that can be found and has only public addresses.",
): AppError {
  return new AppError("webhook_address_blocked", `The URL ${message}`, {
    details: [{ path: "url", message }],
  });
}

export function mailUnavailableError(): AppError {
  return new AppError("mail_unavailable", "Email isn't set up on this server. Contact its administrator.");
}

/** @param least The role that it takes at least. */
export function forbiddenError(least?: Role): AppError {
  const roles = least === "ADMIN"
    ? " Admins and owners can do it."
    : least === "OWNER"
    ? " Owners can do it."
    : "";
  return new AppError("forbidden", `Your role in this organization doesn't allow this.${roles}`);
}

export function invalidSignatureError(): AppError {
  return new AppError("invalid_signature", "The signature doesn't match the body.");
}

/** Reports a part of the server that can't respond now. Callers may try again after a second. */
export function unavailableError(message: string, cause?: unknown): AppError {
  return new AppError("unavailable", message, { retryAfterSeconds: 1, cause });
}
