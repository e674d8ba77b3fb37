// The conditions of requireKey for a request, and its metering and limits.
import type { LimitStanding } from "./api.ts";
import { GatehouseError, rejectUnknown } from "./errors.ts";
import type { Gatehouse, KeyVerification, ValidKey } from "./gatehouse.ts";
import { heldRecords, type HeldUsage, type Hold } from "./holds.ts";
import { type EndHold, endOfHold, type FoundUsage } from "./key_hold.ts";
import {
  type Decision,
  type Denied,
  denied,
  failClosed,
  headerOf,
  type MaybePromise,
  type RequestView,
  requireValues,
} from "./middleware.ts";
import type { SentBody } from "./sent_body.ts";

/**
 * Options of `requireKey`. `R` and `S` are the request and the response of the framework, and `E` is the response that has ended, which
 * may be missing.
 */
export interface KeyOptions<R, S, E = S | undefined> {
  readonly gatehouse: Gatehouse;
  /** Permissions that the key must have, all of them. */
  readonly permission?: string | readonly string[];
  /** Features that the plan of the key's organization must include, all of them. */
  readonly feature?: string | readonly string[];
  /** Usage to record for each response with a status below 400. Requests that don't fit into a hard limit are rejected; see `limit`. */
  readonly meter?: MeteredUsage<R, S>;
  /**
   * Checks hard limits before the handler runs. By default, `meter` has to fit, and is recorded afterwards. `true`: records
   * `meter` together with the check, so that concurrent requests never exceed a limit. Usage: checks this instead of `meter`.
   * `false`: checks nothing, so customers beyond a limit are served, and Gatehouse rejects the usage.
   */
  readonly limit?: boolean | MeteredUsage<R, S>;
  /**
   * Returns the most that a request may use, which is held in hard limits before the handler runs: 1 to 8 usages. Without room, the
   * request is rejected. Needs `settle`; not with `meter` and `limit`.
   */
  readonly hold?: (request: R) => MaybePromise<HeldUsage | readonly HeldUsage[]>;
  /**
   * Returns what the handler has used, or a promise of it. Called when the response has ended, also if the client has disconnected or
   * the handler has failed, then without a response if there is none. An empty list means that nothing was used. Without a result
   * (`undefined`), the hold is released if the handler has ended, and stays if it may go on. `sent` is what was written of the body,
   * with the tokens that a model has used.
   */
  readonly settle?: (response: E, request: R, sent: SentBody) => MaybePromise<FoundUsage>;
  /** After how many seconds the hold ends by itself: longer than responses take. Default: 600. */
  readonly expiresIn?: number;
  /** `release`, the default, gives the room of an expired hold back. `record` records all of it. */
  readonly onExpiry?: "release" | "record";
  /** Returns the key of a request. By default, it comes from `Authorization: Bearer`. */
  readonly keyFrom?: (request: R) => MaybePromise<string | null | undefined>;
  /**
   * Returns the address of the client, for keys that may only be used from some addresses; without one, they are rejected. By
   * default, it is `request.ip` of Express, and unknown in other frameworks.
   */
  readonly addressFrom?: (request: R) => MaybePromise<string | null | undefined>;
}

/** The usage that one request records. */
export interface MeteredUsage<R, S> {
  readonly product: string;
  readonly metric: string;
  /**
   * Default: 1. A function is called without the response to check limits, and with it to record usage after the handler. If it
   * throws or returns no positive number without the response, the check by default is whether any of the limit is left.
   */
  readonly quantity?: number | ((request: R, response?: S) => number);
  /** Your own data, stored with the record. A function is called when the usage is recorded, as `quantity` is. */
  readonly properties?: Properties | ((request: R, response?: S) => Properties);
}

type Properties = Record<string, string>;

/** The API key of a request, and its organization. */
export type VerifiedApiKey = ValidKey["apiKey"] & {
  readonly organization: ValidKey["organization"];
  /** The limits that apply to the usage that was checked. Empty if there are none, or nothing was checked. */
  readonly limits: readonly LimitStanding[];
  /** The hold of the request, with the option `hold`. */
  readonly hold: Hold | null;
};

