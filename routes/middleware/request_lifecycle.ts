// What happens around every handler: gives each request an id, rejects oversized and malformed requests, and sets the headers of
// every response, including errors and redirects.
import { randomBytes } from "node:crypto";
import type { Config } from "../../config.ts";
import type { ClientInfo } from "../../domain/access/actor.ts";
import { AppError } from "../../domain/errors.ts";
import { headerCharactersMax, queryParametersMax, urlCharactersMax } from "../../domain/limits.ts";
import { timeDigits } from "../../domain/id.ts";
import { isEmbedPath } from "../../domain/keys/portal_session.ts";
import { createPermutation } from "../../domain/meter/permutation.ts";
import { closeUnfinished, hasMore } from "../body.ts";
import { clientAddress, isUnknownProxy, peerAddress } from "../client_address.ts";
import { sessionTokens } from "../cookies.ts";
import type { AppContext, AppParts } from "../env.ts";
import { isUpdate } from "../portal/choice.ts";
import { cors, isPreflight, isShared, preflight } from "./cors.ts";

/** @param ancestors Whose pages may have this one in a frame. */
const contentSecurityPolicy = (ancestors: string) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    `frame-ancestors ${ancestors}`,
  ].join("; ");
/** API responses are no documents: they open, run and load nothing. */
const documentSecurityHeaders = (ancestors: string): readonly [string, string][] => [
  ["referrer-policy", "strict-origin-when-cross-origin"],
  ["cross-origin-opener-policy", "same-origin"],
  ["content-security-policy", contentSecurityPolicy(ancestors)],
];
/** Pages that applications open in a window of their own: it must keep its opener until it returns there (decision 145). */
const popupPaths = /^\/(oauth\/authorize|authorize|sign-in|sign-up|portal\/confirm-password)(?=\/|$)/;
const hstsSeconds = 2 * 365 * 24 * 3600;

/** Checks a request before anything else does. @throws {AppError} To reject it. */
export type Guard = (c: AppContext) => void;

/** Calls a handler, which returns the response or has set it, and returns the response with everything that all have. */
export type Lifecycle = (
  c: AppContext,
  handle: (c: AppContext) => Response | Promise<Response | void>,
) => Promise<Response>;

/** Creates what is around every handler. One function, because each middleware costs a promise or two. */
export function requestLifecycle(parts: AppParts, options: {
  /** Run in order. */
  guards: readonly Guard[];
  errorResponse: (error: unknown, c: AppContext) => Response | Promise<Response>;
  /** Counts and notes a response. `startedAt`: when its request arrived, by `performance.now()`. */
  onResponse: (c: AppContext, startedAt: number) => void;
}): Lifecycle {
  const { guards, errorResponse, onResponse } = options;
  const { config, log } = parts;
  const programHeaders = securityHeaders(config);
  const documentHeaders = [...programHeaders, ...documentSecurityHeaders("'none'")];
  const popupHeaders: typeof documentHeaders = [...documentHeaders, [
    "cross-origin-opener-policy",
    "unsafe-none",
  ]];
  const embedOrigins = config.embedOrigins.length === 0 ? "'none'" : config.embedOrigins.join(" ");
  const embeddedHeaders = [...programHeaders, ...documentSecurityHeaders(embedOrigins)];
  const nextRequestId = requestIds(parts.services.clock);
  const setCorsHeaders = cors(parts);
  return async function respond(c, handle) {
    const startedAt = performance.now();
    const requestId = nextRequestId();
    c.set("requestId", requestId);
    c.set("deadlines", parts.services.deadlines);
    c.set("bodyRooms", parts.services.bodyRooms);
    c.set("client", new RequestClient(c, config));
    try {
      for (const guard of guards) guard(c);
      const response = isShared(c.req.path) && isPreflight(c) ? preflight(c, config) : await handle(c);
      if (response !== undefined) c.res = response;
    } catch (error) {
      c.res = await errorResponse(error, c);
    } finally {
      c.get("bodyPlace")?.close();
    }
    if (c.get("unfinishedBody") !== undefined) c.res = closeUnfinished(c, c.res);
    const { headers } = c.res;
    if (hasUnreadBody(c)) headers.set("connection", "close");
    headers.set("x-request-id", requestId);
    const isDocument = !c.req.path.startsWith("/api/") && c.get("isForPrograms") !== true;
    const ownHeaders = isEmbedPath(c.req.path)
      ? embeddedHeaders
      : isDocument
      ? popupPaths.test(c.req.path) ? popupHeaders : documentHeaders
      : programHeaders;
    for (const [name, value] of ownHeaders) headers.set(name, value);
    if (isDocument && mayCompress(c)) headers.set("cache-control", "no-store");
    for (const [name, value] of c.get("responseHeaders") ?? []) headers.set(name, value);
    if (isShared(c.req.path)) setCorsHeaders(c);
    onResponse(c, startedAt);
    log.debug?.("responded", { requestId, method: c.req.method, path: c.req.path, status: c.res.status });
    return c.res;
  };
}

