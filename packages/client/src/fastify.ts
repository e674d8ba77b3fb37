// Hooks for Fastify 5.
import { Buffer } from "node:buffer";
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
export type { SessionOptions } from "./session_rule.ts";
export { apiKeyOf, sessionOf } from "./node_server.ts";

/** The parts of a request of Fastify that the hooks use. */
export interface FastifyRequest extends NodeRequest {
  // deno-lint-ignore no-explicit-any
  readonly body?: any;
  // deno-lint-ignore no-explicit-any
  readonly params?: any;
  // deno-lint-ignore no-explicit-any
  readonly query?: any;
  readonly raw: Pick<NodeRequest, "headersDistinct">;
}

/** The parts of a reply of Fastify that the hooks use. */
export interface FastifyReply {
  readonly statusCode: number;
  readonly raw: NodeResponse;
  code(status: number): unknown;
  header(name: string, value: string): unknown;
  // deno-lint-ignore no-explicit-any
  send: (...args: any[]) => any;
}

/** For `onRequest` and, if a function of the options reads the request's body, `preHandler`. */
export type FastifyHook<R, S> = (request: R, reply: S) => Promise<unknown>;

/** Requires a session that meets the conditions. Handlers get it from {@linkcode sessionOf}. */
export function requireSession<R extends FastifyRequest, S extends FastifyReply>(
  options: SessionOptions<R>,
): FastifyHook<NoInfer<R>, NoInfer<S>> {
  const decide = sessionRule(options);
  return async function requireSession(request, reply) {
    const { passed, denial } = await decide(request, viewOf(request, request.raw.headersDistinct));
    if (denial !== undefined) return deny(reply, denial);
    sessions.set(request, passed);
    return undefined;
  };
}

/**
 * Requires an API key that works and meets the conditions. Handlers get it from {@linkcode apiKeyOf}. Can meter and limit
 * requests.
 */
export function requireKey<R extends FastifyRequest, S extends FastifyReply>(
  options: KeyOptions<R, S, S>,
): FastifyHook<NoInfer<R>, NoInfer<S>> {
  const { decide, holdOf, settle } = keyRule(options);
  return async function requireKey(request, reply) {
    const { passed, headers, denial } = await decide(request, viewOf(request, request.raw.headersDistinct));
    if (denial !== undefined) return deny(reply, denial);
    apiKeys.set(request, passed);
    for (const [name, value] of Object.entries(headers)) reply.header(name, value);
    const { raw } = reply;
    onceAnswered(raw, () => settle(passed, { request, response: reply, status: raw.statusCode }));
    alwaysEnd(reply);
    const endHold = holdOf(passed, request);
    if (endHold === null) return undefined;
    const until = Date.parse(passed.hold?.expiresAt ?? "");
    onceEnded(raw, { until, sent: endHold.sent, callback: (isOver) => endHold(reply, isOver) });
    return undefined;
  };
}

/** Ends also responses whose client has disconnected before they began: Fastify leaves those that are streams without an end. */
function alwaysEnd(reply: FastifyReply): void {
  let isClosed = false;
  reply.raw.once("close", () => isClosed = true);
  const { send } = reply;
  reply.send = (...args) => {
    const sent = send.apply(reply, args);
    // The response to an error follows.
    if (isClosed && !(args[0] instanceof Error)) reply.raw.end();
    return sent;
  };
}

/** @returns The reply, so that Fastify knows that it was sent. */
function deny<S extends FastifyReply>(reply: S, { status, headers, body }: Denial): S {
  reply.code(status);
  for (const [name, value] of Object.entries(headers)) reply.header(name, value);
  // Fastify adds a charset to the type of a text.
  reply.send(body === null ? undefined : Buffer.from(body));
  return reply;
}
