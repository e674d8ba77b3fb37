// The errors that calls of the client throw.

export interface ErrorFacts {
  readonly code: string;
  readonly status?: number;
  readonly requestId?: string | null;
  readonly details?: readonly ErrorDetail[];
  readonly cause?: unknown;
}

/** A problem with one field of the request, or an exceeded limit. */
export interface ErrorDetail {
  /** The field, such as `usage.quantity`. */
  readonly path?: string;
  readonly message?: string;
  readonly [name: string]: unknown;
}

/** Any failed call. Subclasses distinguish causes. */
export class GatehouseError extends Error {
  override name = "GatehouseError";
  /** Stable, such as `invalid_operator_token`, `connection_failed` or `timeout`. */
  readonly code: string;
  /** The HTTP status; null without a response. */
  readonly status: number | null;
  /** Include it when you report a problem; null without a response. */
  readonly requestId: string | null;
  /** Faults of fields; empty for most errors. */
  readonly details: readonly ErrorDetail[];

  constructor(message: string, { code, status, requestId, details, cause }: ErrorFacts) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
    this.status = status ?? null;
    this.requestId = requestId ?? null;
    this.details = details ?? [];
  }
}

/** Gatehouse couldn't be reached, or the connection was lost before the response was complete. */
export class ConnectionError extends GatehouseError {
  override name = "ConnectionError";
}

/** There was no complete response in time. */
export class TimeoutError extends GatehouseError {
  override name = "TimeoutError";
}

/** Gatehouse, or a proxy in front of it, responded with an error or with something unexpected. */
export class ApiError extends GatehouseError {
  override name = "ApiError";
  declare readonly status: number;
  /** The time to wait before trying again, in milliseconds, if the response says so. */
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    facts: ErrorFacts & { readonly status: number; readonly retryAfterMs?: number | null },
  ) {
    super(message, facts);
    this.retryAfterMs = facts.retryAfterMs ?? null;
  }
}

/** Too many requests, or a hard limit on usage (status 429). */
export class RateLimitError extends ApiError {
  override name = "RateLimitError";
}

/**
 * Rejects options that a function doesn't know, such as misspelled ones, as the API does. Undefined ones don't count, as in JSON.
 *
 * @param rest What remains of the options. @param what Their function or object, for the message.
 * @throws {TypeError}
 */
export function rejectUnknown(rest: object, what: string): void {
  for (const [name, value] of Object.entries(rest)) {
    if (value !== undefined) throw new TypeError(`${name} is not an option of ${what}.`);
  }
}
