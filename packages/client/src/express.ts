// Middleware for Express 4 and 5, and for other servers with the same form of middleware.
import { clearTimeout, setTimeout } from "node:timers";
import type { SignedIn } from "./browser.d.ts";
import { type KeyOptions, keyRule, type VerifiedApiKey } from "./key_rule.ts";
import type { Denial, RequestView } from "./middleware.ts";
import { type SessionOptions, sessionRule } from "./session_rule.ts";

export type { KeyOptions, MeteredUsage, VerifiedApiKey } from "./key_rule.ts";
export type { SessionOptions } from "./session_rule.ts";

/** The parts of a request of Express that the middlewares use. */
export interface ExpressRequest {
  readonly method: string;
  /** Unlike `url`, it includes the path at which a router is mounted. */
  readonly originalUrl: string;
  readonly protocol: string;
  /** The client's address, as the setting `trust proxy` finds it. */
  readonly ip?: string | undefined;
  // deno-lint-ignore no-explicit-any
  readonly params: Readonly<Record<string, any>>;
  // deno-lint-ignore no-explicit-any
  readonly query: Readonly<Record<string, any>>;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly headersDistinct?: Readonly<Record<string, string[] | undefined>>;
}

/** The parts of a response of Express that the middlewares use. */
export interface ExpressResponse {
  statusCode: number;
  readonly headersSent: boolean;
  setHeader(name: string, value: string): unknown;
  // deno-lint-ignore no-explicit-any
  end: (...args: any[]) => any;
  // deno-lint-ignore no-explicit-any
  write?: (...args: any[]) => any;
  once(event: "close", listener: () => void): unknown;
}

export type ExpressMiddleware<R, S> = (request: R, response: S, next: (error?: unknown) => void) => void;

const sessions = new WeakMap<object, SignedIn>();
const apiKeys = new WeakMap<object, VerifiedApiKey>();

/** Returns the user of a request, with the organization and role that were checked. @throws {Error} Without `requireSession`. */
export function sessionOf(request: object): SignedIn {
  return found(sessions.get(request), "requireSession");
}

/** Returns the API key of a request, and its organization. @throws {Error} Without `requireKey`. */
export function apiKeyOf(request: object): VerifiedApiKey {
  return found(apiKeys.get(request), "requireKey");
}

function found<T>(value: T | undefined, middleware: string): T {
  if (value === undefined) throw new Error(`${middleware} did not run for this request`);
  return value;
}

/** Requires a session that meets the conditions. Handlers get it from {@linkcode sessionOf}. */
export function requireSession<R extends ExpressRequest, S extends ExpressResponse>(
  options: SessionOptions<R>,
): ExpressMiddleware<R, S> {
  const decide = sessionRule(options);
  return function requireSession(request, response, next) {
    decide(request, viewOf(request)).then(({ passed, denial }) => {
      if (denial !== undefined) return deny(response, denial);
      sessions.set(request, passed);
      next();
    }).catch(next);
  };
}

/**
 * Requires an API key that works and meets the conditions. Handlers get it from {@linkcode apiKeyOf}. Can meter and limit
 * requests.
 */
export function requireKey<R extends ExpressRequest, S extends ExpressResponse>(
  options: KeyOptions<R, S, S>,
): ExpressMiddleware<R, S> {
  const { decide, holdOf, settle } = keyRule(options);
  return function requireKey(request, response, next) {
    decide(request, viewOf(request)).then(({ passed, headers, denial }) => {
      if (denial !== undefined) return deny(response, denial);
      apiKeys.set(request, passed);
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      onceAnswered(response, () => settle(passed, { request, response, status: response.statusCode }));
      const endHold = holdOf(passed, request);
      if (endHold !== null) {
        const until = Date.parse(passed.hold?.expiresAt ?? "");
        onceEnded(response, { until, callback: (isOver) => endHold(response, isOver) });
      }
      next();
    }).catch(next);
  };
}

export function viewOf(
  { method, originalUrl, protocol, ip, headers, headersDistinct }: ExpressRequest,
): RequestView {
  const path = originalUrl.startsWith("/") ? originalUrl : "/";
  // Node.js keeps the first of several; a proxy may have read another.
  const authorization = headersDistinct?.["authorization"];
  const isRepeated = authorization !== undefined && authorization.length > 1;
  return {
    method,
    url: `${protocol}://${headers["host"]}${path}`,
    address: ip,
    headers: isRepeated ? { ...headers, authorization } : headers,
  };
}

export function deny(response: ExpressResponse, { status, headers, body }: Denial): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end(body ?? undefined);
}

/** A handler that writes nothing for this long after the client has disconnected is taken to have stopped. */
const stoppedMs = 5_000;

/**
 * Calls back with `true` when the handler ends the response. If the client disconnects first, most handlers go on until they notice,
 * and some never end the response: calls back with `false` while one writes nothing, until that returns true, or a time is over.
 */
function onceEnded(
  response: ExpressResponse,
  { callback, until }: { callback: (isOver: boolean) => Promise<boolean>; until: number },
): void {
  let [isEnded, isDisconnected] = [false, false];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const ask = async () => {
    const isLast = Date.now() >= until;
    if (!await callback(false) && !isEnded && !isLast) wait();
  };
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(ask, stoppedMs).unref();
  };
  const { end, write } = response;
  response.end = (...args) => {
    isEnded = true;
    clearTimeout(timer);
    callback(true);
    return end.apply(response, args);
  };
  if (write !== undefined) {
    response.write = (...args) => {
      if (isDisconnected && !isEnded) wait();
      return write.apply(response, args);
    };
  }
  response.once("close", () => {
    isDisconnected = true;
    if (!isEnded) wait();
  });
}

/** Calls back once, when the response ends, or when the client disconnects after it began. */
function onceAnswered(response: ExpressResponse, callback: () => void): void {
  let isDone = false;
  const done = () => {
    if (isDone) return;
    isDone = true;
    callback();
  };
  const { end } = response;
  // The handler ends the response even if the client has disconnected before it began.
  response.end = (...args) => {
    done();
    return end.apply(response, args);
  };
  response.once("close", () => {
    if (response.headersSent) done();
  });
}