/** Decides about API keys, and records the usage of requests that passed. @throws {TypeError} */
export function keyRule<R, S, E = S | undefined>(options: KeyOptions<R, S, E>) {
  requireValues(options, ["limit"]);
  const { gatehouse, permission = [], feature = [], meter, limit, keyFrom, addressFrom, ...more } = options;
  const { hold, settle, expiresIn, onExpiry, ...unknown } = more;
  rejectUnknown(unknown, "requireKey");
  requireHoldOptions(options);
  if (limit === true && meter === undefined) throw new TypeError("limit: true requires meter");
  const permissions = listOf(permission);
  const features = listOf(feature);
  const asked = limit === undefined || limit === true ? meter : limit || undefined;
  for (const usage of [meter, asked]) if (usage !== undefined) requireKnownUsage(usage);
  const quantityBefore = limit === undefined ? expectedQuantity : quantityOf;
  // Made here, so that a wrong setting fails at the start.
  const recorder = meter === undefined || limit === true ? null : gatehouse.meter;
  return {
    decide: (request: R, view: RequestView): Promise<Decision<VerifiedApiKey>> =>
      failClosed(async () => {
        const key = keyFrom === undefined
          ? bearerToken(headerOf(view, "authorization"))
          : await keyFrom(request);
        // Functions without types may return anything, such as an array of Express.
        if (typeof key !== "string" || key === "") return invalidKey();
        const address = addressFrom === undefined ? view.address : await addressFrom(request);
        const quantity = asked === undefined ? 0 : rounded(quantityBefore(asked, request));
        const isRecorded = limit === true;
        const properties = asked && isRecorded ? propertiesOf(asked, request) : undefined;
        const usages = hold === undefined ? undefined : heldOf(await hold(request));
        const usage = usages ?? (asked && { ...asked, quantity, properties, record: isRecorded });
        const verification = await gatehouse.verify(key, {
          permissions,
          // A Gatehouse that doesn't know features yet would reject the field.
          ...features.length === 0 ? {} : { features },
          // As would one that doesn't know addresses.
          ...address ? { address } : {},
          ...usage === undefined ? {} : { usage },
          ...usages === undefined ? {} : { hold: { expiresIn, onExpiry } },
        });
        // A key passes only with the hold that was asked for.
        if (verification.valid && usages !== undefined && verification.hold?.status !== "active") {
          throw new GatehouseError("Gatehouse returned no hold.", { code: "unexpected_response" });
        }
        const own = usages ?? (asked && [{ product: asked.product, metric: asked.metric, quantity }]) ?? [];
        return judge(verification, { permissions, features, usages: own });
      }),
    /** Returns a function that ends the hold of a request, or null without one. */
    holdOf(apiKey: VerifiedApiKey, request: R): EndHold<E> | null {
      if (settle === undefined || apiKey.hold === null) return null;
      return endOfHold({ gatehouse, hold: apiKey.hold, request, settle });
    },
    /** Records the usage of a request once its response has begun, if it wasn't recorded before. Never throws. */
    settle(
      apiKey: VerifiedApiKey,
      { request, response, status }: { request: R; response: S; status: number },
    ): void {
      if (recorder === null || meter === undefined || status >= 400) return;
      const { product, metric } = meter;
      let quantity = NaN;
      let properties: Properties | undefined;
      try {
        properties = propertiesOf(meter, request, response);
        // Functions without types may return nothing, which must not count as 1.
        quantity = quantityOf(meter, request, response) ?? NaN;
      } catch {
        // The meter rejects NaN and reports it: the response has begun, so no one can catch this.
      }
      recorder.record({ product, metric, quantity, properties, apiKeyId: apiKey.id });
    },
  };
}

function judge(
  verification: KeyVerification,
  { permissions, features, usages }: {
    permissions: readonly string[];
    features: readonly string[];
    usages: readonly HeldUsage[];
  },
): Decision<VerifiedApiKey> {
  const { apiKey, organization, limits, hold = null } = verification;
  const headers = limitHeaders(limits);
  if (verification.valid) {
    return {
      passed: { ...verification.apiKey, organization: verification.organization, limits, hold },
      headers,
    };
  }
  switch (verification.code) {
    case "ORGANIZATION_SUSPENDED": {
      const message = "This organization is suspended. Contact the people who run this service.";
      return denied(403, "organization_suspended", message);
    }
    case "INSUFFICIENT_PERMISSIONS": {
      const missing = permissions.filter((one) => !apiKey?.permissions.includes(one)).join(", ");
      return denied(403, "permission_missing", `This API key lacks the permission ${missing}.`);
    }
    case "FEATURE_MISSING": {
      const missing = features.filter((one) => !organization?.features.includes(one)).join(", ");
      return denied(403, "feature_missing", `The plan of this organization doesn't include ${missing}.`);
    }
    case "RATE_LIMITED": {
      const message = "This API key has used up its requests of this second.";
      return denied(429, "rate_limited", message, { headers: { "Retry-After": "1" } });
    }
    case "USAGE_EXCEEDED": {
      const details = limits.filter((limit) =>
        limit.mode === "cutoff"
          ? limit.remaining === 0
          : limit.mode === "hard" && limit.remaining < quantityIn(limit, usages)
      );
      const message = "This usage exceeds a limit of your organization or of the API key.";
      const both = { ...headers, ...retryAfterReset(details) };
      return denied(429, "limit_exceeded", message, { headers: both, details });
    }
    default:
      // Callers can't tell an unknown key from a revoked or expired one.
      return invalidKey();
  }
}

function listOf(names: string | readonly string[]): readonly string[] {
  return typeof names === "string" ? [names] : names;
}

