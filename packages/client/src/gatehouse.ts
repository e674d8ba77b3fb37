// The client for a product's server: checks sessions and customers' API keys.
import type { KeyVerification as Verification, SingleVerifiedUsage, VerifyKey } from "./api.ts";
import type { SessionUser } from "./browser.d.ts";
import { rejectUnknown } from "./errors.ts";
import {
  type Held,
  heldRecords,
  type HeldUsage,
  type Hold,
  holdBody,
  type HoldOptions,
  type HoldTerms,
  holdTerms,
  type Settled,
} from "./holds.ts";
import { call, fromEnvironment, type Service, serviceUrl } from "./http.ts";
import { Meter, type MeterOptions } from "./meter/meter.ts";
import { Settlements } from "./settlements.ts";
import { type RequestLike, sessionCookies } from "./session_cookie.ts";

export interface GatehouseOptions {
  /** The address of your Gatehouse, such as `https://auth.example.com`. Default: the environment variable `GATEHOUSE_URL`. */
  readonly url?: string | URL | undefined;
  /** Needed by `verify()` and the meter. Default: the environment variable `GATEHOUSE_OPERATOR_TOKEN`. */
  readonly operatorToken?: string | undefined;
  /** The time limit of a call, its retry included, in milliseconds. Default: 5,000. */
  readonly timeoutMs?: number | undefined;
  /** Options of the meter, such as `spool`. */
  readonly meter?: Omit<MeterOptions, "url" | "apiKey" | "operatorToken"> | undefined;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** Conditions for the key. */
export interface VerifyOptions {
  /** Permissions that the key must have, all of them. */
  readonly permissions?: readonly string[] | undefined;
  /** Features that the plan of the key's organization must include, all of them. */
  readonly features?: readonly string[] | undefined;
  /** The IP address of the client that sent the key. Without it, a key that may only be used from some addresses is denied. */
  readonly address?: string | undefined;
  /** Usage that must fit into the hard limits of the key and its organization, and of whose cutoff limits something must be left: one, or 1 to 8, which must fit added up. */
  readonly usage?: VerifyUsage | readonly VerifyUsage[] | undefined;
  /** Records all of the usage, if the key is valid and the usage fits. Not with `hold`. */
  readonly record?: boolean | undefined;
  /** Holds all of the usage, if the key is valid and the usage fits: `true`, or the terms of the hold. */
  readonly hold?: true | HoldTerms | undefined;
}

/** Usage to check, and to record if `record` is true. */
export interface VerifyUsage {
  /** The product's slug. */
  readonly product: string;
  readonly metric: string;
  /** Default: 1. Rounded to 6 decimal places. */
  readonly quantity?: number | undefined;
  /** As `record` beside it, for a single usage. */
  readonly record?: boolean | undefined;
  /** Makes repeated calls record the usage once. Default: a new one for each call. */
  readonly idempotencyKey?: string | undefined;
  /** Your own data, stored with the record. */
  readonly properties?: Readonly<Record<string, string>> | undefined;
}

/** The key works, has the permissions and features, and the usage fits. */
export interface ValidKey extends Verification {
  readonly valid: true;
  readonly code: "VALID";
  readonly apiKey: NonNullable<Verification["apiKey"]>;
  readonly organization: NonNullable<Verification["organization"]>;
}

/** The key must not be accepted; `code` says why. */
export interface InvalidKey extends Verification {
  readonly valid: false;
  readonly code: Exclude<Verification["code"], "VALID">;
}

/** The result of a verification. Check `valid`. */
export type KeyVerification = ValidKey | InvalidKey;

/** The result of introspecting an access token (RFC 7662). */
export type Introspection = { readonly active: false } | {
  readonly active: true;
  /** The id of the person. */
  readonly sub: string;
  /** The id of the application. */
  readonly client_id: string;
  /** With spaces. */
  readonly scope: string;
  /** In seconds since 1970. */
  readonly exp: number;
  readonly organization: { readonly id: string; readonly name: string; readonly role: string } | null;
};

const signedOut: SessionUser = {
  authenticated: false,
  user: null,
  organizationId: null,
  role: null,
  memberships: [],
};
const notFound: KeyVerification = {
  valid: false,
  code: "NOT_FOUND",
  apiKey: null,
  organization: null,
  limits: [],
};

/** The holds that each client ends in the background. */
const settlements = new WeakMap<Gatehouse, Settlements>();

export function settlementsOf(gatehouse: Gatehouse): Settlements {
  const known = settlements.get(gatehouse) ?? new Settlements();
  settlements.set(gatehouse, known);
  return known;
}

/** Checks sessions and API keys, and records usage. Nothing is cached: revoked keys and ended sessions stop working immediately. */
export class Gatehouse {
  readonly #service: Service;
  readonly #options: Pick<GatehouseOptions, "operatorToken" | "meter" | "fetch">;
  #meter: Meter | undefined;

