// Around every route: an id for every request, limits before anything is read, headers on every answer, errors
// and redirects included.
import { randomBytes } from "node:crypto";
import type { Config } from "../../config.ts";
import type { ClientInfo } from "../../domain/actor.ts";
import { AppError } from "../../domain/errors.ts";
import { headerCharactersMax, queryParametersMax, urlCharactersMax } from "../../domain/limits.ts";
import { timeDigits } from "../../domain/id.ts";
import { createPermutation } from "../../domain/meter/permutation.ts";
import { closeUnfinished, hasMore } from "../body.ts";
import { clientAddress } from "../client_address.ts";
import { sessionTokens } from "../cookies.ts";
import type { AppContext, AppMiddleware, AppParts } from "../env.ts";

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");
const hstsSeconds = 2 * 365 * 24 * 3600;

/** Looks at a request before anything else does. @throws {AppError} To refuse it. */
export type Guard = (c: AppContext) => void;

/** What the conversation needs of the app around it. */
export interface ConversationOptions {
  /** In order. Functions and not middleware of their own: each of those costs a promise or two. */
  readonly guards: readonly Guard[];
  /** Makes the answer to what a guard throws. */
  readonly answerError: (error: unknown, c: AppContext) => Response | Promise<Response>;
  /** Called with every response, for the metrics; `startedAt` is when its request came, by `performance.now()`. */
  readonly onResponse: (c: AppContext, startedAt: number) => void;
}

/** @param parts See {@linkcode AppParts}. */
export function conversation(parts: AppParts, options: ConversationOptions): AppMiddleware {
  const { guards, answerError, onResponse } = options;
  const { config, log } = parts;
  const headers = standardHeaders(config);
  const nextRequestId = requestIds(parts.services.clock);
  return async function conversationMiddleware(c, next) {
    const startedAt = performance.now();
    const requestId = nextRequestId();
    c.set("requestId", requestId);
    c.set("deadlines", parts.services.deadlines);
    c.set("client", new RequestClient(c, config));
    try {
      for (const guard of guards) guard(c);
      await next();
    } catch (error) {
      c.res = await answerError(error, c);
    }
    if (c.get("unfinishedBody") !== undefined) c.res = closeUnfinished(c, c.res);
    const answer = c.res.headers;
    if (hasUnreadBody(c)) answer.set("connection", "close");
    answer.set("x-request-id", requestId);
    for (const [name, value] of headers) answer.set(name, value);
    // A policy for documents: what the API answers runs and loads nothing.
    if (!c.req.path.startsWith("/api/")) answer.set("content-security-policy", contentSecurityPolicy);
    const own = c.get("responseHeaders");
    if (own !== undefined) { for (const [name, value] of own) answer.set(name, value); }
    onResponse(c, startedAt);
    log.debug?.("answered", { requestId, method: c.req.method, path: c.req.path, status: c.res.status });
  };
}

/**
 * @returns Whether the response goes out before the request's body was read. The connection is then closed after it, and a
 *   client that isn't told (RFC 9112, section 9.6) would send its next request on it and lose that.
 */
function hasUnreadBody(c: AppContext): boolean {
  if (c.req.raw.bodyUsed) return c.get("isBodyLeft") === true;
  // Missing when the request was rejected before its headers were kept.
  const headers = c.get("headers") ?? {};
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/**
 * @param clock Milliseconds since 1970.
 * @returns What gives each request an id that sorts by time and costs a fraction of a UUID: the time, a random part for the
 *   process, and a count that is encrypted with a key of its own, so that it does not show how many requests there are.
 */
function requestIds(clock: () => number): () => string {
  const process = randomBytes(4).toString("hex");
  const { hide } = createPermutation(randomBytes(12).toString("hex"));
  let count = 0;
  let time = -1;
  let start = "";
  return () => {
    const now = clock();
    if (now !== time) {
      time = now;
      start = `req_${timeDigits(now)}${process}`;
    }
    return start + hide(count++);
  };
}

/** Read when it is asked for: most requests never ask. */
class RequestClient implements ClientInfo {
  readonly #c: AppContext;
  readonly #config: Config;

  constructor(c: AppContext, config: Config) {
    this.#c = c;
    this.#config = config;
  }

  get address(): string {
    const { trustedProxies } = this.#config;
    const forwardedFor = trustedProxies.length === 0 ? undefined : this.#c.req.header("X-Forwarded-For");
    return clientAddress(this.#c.env?.remoteAddr?.hostname ?? "127.0.0.1", forwardedFor, trustedProxies);
  }

  get userAgent(): string {
    return this.#c.req.header("User-Agent") ?? "";
  }

  get requestId(): string {
    return this.#c.get("requestId");
  }

  get sessionTokens(): string[] {
    return sessionTokens(this.#c.get("headers")["cookie"]);
  }
}

/** In lower case, as they go over the line: the runtime need not change them for each answer. */
function standardHeaders(config: Config): [string, string][] {
  const headers: [string, string][] = [
    ["x-content-type-options", "nosniff"],
    ["referrer-policy", "strict-origin-when-cross-origin"],
    ["cross-origin-opener-policy", "same-origin"],
    ["cross-origin-resource-policy", "same-origin"],
    // Kept nowhere, and never compressed beside what a stranger may have put there.
    ["cache-control", "no-store, no-transform"],
  ];
  if (config.secure) headers.push(["strict-transport-security", `max-age=${hstsSeconds}`]);
  return headers;
}

/** @returns A guard against addresses and headers that are larger than any honest one; it keeps the headers for others. */
export function requestSize(): Guard {
  return function requestSizeGuard(c) {
    const { url, headers } = c.req.raw;
    if (url.length > urlCharactersMax) {
      throw new AppError("uri_too_long", `The address may have ${urlCharactersMax} characters at most.`);
    }
    const query = url.indexOf("?");
    if (query !== -1 && hasMore(url.slice(query), "&", queryParametersMax - 1)) {
      throw new AppError("uri_too_long", `The address may have ${queryParametersMax} parameters at most.`);
    }
    let length = 0;
    // A plain object is three times as quick to fill as one without a prototype; only known names are ever read.
    const kept: Record<string, string> = {};
    headers.forEach((value, name) => {
      length += name.length + value.length;
      kept[name] = value;
    });
    if (length > headerCharactersMax) {
      throw new AppError(
        "headers_too_large",
        `The headers may have ${headerCharactersMax} characters at most.`,
      );
    }
    c.set("headers", kept);
  };
}

/** A name or an address, and a port: nothing that could become a part of the path in the request's URL. */
const hostForm = /^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{0,5})?$/i;

/** @returns A guard against malformed and repeated `Host` headers (RFC 9112, section 3.2); it runs after {@linkcode requestSize}. */
export function wellFormedHost(): Guard {
  // Nearly all requests have the same one.
  let wellFormed: string | undefined;
  return function wellFormedHostGuard(c) {
    const host = c.get("headers")["host"];
    // HTTP/1.0 and HTTP/2 have none.
    if (host === wellFormed || host === undefined) return;
    if (!hostForm.test(host) || !URL.canParse(`http://${host}`)) {
      throw new AppError("malformed_request", "The Host header is not valid.");
    }
    wellFormed = host;
  };
}
