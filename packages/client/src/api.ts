// Generated from the OpenAPI document by `deno task client:types`.

export interface KeyVerification {
  /** Whether the code is `VALID`. */
  readonly valid: boolean;
  /**
   * The first of these that applies:
   *
   * - `NOT_FOUND`: there is no such key.
   * - `REVOKED`, `EXPIRED`: the key no longer works.
   * - `DISABLED`: the key doesn't work until it is enabled again.
   * - `ADDRESS_DENIED`: the key may not be used from `address`.
   * - `ORGANIZATION_SUSPENDED`: its organization is suspended.
   * - `INSUFFICIENT_PERMISSIONS`: it lacks one of `permissions`.
   * - `FEATURE_MISSING`: the plan of its organization lacks one of `features`.
   * - `RATE_LIMITED`: it has reached its requests per second.
   * - `USAGE_EXCEEDED`: the usage doesn't fit into a hard limit.
   * - `VALID`: everything is fine.
   */
  readonly code:
    | "NOT_FOUND"
    | "REVOKED"
    | "EXPIRED"
    | "DISABLED"
    | "ADDRESS_DENIED"
    | "ORGANIZATION_SUSPENDED"
    | "INSUFFICIENT_PERMISSIONS"
    | "FEATURE_MISSING"
    | "RATE_LIMITED"
    | "USAGE_EXCEEDED"
    | "VALID";
  /** The key. Null if it wasn't found. */
  readonly apiKey: {
    /** The key's id. */
    readonly id: string;
    /** The key's name. */
    readonly name: string;
    /** Usage of test keys is kept apart: it is on no statement and counts against no limit. */
    readonly environment: "live" | "test";
    /** What the key may do, sorted. */
    readonly permissions: readonly string[];
    /** When the key expires. ISO 8601 in UTC, with milliseconds. */
    readonly expiresAt: string | null;
    /** Your own id for the key. */
    readonly externalId: string | null;
    /** Your own data. Customers don't see it. */
    readonly metadata: {
      readonly [key: string]: string;
    };
  } | null;
  /** The key's organization. Null if the key wasn't found, or the organization was deleted. */
  readonly organization: {
    /** The organization's id. */
    readonly id: string;
    /** Its name. */
    readonly name: string;
    /** Its id in your own systems, if set. */
    readonly externalId: string | null;
    /** The id of its plan. */
    readonly planId: string;
    /** The features of its plan, sorted. */
    readonly features: readonly string[];
  } | null;
  /** Every limit that applies to `usage`, in the current window. Empty if nothing was asked about, or another code applies first. When usage is recorded, a soft limit is missing until its earlier usage is added up. */
  readonly limits: readonly LimitStanding[];
}

export interface LimitStanding {
  /** The limit's id. */
  readonly limitId: string;
  /** The product. Null if all products count together. */
  readonly productSlug: string | null;
  /** The metric. Null if all metrics count together. */
  readonly metric: string | null;
  /** The calendar window, in the organization's time zone. `total` never ends. */
  readonly per: "minute" | "hour" | "day" | "month" | "total";
  /** The property of a limit per value. The numbers are those of `value`. */
  readonly by?: string;
  /** The value of the property: `(none)` without it, `(other)` for those beyond the first 10,000 of a window. Only of a limit per value. */
  readonly value?: string;
  /** Since when a limit per value counts usage: what was recorded before isn't in its numbers. ISO 8601 in UTC, with milliseconds. */
  readonly countsFrom?: string;
  /** A hard limit rejects what doesn't fit. A soft limit only reports. */
  readonly mode: "hard" | "soft";
  /** How much the window allows. */
  readonly quantity: number;
  /** How much of it is used. */
  readonly used: number;
  /** How much active holds have taken. */
  readonly held: number;
  /** How much is left after what is used and held, at least 0. */
  readonly remaining: number;
  /** When the window ends. Null for `total`. ISO 8601 in UTC, with milliseconds. */
  readonly resetsAt: string | null;
  /** When the first of the organization's holds expires. Only in errors, if only holds leave no room. ISO 8601 in UTC, with milliseconds. */
  readonly heldUntil?: string;
  /** The grants of this limit that can be used: not those that are used up, expired or voided. Only in lists of limits, and only if there ever was a grant. `quantity` and `remaining` of the limit have grants in them. */
  readonly grants?: {
    /** The limit's own quantity, without grants. */
    readonly limitQuantity: number;
    /** The total quantity of the active grants. */
    readonly quantity: number;
    /** The part that is used. */
    readonly used: number;
    /** The part that is left. */
    readonly remaining: number;
    /** When the next of them expires. Null if none does. ISO 8601 in UTC, with milliseconds. */
    readonly nextExpiresAt: string | null;
  };
}

/** Usage that must fit into the hard limits of the key and its organization. The key doesn't need `usage:write`. */
export interface VerifiedUsage {
  /** The product, 1 to 64 characters. */
  readonly productSlug: string;
  /** What was used, 1 to 64 characters. */
  readonly metric: string;
  /**
   * The quantity in the metric's unit, with at most 6 decimal places.
   * @default 1
   */
  readonly quantity?: number;
  /** 1 to 255 printable ASCII characters, unique within the organization for as long as the record is kept. A repeated request with the same key has no effect. */
  readonly idempotencyKey?: string | null;
  /** Your own data, stored with the record: up to 16 properties, with names of up to 64 and values of up to 255 characters. */
  readonly properties?: {
    readonly [key: string]: string;
  } | null;
  /**
   * Whether to record the usage, if the code is `VALID`. It is on disk when the response is sent.
   * @default false
   */
  readonly record?: boolean;
}

export interface VerifyKey {
  /** The key, as your customer sent it. */
  readonly key: string;
  /** The IP address of the client that sent you the key. Without it, a key that may only be used from some addresses is denied. */
  readonly address?: string;
  /** Permissions that the key must have, all of them. */
  readonly permissions?: readonly string[];
  /** Features that the plan of the key's organization must include, all of them. */
  readonly features?: readonly string[];
  readonly usage?: VerifiedUsage;
}
