// Generated from the OpenAPI document by `deno task client:types`.

export interface CreateHoldFor {
  /** The organization. */
  readonly organizationId?: string;
  /** The organization, by its external id. */
  readonly externalId?: string;
  /** The API key, and so its organization. */
  readonly apiKeyId?: string;
  /** The most that may be used: 1 to 8 records. */
  readonly records: readonly HoldRecordInput[];
  /**
   * After how many seconds the hold ends by itself.
   * @default 600
   */
  readonly expiresIn?: number;
  /**
   * `release` gives the room back when the hold expires. `record` records all of it.
   * @default release
   */
  readonly onExpiry?: "release" | "record";
  /** Makes one hold however often the request is sent. Unique among the holds of the organization and environment while they are kept. */
  readonly idempotencyKey?: string | null;
}

export interface HeldRoom {
  readonly hold: Hold;
  /** Present if the hold had already been made. */
  readonly duplicate?: true;
  /** Every limit that applies to these products and metrics, in the current window. */
  readonly limits: readonly LimitStanding[];
}

export interface Hold {
  /** The hold's id. */
  readonly id: string;
  /** Only active holds take room in limits. */
  readonly status: "active" | "settled" | "released" | "expired";
  /** The records that are held. */
  readonly records: readonly {
    /** The product. */
    readonly productSlug: string;
    /** The metric. */
    readonly metric: string;
    /** How much is held. */
    readonly quantity: number;
    /** The properties of the record. */
    readonly properties: {
      readonly [key: string]: string;
    } | null;
  }[];
  /** The API key that it is held for. Null for an organization without a key. */
  readonly apiKeyId: string | null;
  /** Who made the hold. Only operators can end those of operators. */
  readonly heldBy: "key" | "operator";
  /** The action when it expires: `release` frees its room, `record` records all of it. */
  readonly onExpiry: "release" | "record";
  /** When it was made. It counts in the windows of this time. ISO 8601 in UTC, with milliseconds. */
  readonly createdAt: string;
  /** When it ends by itself. ISO 8601 in UTC, with milliseconds. */
  readonly expiresAt: string;
  /** When it ended. Null if it is active. ISO 8601 in UTC, with milliseconds. */
  readonly endedAt: string | null;
  /** The usage records that it was settled with, or that were recorded. */
  readonly usageRecordIds: readonly string[];
}

export interface HoldRecordInput {
  /** The product, 1 to 64 characters. */
  readonly productSlug: string;
  /** The metric that was used, 1 to 64 characters. */
  readonly metric: string;
  /** The quantity in the metric's unit, with at most 6 decimal places. */
  readonly quantity: number;
  /** Your own data, stored with the record: up to 16 properties, with names of up to 64 and values of up to 255 characters. */
  readonly properties?: {
    readonly [key: string]: string;
  } | null;
}

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
   * - `USAGE_EXCEEDED`: the usage doesn't fit into a hard limit, or nothing is left of a cutoff limit.
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
  /** Every limit that applies to `usage`, once, in the current window. Empty if nothing was asked about, or another code applies first. When usage is recorded, a soft limit is missing until its earlier usage is added up. */
  readonly limits: readonly LimitStanding[];
  /** The ids of the usage records, in the order of `usage`. Empty unless usage was recorded. Only if `usage` is a list, or the request has `record` or `hold` beside it. */
  readonly usageRecords?: readonly string[];
  /** How many usage records existed already, or 1 if the hold did. Only if `usage` is a list, or the request has `record` or `hold` beside it. */
  readonly duplicates?: number;
  /** The hold. Null unless the code is `VALID` and the request has `hold`. Only if `usage` is a list, or the request has `record` or `hold` beside it. */
  readonly hold?: {
    /** The hold's id. */
    readonly id: string;
    /** Only active holds take room in limits. */
    readonly status: "active" | "settled" | "released" | "expired";
    /** The records that are held. */
    readonly records: readonly {
      /** The product. */
      readonly productSlug: string;
      /** The metric. */
      readonly metric: string;
      /** How much is held. */
      readonly quantity: number;
      /** The properties of the record. */
      readonly properties: {
        readonly [key: string]: string;
      } | null;
    }[];
    /** The API key that it is held for. Null for an organization without a key. */
    readonly apiKeyId: string | null;
    /** Who made the hold. Only operators can end those of operators. */
    readonly heldBy: "key" | "operator";
    /** The action when it expires: `release` frees its room, `record` records all of it. */
    readonly onExpiry: "release" | "record";
    /** When it was made. It counts in the windows of this time. ISO 8601 in UTC, with milliseconds. */
    readonly createdAt: string;
    /** When it ends by itself. ISO 8601 in UTC, with milliseconds. */
    readonly expiresAt: string;
    /** When it ended. Null if it is active. ISO 8601 in UTC, with milliseconds. */
    readonly endedAt: string | null;
    /** The usage records that it was settled with, or that were recorded. */
    readonly usageRecordIds: readonly string[];
  } | null;
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
  /** A hard limit rejects what doesn't fit. A cutoff limit denies verification, forward authentication and holds when nothing is left, and rejects no records. A soft limit only reports. */
  readonly mode: "hard" | "cutoff" | "soft";
  /** How much the window allows. */
  readonly quantity: number;
  /** How much of it is used. */
  readonly used: number;
  /** How much active holds have taken. */
  readonly held: number;
  /** How much is left after what is used and held, and without grants that active holds of another window need. At least 0. */
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

