// What the middlewares of servers for Node.js have in common: who sent a request, and the end of its response.
import { Buffer } from "node:buffer";
import { clearTimeout, setTimeout } from "node:timers";
import type { SignedIn } from "./browser.d.ts";
import type { VerifiedApiKey } from "./key_rule.ts";
import type { RequestView } from "./middleware.ts";
import type { BodyReader } from "./sent_body.ts";

/** The parts of a request that the middlewares use. */
export interface NodeRequest {
  readonly method: string;
  /** Unlike `url`, it includes the path at which a router is mounted. */
  readonly originalUrl: string;
  readonly protocol: string;
  /** The client's address, as the setting `trust proxy` of Express and `trustProxy` of Fastify find it. */
  readonly ip?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly headersDistinct?: Readonly<Record<string, string[] | undefined>>;
}

/** The parts of a response of Node.js that the middlewares use. */
export interface NodeResponse {
  statusCode: number;
  readonly headersSent: boolean;
  setHeader(name: string, value: string): unknown;
  // deno-lint-ignore no-explicit-any
  end: (...args: any[]) => any;
  // deno-lint-ignore no-explicit-any
  write?: (...args: any[]) => any;
  once(event: "close", listener: () => void): unknown;
}

export const sessions = new WeakMap<object, SignedIn>();
export const apiKeys = new WeakMap<object, VerifiedApiKey>();

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

export function viewOf(
  { method, originalUrl, protocol, ip, headers }: NodeRequest,
  headersDistinct: NodeRequest["headersDistinct"],
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

/** A handler that writes nothing for this long after the client has disconnected is taken to have stopped. */
const stoppedMs = 5_000;

/**
 * Calls back with `true` when the handler ends the response. If the client disconnects first, most handlers go on until they notice,
 * and some never end the response: calls back with `false` while one writes nothing, until that returns true, or a time is over.
 */
export function onceEnded(
  response: NodeResponse,
  { callback, until, sent }: {
    callback: (isOver: boolean) => Promise<boolean>;
    until: number;
    /** Reads what is written. */
    sent: BodyReader;
  },
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
    read(sent, args);
    callback(true);
    return end.apply(response, args);
  };
  if (write !== undefined) {
    response.write = (...args) => {
      if (isDisconnected && !isEnded) wait();
      read(sent, args);
      return write.apply(response, args);
    };
  }
  response.once("close", () => {
    isDisconnected = true;
    if (!isEnded) wait();
  });
}

/** @param args Of `write` or `end`. */
function read(sent: BodyReader, [chunk, encoding]: readonly unknown[]): void {
  if (typeof chunk === "string") {
    const isKnown = typeof encoding === "string" && Buffer.isEncoding(encoding);
    sent.write(Buffer.from(chunk, isKnown ? encoding : "utf8"));
  } else if (chunk instanceof Uint8Array) sent.write(chunk);
}

/** Calls back once, when the response ends, or when the client disconnects after it began. */
export function onceAnswered(response: NodeResponse, callback: () => void): void {
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
