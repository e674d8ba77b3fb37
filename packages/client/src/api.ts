// Generated from the OpenAPI document by `deno task client:types`.

export interface KeyVerification {
  /** Whether the code is `VALID`. */
  readonly valid: boolean;
  /**
   * The first of these that applies:
   *
   * - `NOT_FOUND`: there is no such key.
   * - `REVOKED`, `EXPIRED`: the key no longer works.
   * - `ORGANIZATION_SUSPENDED`: its organization is suspended.
   * - `INSUFFICIENT_PERMISSIONS`: it lacks one of `permissions`.
   * - `RATE_LIMITED`: it has reached its requests per second.
   * - `USAGE_EXCEEDED`: the usage doesn't fit into a hard limit.
   * - `VALID`: everything is fine.
   * @example VALID
   * @enum {string}
   */
  readonly code:
    | "NOT_FOUND"
    | "REVOKED"
    | "EXPIRED"
    | "ORGANIZATION_SUSPENDED"
    | "INSUFFICIENT_PERMISSIONS"
    | "RATE_LIMITED"
    | "USAGE_EXCEEDED"
    | "VALID";
  /** The key. Null if it wasn't found. */
  readonly apiKey: {
    /**
     * The key's id.
     * @example key_0199d3c1a2b47c6e8f00112233445566
     */
    readonly id: string;
    /**
     * The key's name.
     * @example Production
     */
    readonly name: string;
    /**
     * What the key may do, sorted.
     * @example [
     *       "maps:render",
     *       "usage:read",
     *       "usage:write"
     *     ]
     */
    readonly permissions: readonly string[];
    /**
     * Format: date-time
     * When the key expires. ISO 8601 in UTC, with milliseconds.
     */
    readonly expiresAt: string | null;
  } | null;
  /** The key's organization. Null if the key wasn't found, or the organization was deleted. */
  readonly organization: {
    /**
     * The organization's id.
     * @example org_0199d3c1a2b47c6e8f00112233445566
     */
    readonly id: string;
    /**
     * Its name.
     * @example Northwind Maps
     */
    readonly name: string;
    /**
     * Its id in your own systems, if set.
     * @example customer-4711
     */
    readonly externalId: string | null;
    /**
     * The id of its plan.
     * @example plan_0199d3c1a2b47c6e8f00112233445566
     */
    readonly planId: string;
  } | null;
  /** Every limit that applies to `usage`, in the current window. Empty if nothing was asked about, or another code applies first. When usage is recorded, a soft limit is missing until its earlier usage is added up. */
  readonly limits: readonly LimitStanding[];
}

export interface LimitStanding {
  /**
   * The limit's id.
   * @example lim_0199d3c1a2b47c6e8f00112233445566
   */
  readonly limitId: string;
  /**
   * The product. Null if all products count together.
   * @example tiles
   */
  readonly productSlug: string | null;
  /**
   * The metric. Null if all metrics count together.
   * @example requests
   */
  readonly metric: string | null;
  /**
   * The calendar window, in the organization's time zone. `total` never ends.
   * @example month
   * @enum {string}
   */
  readonly per: "minute" | "hour" | "day" | "month" | "total";
  /**
   * A hard limit rejects what doesn't fit. A soft limit only reports.
   * @example hard
   * @enum {string}
   */
  readonly mode: "hard" | "soft";
  /**
   * How much the window allows.
   * @example 10000
   */
  readonly quantity: number;
  /**
   * How much of it is used.
   * @example 8250
   */
  readonly used: number;
  /**
   * How much is left, at least 0.
   * @example 1750
   */
  readonly remaining: number;
  /**
   * Format: date-time
   * When the window ends. Null for `total`. ISO 8601 in UTC, with milliseconds.
   */
  readonly resetsAt: string | null;
}

/** Usage that must fit into the hard limits of the key and its organization. The key doesn't need `usage:write`. */
export interface VerifiedUsage {
  /**
   * The product, 1 to 64 characters.
   * @example tiles
   */
  readonly productSlug: string;
  /**
   * What was used, 1 to 64 characters.
   * @example requests
   */
  readonly metric: string;
  /**
   * 1 to 255 printable ASCII characters, unique within the organization for as long as the record is kept. A repeated request with the same key has no effect.
   * @example invoice-2026-11-21-17
   */
  readonly idempotencyKey?: string | null;
  /**
   * The quantity in the metric's unit, with at most 6 decimal places.
   * @default 1
   * @example 1
   */
  readonly quantity?: number;
  /**
   * Whether to record the usage, if the code is `VALID`. It is on disk when the response is sent.
   * @default false
   */
  readonly record?: boolean;
}

export interface VerifyKey {
  /**
   * The key, as your customer sent it.
   * @example service_live_7Kq2mXfB0example0example0example0
   */
  readonly key: string;
  /**
   * Permissions that the key must have, all of them.
   * @example [
   *       "maps:render"
   *     ]
   */
  readonly permissions?: readonly string[];
  readonly usage?: VerifiedUsage;
}