  /**
   * @throws {TypeError} Without a valid URL, with an unknown option, or with a spool that other users can change or without an operator
   *   token.
   */
  constructor(options: GatehouseOptions = {}) {
    const { url, timeoutMs = 5_000, fetch, operatorToken, meter, ...unknown } = options;
    rejectUnknown(unknown, "Gatehouse");
    this.#service = {
      url: serviceUrl(url),
      timeoutMs,
      fetch: fetch ?? ((...request) => globalThis.fetch(...request)),
    };
    this.#options = { operatorToken, meter, fetch };
    // Sends records of an earlier process, even if nothing is recorded.
    if (meter?.spool !== undefined) this.#meter = this.meter;
  }

  /** The address of your Gatehouse, without a slash at the end. */
  get url(): string {
    return this.#service.url;
  }

  /**
   * Tells whether an access token works now for a resource, and whose it is.
   *
   * @throws {GatehouseError} Also for a wrong secret.
   */
  async introspect(
    token: string,
    { id, secret }: { readonly id: string; readonly secret: string },
  ): Promise<Introspection> {
    const headers = { Authorization: `Basic ${btoa(`${id}:${secret}`)}` };
    const body = new URLSearchParams({ token });
    return await call(this.#service, {
      path: "/oauth/introspect",
      headers,
      body,
      expected: "active",
    }) as Introspection;
  }

  /**
   * Returns the signed-in user. Only the session cookies of the request are sent to Gatehouse; without one, nothing is.
   *
   * @param request A `Request`, a request of Node.js, or the headers of one.
   * @throws {GatehouseError}
   */
  async me(request: RequestLike): Promise<SessionUser> {
    const cookie = sessionCookies(request);
    if (cookie === null) return signedOut;
    const expected = "authenticated";
    return await call(this.#service, {
      path: "/api/auth/me",
      headers: { Cookie: cookie },
      expected,
    }) as SessionUser;
  }

  /**
   * Verifies a customer's API key.
   *
   * @param key The key as the customer sent it. One that is empty or malformed is not found.
   * @throws {GatehouseError} If Gatehouse can't be asked. An invalid key is no error: check `valid`.
   * @throws {TypeError} Without an operator token, or with an unknown option.
   */
  async verify(key: string, options: VerifyOptions = {}): Promise<KeyVerification> {
    const { permissions, features, address, usage: given, record, hold, ...unknown } = options;
    rejectUnknown(unknown, "verify()");
    const usage = given && verifiedUsages(given, record === true);
    const terms = hold && holdTerms(hold === true ? {} : hold, "hold of verify()");
    // Gatehouse would reject other characters as invalid JSON strings, and has no key with them.
    // Headers of Node.js can be undefined or arrays.
    if (typeof key !== "string" || !/^[\x21-\x7e]{1,1000}$/.test(key)) {
      const isDetailed = Array.isArray(given) || record !== undefined || hold !== undefined;
      return isDetailed ? { ...notFound, usageRecords: [], duplicates: 0, hold: null } : notFound;
    }
    const body: VerifyKey = {
      key,
      ...(permissions === undefined ? {} : { permissions }),
      ...(features === undefined ? {} : { features }),
      ...(address === undefined ? {} : { address }),
      ...(usage === undefined ? {} : { usage }),
      ...(record === undefined ? {} : { record }),
      ...(terms === undefined ? {} : { hold: terms }),
    };
    return await call(this.#service, {
      path: "/api/v1/keys/verify",
      headers: { Authorization: `Bearer ${this.#token()}` },
      body,
      expected: "valid",
    }) as KeyVerification;
  }

  /**
   * Holds room in limits, for an organization or an API key. Needs a token with `usage:write`.
   *
   * @throws {GatehouseError} If Gatehouse can't be asked; a `RateLimitError` with the code `limit_exceeded` if there is no room.
   * @throws {TypeError} Without an operator token, with an unknown option, or for anything but usage.
   */
  async hold(options: HoldOptions): Promise<Held> {
    return await this.#onHold("", holdBody(options)) as Held;
  }

  /**
   * Records what was used, and ends a hold. An empty list is a settlement, too. Repeating it with the same usage has no effect, so
   * repeat it after every error without a response.
   *
   * @throws {GatehouseError} Also with the code `hold_ended`. @throws {TypeError} As {@linkcode hold}.
   */
  async settle(id: string, usage: HeldUsage | readonly HeldUsage[]): Promise<Settled> {
    return await this.#onHold(pathOf(id, "settle"), { records: heldRecords(usage, "settle()") }) as Settled;
  }

  /** Ends a hold without usage. @param options `reason`: required for what a customer's own key holds. @throws As {@linkcode settle}. */
  async release(id: string, options: { reason?: string | undefined } = {}): Promise<Hold> {
    const { reason, ...unknown } = options;
    rejectUnknown(unknown, "release()");
    return (await this.#onHold(pathOf(id, "release"), reason === undefined ? {} : { reason }) as Held).hold;
  }

  /** Sets when an active hold expires, in seconds from now, if that is later. @throws As {@linkcode settle}. */
  async extend(id: string, options: { expiresIn: number }): Promise<Hold> {
    const { expiresIn, ...unknown } = options;
    rejectUnknown(unknown, "extend()");
    return (await this.#onHold(pathOf(id, "extend"), { expiresIn }) as Held).hold;
  }

  async #onHold(path: string, body: object): Promise<unknown> {
    return await call(this.#service, {
      path: `/api/operator/holds${path}`,
      headers: { Authorization: `Bearer ${this.#token()}` },
      body,
      expected: "hold",
      expectedType: "object",
    });
  }

  /**
   * Returns the meter, with the same address and operator token. It is created on first use, or with the client if it has a
   * spool.
   *
   * @throws {TypeError} Without an operator token.
   */
  get meter(): Meter {
    return this.#meter ??= new Meter({
      fetch: this.#options.fetch,
      ...this.#options.meter,
      url: this.url,
      operatorToken: this.#token(),
    });
  }

  /**
   * Ends the holds of responses that have ended, and closes the meter, if it was used. Returns true if all usage was sent or rejected
   * in time. Default time: 10 seconds.
   */
  async close(options?: { timeoutMs?: number | undefined }): Promise<boolean> {
    const closed = [settlements.get(this)?.close(options), this.#meter?.close(options)];
    return (await Promise.all(closed)).every((isDone) => isDone ?? true);
  }

  #token(): string {
    const token = (this.#options.operatorToken ?? fromEnvironment("GATEHOUSE_OPERATOR_TOKEN"))?.trim() ?? "";
    // The errors of `fetch` show headers with invalid characters.
    if (/^[\x21-\x7e]+$/.test(token)) return token;
    throw new TypeError(
      "Set the option operatorToken, or the environment variable GATEHOUSE_OPERATOR_TOKEN, to an operator token.",
    );
  }
}

