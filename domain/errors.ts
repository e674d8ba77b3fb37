// The closed set of errors that callers can see. Everything else is a fault of ours: logged with its cause and
// shown as "internal".
import { usageSeriesMax } from "./limits.ts";

/** Every error code with its HTTP status. A code that is missing here does not compile. */
export const errorStatuses = {
  malformed_request: 400,
  unauthenticated: 401,
  invalid_credentials: 401,
  invalid_api_key: 401,
  invalid_code: 401,
  forbidden: 403,
  cross_site: 403,
  sign_up_closed: 403,
  proof_required: 403,
  codes_locked: 403,
  email_unverified: 403,
  wrong_account: 403,
  not_found: 404,
  invalid_token: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  email_taken: 409,
  key_limit_reached: 409,
  limit_reached: 409,
  last_owner: 409,
  already_member: 409,
  already_invited: 409,
  two_step_state: 409,
  organization_switched: 409,
  idempotency_conflict: 409,
  body_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  validation_failed: 422,
  range_too_long: 422,
  series_limit_reached: 422,
  rate_limited: 429,
  headers_too_large: 431,
  internal: 500,
  unavailable: 503,
  mail_unavailable: 503,
} as const;

/** A stable name of an error, for programs. */
export type ErrorCode = keyof typeof errorStatuses;

/** One fault in what was sent: where, and what is wrong there. */
export interface ErrorDetail {
  /** Such as `name` or `records[17].quantity`. */
  readonly path: string;
  readonly message: string;
}

/** What goes with an error beyond its code and message. */
export interface AppErrorOptions {
  readonly details?: readonly ErrorDetail[];
  /** Seconds after which trying again makes sense; for 429 and 503. */
  readonly retryAfterSeconds?: number;
  /** Methods that the path takes; for 405. */
  readonly allow?: readonly string[];
  readonly cause?: unknown;
}

/** An error that the caller is told of, in one sentence for a person. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly allow: readonly string[] | undefined;

  /**
   * @param code Which error.
   * @param message One sentence for a person; never a secret, never an internal name.
   * @param options What goes with it.
   */
  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.details = options.details;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.allow = options.allow;
  }

  /** The HTTP status of this error. */
  get status(): (typeof errorStatuses)[ErrorCode] {
    return errorStatuses[this.code];
  }
}

/** @returns The error for one or more faults in otherwise well-formed input. */
export function validationError(details: readonly ErrorDetail[]): AppError {
  const first = details[0];
  const message = details.length === 1 && first
    ? `${first.path === "" ? "The body" : `“${first.path}”`}: ${first.message}`
    : `${details.length} fields are not valid.`;
  return new AppError("validation_failed", message, { details });
}

/** @returns The error for an unknown id, and, with the same bytes, for somebody else's object. */
export function notFoundError(): AppError {
  return new AppError("not_found", "There is nothing here, or it is not yours.");
}

/** @returns The error for every way in which an API key can be wrong: a caller cannot tell them apart. */
export function invalidApiKeyError(): AppError {
  return new AppError("invalid_api_key", "Invalid or missing API key.");
}

/** @returns The error for a caller who must sign in first. */
export function unauthenticatedError(): AppError {
  return new AppError("unauthenticated", "Sign in first.");
}

/** @returns The error for a sensitive act of somebody who proved who they are too long ago. */
export function recentAuthenticationError(): AppError {
  return new AppError("proof_required", "Enter your password once more before you do this.");
}

/** @returns The error for a link that was used, replaced or is too old. */
export function invalidTokenError(): AppError {
  return new AppError(
    "invalid_token",
    "This link was used already, was replaced by a newer one, or is too old. Ask for a new one.",
  );
}

/** @returns The error for a record that would open one series too many. @param details The records that would. */
export function seriesLimitError(details: readonly ErrorDetail[]): AppError {
  return new AppError(
    "series_limit_reached",
    `Your organization has reached its limit of ${usageSeriesMax} series: distinct combinations of product, metric and ` +
      "API key. Record with existing ones.",
    { details },
  );
}

/** @returns The error for an act that needs a mail, where no mail server is set. */
export function mailUnavailableError(): AppError {
  return new AppError("mail_unavailable", "This service sends no mail yet. Ask the people who run it.");
}

/** @returns The error for a member whose role does not allow an act. */
export function forbiddenError(): AppError {
  return new AppError("forbidden", "Your role in this organization does not allow this.");
}

/** @returns The error for a part that cannot answer now, with the time after which to try again. */
export function unavailableError(message: string, cause?: unknown): AppError {
  return new AppError("unavailable", message, { retryAfterSeconds: 1, cause });
}
