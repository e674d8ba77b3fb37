// Middleware for handlers that take a Request and return a Response: Deno.serve, Bun.serve, Workers, Next.js and others.
import type { SignedIn } from "./browser.d.ts";
import { whenSent } from "./key_hold.ts";
import { type KeyOptions, keyRule, type VerifiedApiKey } from "./key_rule.ts";
import type { Denial } from "./middleware.ts";
import { type SessionOptions, sessionRule } from "./session_rule.ts";

export type { KeyOptions, MeteredUsage, VerifiedApiKey } from "./key_rule.ts";
export type { SessionOptions } from "./session_rule.ts";

/** A handler of requests. `Rest` are further arguments, such as the connection's. */
export type Handler<Rest extends unknown[]> = (
  request: Request,
  ...rest: Rest
) => Response | Promise<Response>;

/** A handler that also gets the sender of the request. */
export type IdentifiedHandler<Identity, Rest extends unknown[]> = (
  request: Request,
  identity: Identity,
  ...rest: Rest
) => Response | Promise<Response>;

/**
 * Protects a handler: only users with a session that meets the conditions reach it. The handler gets the session, with the
 * organization and role that were checked, after the request.
 */
export function requireSession<Rest extends unknown[]>(
  options: SessionOptions<Request>,
  handler: IdentifiedHandler<{ session: SignedIn }, Rest>,
): Handler<Rest> {
  const decide = sessionRule(options);
  return async function requireSession(request, ...rest) {
    const { passed, denial } = await decide(request, request);
    return denial === undefined
      ? await handler(request, { session: passed }, ...rest)
      : denialResponse(denial);
  };
}

/**
 * Protects a handler: only requests with an API key that works and meets the conditions reach it. Can meter and limit them.
 * The handler gets the API key after the request.
 */
export function requireKey<Rest extends unknown[]>(
  options: KeyOptions<Request, Response>,
  handler: IdentifiedHandler<{ apiKey: VerifiedApiKey }, Rest>,
): Handler<Rest> {
  const { decide, holdOf, settle } = keyRule(options);
  return async function requireKey(request, ...rest) {
    const { passed, headers, denial } = await decide(request, request);
    if (denial !== undefined) return denialResponse(denial);
    const endHold = holdOf(passed, request);
    try {
      const response = withHeaders(await handler(request, { apiKey: passed }, ...rest), headers);
      settle(passed, { request, response, status: response.status });
      if (endHold === null) return response;
      return whenSent(response, request.method, () => endHold(response), endHold.sent);
    } catch (error) {
      endHold?.(undefined);
      throw error;
    }
  };
}

export function denialResponse({ status, headers, body }: Denial): Response {
  return new Response(body, { status, headers });
}

/** Adds headers to a response, except those that it has. */
export function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  const missing = Object.entries(headers).filter(([name]) => !response.headers.has(name));
  // Upgrades to WebSockets can't be copied.
  if (missing.length === 0 || response.status < 200) return response;
  // The headers of some responses can't be changed.
  const copy = new Response(response.body, response);
  for (const [name, value] of missing) copy.headers.set(name, value);
  return copy;
}