/** @throws {TypeError} For anything but an id, which could name another path. */
function pathOf(id: string, act: string): string {
  if (!/^\w{1,100}$/.test(id)) throw new TypeError("A hold is named by its id, such as hld_01a1fe6b.");
  return `/${id}/${act}`;
}

function verifiedUsages(given: VerifyUsage | readonly VerifyUsage[], isRecorded: boolean) {
  if (!Array.isArray(given)) return verifiedUsage(given as VerifyUsage, isRecorded);
  return given.map((one: VerifyUsage) => {
    const { record, ...usage } = verifiedUsage(one, isRecorded);
    if (record) throw new TypeError("record must be beside the list of usage, not in it.");
    return usage;
  });
}

function verifiedUsage(
  { product, metric, quantity = 1, record, idempotencyKey: given, properties, ...unknown }: VerifyUsage,
  isRecorded: boolean,
): SingleVerifiedUsage {
  const idempotencyKey = given ?? (record || isRecorded ? crypto.randomUUID() : undefined);
  rejectUnknown(unknown, "the usage of verify()");
  if (typeof quantity !== "number") throw new TypeError("usage.quantity must be a number.");
  return {
    productSlug: product,
    metric,
    // Like the meter, for sums such as 0.1 + 0.2.
    quantity: Number(quantity.toFixed(6)),
    ...(record === undefined ? {} : { record }),
    // So that the retry after a lost response doesn't count twice.
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(properties === undefined ? {} : { properties }),
  };
}
