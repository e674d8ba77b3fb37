// Middleware for Hono.
import type { Context, MiddlewareHandler } from "hono";
import type { SignedIn } from "./browser.d.ts";
import { denialResponse, withHeaders } from "./fetch.ts";
import { whenSent } from "./key_hold.ts";
import { type KeyOptions, keyRule, type VerifiedApiKey } from "./key_rule.ts";
import { type SessionOptions, sessionRule } from "./session_rule.ts";

export type { KeyOptions, MeteredUsage, VerifiedApiKey } from "./key_rule.ts";
export type { SessionOptions } from "./session_rule.ts";

/** The type of an app whose routes use {@linkcode requireSession}: `new Hono<SessionEnv>()`. */
export interface SessionEnv {
  Variables: {
    /** The user, with the organization and role that were checked. */
    session: SignedIn;
  };
}

/** The type of an app whose routes use {@linkcode requireKey}: `new Hono<KeyEnv>()`. */
export interface KeyEnv {
  Variables: {
    /** The API key of the request, and its organization. */
    apiKey: VerifiedApiKey;
  };
}

/** Requires a session that meets the conditions, and sets `c.get("session")`. Functions of the options get Hono's context. */
export function requireSession(options: SessionOptions<Context>): MiddlewareHandler<SessionEnv> {
  const decide = sessionRule(options);
  return async function requireSession(c, next) {
    const { passed, denial } = await decide(c, c.req.raw);
    if (denial !== undefined) return denialResponse(denial);
    c.set("session", passed);
    return await next();
  };
}

/**
 * Requires an API key that works and meets the conditions, and sets `c.get("apiKey")`. Can meter and limit requests. Functions
 * of the options get Hono's context.
 */
export function requireKey(options: KeyOptions<Context, Response>): MiddlewareHandler<KeyEnv> {
  const { decide, holdOf, settle } = keyRule(options);
  return async function requireKey(c, next) {
    const { passed, headers, denial } = await decide(c, c.req.raw);
    if (denial !== undefined) return denialResponse(denial);
    c.set("apiKey", passed);
    const endHold = holdOf(passed, c);
    try {
      await next();
      // Set through `res` only if needed, because Hono copies the response.
      const response = withHeaders(c.res, headers);
      const sent = endHold === null
        ? response
        : whenSent(response, c.req.raw.method, () => endHold(response), endHold.sent);
      if (sent !== c.res) c.res = sent;
      settle(passed, { request: c, response, status: response.status });
      return undefined;
    } catch (error) {
      endHold?.(undefined);
      throw error;
    }
  };
}
