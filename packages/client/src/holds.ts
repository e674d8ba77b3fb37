// Holds as the client's functions take them, and as the API does.
import type { CreateHoldFor, HeldRoom, Hold as AnyHold, SettledHold } from "./api.ts";
import { rejectUnknown } from "./errors.ts";

export type Hold = AnyHold;

/** Usage to hold, or to settle a hold with. */
export interface HeldUsage {
  /** The product's slug. */
  readonly product: string;
  readonly metric: string;
  /** Rounded to 6 decimal places. */
  readonly quantity: number;
  /** Your own data, stored with the record. */
  readonly properties?: Readonly<Record<string, string>> | undefined;
}

/** The options of a new hold. */
export interface HoldTerms {
  /** After how many seconds the hold ends by itself. Default: 600. */
  readonly expiresIn?: number | undefined;
  /** `release`, the default, gives the room back when the hold expires. `record` records all of it. */
  readonly onExpiry?: "release" | "record" | undefined;
  /** Makes repeated calls hold once. Default: a new one for each call. */
  readonly idempotencyKey?: string | undefined;
}

/** A hold for one organization or API key. Name it in exactly one of the last three fields. */
export interface HoldOptions extends HoldTerms {
  /** 1 to 8 usages, each with the most that may be used. */
  readonly usage: HeldUsage | readonly HeldUsage[];
  readonly organizationId?: string | undefined;
  /** Your own id of the organization. */
  readonly externalId?: string | undefined;
  readonly apiKeyId?: string | undefined;
}

/** A hold, and the limits that it counts against. `duplicate`: it had already been made. */
export type Held = HeldRoom;
/** The end of a hold, with its usage records and the limits that they exceed. */
export type Settled = SettledHold;

/** Returns usage as the API takes it. @param what Names the function, for messages. @throws {TypeError} For anything but usage. */
export function heldRecords(
  usage: HeldUsage | readonly HeldUsage[],
  what: string,
): { productSlug: string; metric: string; quantity: number; properties?: Record<string, string> }[] {
  return [usage].flat().map((one) => {
    const { product, metric, quantity, properties, ...unknown } = one ?? {};
    rejectUnknown(unknown, `the usage of ${what}`);
    if (typeof product !== "string" || typeof metric !== "string" || !Number.isFinite(quantity)) {
      throw new TypeError(`The usage of ${what} must have a product, a metric and a number as quantity.`);
    }
    return {
      productSlug: product,
      metric,
      quantity: Number(quantity.toFixed(6)),
      ...(properties === undefined ? {} : { properties }),
    };
  });
}

/** Returns the terms of a hold as the API takes them, with an idempotency key. @throws {TypeError} For unknown options. */
export function holdTerms({ expiresIn, onExpiry, idempotencyKey, ...unknown }: HoldTerms, what: string) {
  rejectUnknown(unknown, what);
  return {
    ...(expiresIn === undefined ? {} : { expiresIn }),
    ...(onExpiry === undefined ? {} : { onExpiry }),
    // So that the retry after a lost response doesn't hold twice.
    idempotencyKey: idempotencyKey ?? crypto.randomUUID(),
  };
}

export function holdBody(
  { usage, organizationId, externalId, apiKeyId, ...terms }: HoldOptions,
): CreateHoldFor {
  return {
    records: heldRecords(usage, "hold()"),
    ...(organizationId === undefined ? {} : { organizationId }),
    ...(externalId === undefined ? {} : { externalId }),
    ...(apiKeyId === undefined ? {} : { apiKeyId }),
    ...holdTerms(terms, "hold()"),
  };
}