export interface SettledHold {
  readonly hold: Hold;
  /** The records, in the order of the request. */
  readonly usageRecords: readonly UsageRecord[];
  /** Limits that are exceeded now. */
  readonly beyond: readonly {
    /** A limit that rejects usage. */
    readonly limitId: string;
    /** How much is used and held beyond it, at most the quantity of the settlement. */
    readonly quantity: number;
  }[];
  /** Every limit that applies to these products and metrics, in the current window. */
  readonly limits: readonly LimitStanding[];
}

export interface SingleVerifiedUsage {
  /** The product, 1 to 64 characters. */
  readonly productSlug: string;
  /** The metric that was used, 1 to 64 characters. */
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

export interface UsageRecord {
  /** The record's id. */
  readonly id: string;
  /** The product. */
  readonly productSlug: string;
  /** The metric that was used. */
  readonly metric: string;
  /** The quantity in the metric's unit. */
  readonly quantity: number;
  /** When the usage occurred. ISO 8601 in UTC, with milliseconds. */
  readonly timestamp: string;
  /** When the usage was recorded. ISO 8601 in UTC, with milliseconds. */
  readonly recordedAt: string;
  /** The idempotency key it was recorded with. */
  readonly idempotencyKey: string | null;
  /** The properties it was recorded with. */
  readonly properties: {
    readonly [key: string]: string;
  } | null;
  /** The id of the API key that recorded it. Null if an operator recorded it. */
  readonly apiKeyId: string | null;
  /** That of the API key. `live` without one. */
  readonly environment: "live" | "test";
  /** When the record was voided. Null if it counts. ISO 8601 in UTC, with milliseconds. */
  readonly voidedAt: string | null;
  /** The id of the API key that voided it, or `operator`. */
  readonly voidedBy: string | null;
  /** Why it was voided. */
  readonly voidReason: string | null;
}

export interface VerifiedHold {
  /**
   * After how many seconds the hold ends by itself.
   * @default 600
   */
  readonly expiresIn?: number;
  /**
   * `release` gives the room back when the hold expires. `record` records all of it.
   * @default release
   */
  readonly onExpiry?: "release" | "record";
  /** Makes one hold however often the request is sent. Unique among the holds of the organization and environment while they are kept. */
  readonly idempotencyKey?: string | null;
}

/** Usage that must fit into the hard limits of the key and its organization, and of whose cutoff limits something must be left. The key doesn't need `usage:write`. */
export interface VerifiedUsage {
  /** The product, 1 to 64 characters. */
  readonly productSlug: string;
  /** The metric that was used, 1 to 64 characters. */
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
  /** Usage that must fit into the hard limits of the key and its organization: one, or a list of 1 to 8. A list fits if, added up, it fits into every limit. What was recorded already, by its idempotency key, always fits and counts once. */
  readonly usage?: SingleVerifiedUsage | readonly VerifiedUsage[];
  /**
   * Whether to record the usage, if the code is `VALID`. It is on disk when the response is sent.
   * @default false
   */
  readonly record?: boolean;
  /** Holds the usage, if the code is `VALID`, instead of recording it: `true`, or the terms of the hold. Settle or release it with an operator token. */
  readonly hold?: true | VerifiedHold;
}