/** Pages that this service opens itself, or that someone types or has bookmarked. */
const ownNavigation: ReadonlySet<string | undefined> = new Set(["same-origin", "none"]);

/**
 * True for pages that the runtime may compress. The size of a compressed page lets an attacker guess its content if they can
 * open it again and again with text of their own (BREACH), so a page that another site opens stays as it is, and so do its updates.
 */
function mayCompress(c: AppContext): boolean {
  return c.req.method === "GET" && !isUpdate(c) && ownNavigation.has(c.get("headers")?.["sec-fetch-site"]);
}

/**
 * True if the response is sent before the request's body was read. The connection is then closed: a client that isn't told
 * (RFC 9112, section 9.6) would lose its next request on it.
 */
function hasUnreadBody(c: AppContext): boolean {
  if (c.req.raw.bodyUsed) return c.get("isBodyLeft") === true;
  // Missing when the request was rejected before its headers were kept.
  const headers = c.get("headers") ?? {};
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/**
 * Creates the generator of request ids. They sort by time and cost a fraction of a UUID: the time, a random part for the
 * process, and an encrypted counter, which hides how many requests there are.
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

/** The client of a request. A class, because an object with getters takes 50 times as long to create. */
class RequestClient implements ClientInfo {
  constructor(private readonly c: AppContext, private readonly config: Config) {}

  get address(): string {
    const { trustedProxies } = this.config;
    const forwardedFor = trustedProxies.length === 0 ? undefined : this.c.req.header("X-Forwarded-For");
    return clientAddress(peerAddress(this.c), forwardedFor, trustedProxies);
  }

  get isUnknownProxy(): boolean {
    return isUnknownProxy(
      peerAddress(this.c),
      this.c.req.header("X-Forwarded-For"),
      this.config.trustedProxies,
    );
  }

  get userAgent(): string {
    return this.c.req.header("User-Agent") ?? "";
  }

  get requestId(): string {
    return this.c.get("requestId");
  }

  get sessionTokens(): string[] {
    return sessionTokens(this.c.get("headers")["cookie"]);
  }
}

/** Names are in lower case, as sent, so that the runtime need not convert them for each response. */
function securityHeaders(config: Config): [string, string][] {
  const headers: [string, string][] = [
    ["x-content-type-options", "nosniff"],
    ["cross-origin-resource-policy", "same-origin"],
    // No caching, and no compression of secrets together with text from an attacker: see mayCompress().
    ["cache-control", "no-store, no-transform"],
  ];
  if (config.secure) headers.push(["strict-transport-security", `max-age=${hstsSeconds}`]);
  return headers;
}

/** Returns a guard against oversized URLs and headers. It stores the headers in the context. */
export function requestSize(): Guard {
  return function requestSizeGuard(c) {
    const { url, headers } = c.req.raw;
    if (url.length > urlCharactersMax) {
      throw new AppError("uri_too_long", `The URL must have at most ${urlCharactersMax} characters.`);
    }
    const query = url.indexOf("?");
    if (query !== -1 && hasMore(url.slice(query), "&", queryParametersMax - 1)) {
      throw new AppError("uri_too_long", `The URL must have at most ${queryParametersMax} parameters.`);
    }
    let length = 0;
    // Filling a plain object is three times as fast as one without a prototype. Only known names are ever read.
    const kept: Record<string, string> = {};
    headers.forEach((value, name) => {
      length += name.length + value.length;
      kept[name] = value;
    });
    if (length > headerCharactersMax) {
      throw new AppError(
        "headers_too_large",
        `The headers must have at most ${headerCharactersMax} characters.`,
      );
    }
    c.set("headers", kept);
  };
}

/** A scheme, a host name or IP address, and an optional port: nothing that could become part of the path. */
const originForm = /^https?:\/\/(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{0,5})?$/i;

/**
 * Returns a guard against malformed request targets, and malformed and repeated `Host` headers (RFC 9112, section 3.2). Runs
 * after {@linkcode requestSize}.
 */
export function wellFormedTarget(): Guard {
  const isWellFormed = (origin: string) => originForm.test(origin) && URL.canParse(origin);
  // Nearly all requests have the same host and origin.
  let knownHost: string | undefined;
  let knownOrigin = "";
  return function wellFormedTargetGuard(c) {
    const host = c.get("headers")["host"];
    // HTTP/1.0 and HTTP/2 requests have none.
    if (host !== knownHost && host !== undefined) {
      if (!isWellFormed(`http://${host}`)) {
        throw new AppError("malformed_request", "The Host header is invalid.");
      }
      knownHost = host;
    }
    const { url } = c.req.raw;
    if (url.startsWith(knownOrigin) && url[knownOrigin.length] === "/") return;
    // Missing in the URLs of CONNECT, and of `:path: *` in HTTP/2.
    const path = url.indexOf("/", url.indexOf("//") + 2);
    const origin = path === -1 ? "" : url.slice(0, path);
    if (!isWellFormed(origin)) throw new AppError("malformed_request", "The request target is invalid.");
    knownOrigin = origin;
  };
}