/** Returns the key, if there is exactly one. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
}

function quantityOf<R, S>(
  { quantity = 1 }: MeteredUsage<R, S>,
  request: R,
  response?: S,
): number {
  return typeof quantity === "function" ? quantity(request, response) : quantity;
}

function propertiesOf<R, S>(
  { properties }: MeteredUsage<R, S>,
  request: R,
  response?: S,
): Properties | undefined {
  return typeof properties === "function" ? properties(request, response) : properties;
}

/** @throws {TypeError} For an unknown option. */
function requireKnownUsage<R, S>(
  { product: _product, metric: _metric, quantity: _quantity, properties: _properties, ...unknown }:
    MeteredUsage<R, S>,
): void {
  rejectUnknown(unknown, "the usage of requireKey");
}

/** The smallest quantity that Gatehouse records. It fits as long as any of a limit is left. */
const smallestQuantity = 0.000001;

/** Returns the quantity before the handler runs, or the smallest one if a function doesn't know it yet. */
function expectedQuantity<R, S>({ quantity = 1 }: MeteredUsage<R, S>, request: R): number {
  if (typeof quantity !== "function") return quantity;
  try {
    const expected = quantity(request);
    return Number.isFinite(expected) ? Math.max(expected, smallestQuantity) : smallestQuantity;
  } catch {
    return smallestQuantity;
  }
}

/** Removes the noise of floating-point sums: Gatehouse accepts six decimals. */
function rounded(quantity: number): number {
  return Number(quantity.toFixed(6));
}

function invalidKey(): Denied {
  const headers = { "WWW-Authenticate": "Bearer" };
  return denied(401, "invalid_api_key", "Invalid or missing API key.", { headers });
}

/** The seconds of a window; those of months differ. */
const windowSeconds: Readonly<Record<string, number>> = { minute: 60, hour: 3_600, day: 24 * 3_600 };

/**
 * Describes the hard or cutoff limit with the smallest share left, if any, as in responses of Gatehouse
 * (draft-ietf-httpapi-ratelimit-headers).
 */
function limitHeaders(
  limits: readonly LimitStanding[],
): Record<string, string> {
  const shareLeft = ({ remaining, quantity }: LimitStanding) => quantity === 0 ? 0 : remaining / quantity;
  const [tightest] = limits.filter(({ mode }) => mode !== "soft").sort((a, b) => shareLeft(a) - shareLeft(b));
  if (tightest === undefined) return {};
  const { limitId, per, quantity, remaining, resetsAt } = tightest;
  const whole = (value: number) => Math.min(Math.floor(value), 999_999_999_999_999);
  const time = resetsAt === null ? "" : `;t=${secondsUntil(resetsAt)}`;
  const window = windowSeconds[per] === undefined ? "" : `;w=${windowSeconds[per]}`;
  return {
    "RateLimit": `"${limitId}";r=${whole(remaining)}${time}`,
    "RateLimit-Policy": `"${limitId}";q=${whole(quantity)}${window}`,
  };
}

/** Adds up the usages that a limit counts. */
function quantityIn({ productSlug, metric }: LimitStanding, usages: readonly HeldUsage[]): number {
  const counted = usages.filter((one) =>
    (productSlug ?? one.product) === one.product && (metric ?? one.metric) === one.metric
  );
  return rounded(counted.reduce((sum, { quantity }) => sum + quantity, 0));
}

/** Returns the usages to hold. @throws {TypeError} For none, or anything else. */
function heldOf(held: HeldUsage | readonly HeldUsage[]): readonly HeldUsage[] {
  const usages = [held].flat();
  // Also rejects nothing at all, which would let the request pass without a hold.
  if (heldRecords(usages, "hold").length === 0) throw new TypeError("hold must return at least one usage");
  return usages;
}

/** @throws {TypeError} For options that need others, or contradict them. */
function requireHoldOptions<R, S, E>(
  { hold, settle, expiresIn, onExpiry, meter, limit }: KeyOptions<R, S, E>,
): void {
  if (hold === undefined) {
    const needing = Object.entries({ settle, expiresIn, onExpiry }).find(([, value]) => value !== undefined);
    if (needing !== undefined) throw new TypeError(`${needing[0]} requires hold`);
    return;
  }
  if (settle === undefined) throw new TypeError("hold requires settle");
  if (meter !== undefined || limit !== undefined) {
    throw new TypeError("hold can't be combined with meter and limit");
  }
}

/** The longest wait for room that only holds take, because most end early. */
const heldSecondsMax = 5;

/** Returns `Retry-After` for the end of the last window, unless one never ends. */
function retryAfterReset(
  limits: readonly LimitStanding[],
): Record<string, string> {
  const waits = limits.map(({ resetsAt, heldUntil }) => {
    if (heldUntil !== undefined) return Math.min(heldSecondsMax, secondsUntil(heldUntil));
    return resetsAt === null ? Infinity : secondsUntil(resetsAt);
  });
  const seconds = Math.max(1, ...waits);
  return seconds === Infinity ? {} : { "Retry-After": String(seconds) };
}

function secondsUntil(time: string): number {
  return Math.max(0, Math.ceil((Date.parse(time) - Date.now()) / 1000));
}
