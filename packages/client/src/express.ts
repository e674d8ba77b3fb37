// Middleware for Express 4 and 5, and for other servers with the same form of middleware.
import { type KeyOptions, keyRule } from "./key_rule.ts";
import type { Denial } from "./middleware.ts";
import {
  apiKeys,
  type NodeRequest,
  type NodeResponse,
  onceAnswered,
  onceEnded,
  sessions,
  viewOf,
} from "./node_server.ts";
import { type SessionOptions, sessionRule } from "./session_rule.ts";

export type { KeyOptions, MeteredUsage, VerifiedApiKey } from "./key_rule.ts";
export { apiKeyOf, sessionOf } from "./node_server.ts";
export type { SessionOptions } from "./session_rule.ts";

/** The parts of a request of Express that the middlewares use. */
export interface ExpressRequest extends NodeRequest {
  // deno-lint-ignore no-explicit-any
  readonly params: Readonly<Record<string, any>>;
  // deno-lint-ignore no-explicit-any
  readonly query: Readonly<Record<string, any>>;
}

/** The parts of a response of Express that the middlewares use. */
export type ExpressResponse = NodeResponse;

export type ExpressMiddleware<R, S> = (request: R, response: S, next: (error?: unknown) => void) => void;

/** Requires a session that meets the conditions. Handlers get it from {@linkcode sessionOf}. */
export function requireSession<R extends ExpressRequest, S extends ExpressResponse>(
  options: SessionOptions<R>,
): ExpressMiddleware<R, S> {
  const decide = sessionRule(options);
  return function requireSession(request, response, next) {
    decide(request, viewOf(request, request.headersDistinct)).then(({ passed, denial }) => {
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
    decide(request, viewOf(request, request.headersDistinct)).then(({ passed, headers, denial }) => {
      if (denial !== undefined) return deny(response, denial);
      apiKeys.set(request, passed);
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      onceAnswered(response, () => settle(passed, { request, response, status: response.statusCode }));
      const endHold = holdOf(passed, request);
      if (endHold !== null) {
        const until = Date.parse(passed.hold?.expiresAt ?? "");
        onceEnded(response, { until, sent: endHold.sent, callback: (isOver) => endHold(response, isOver) });
      }
      next();
    }).catch(next);
  };
}

export function deny(response: ExpressResponse, { status, headers, body }: Denial): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end(body ?? undefined);
}
