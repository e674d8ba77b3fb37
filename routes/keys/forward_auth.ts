// Forward authentication: a reverse proxy asks for each request of an application who it is from and whether to let it
// through. A 2xx response requires an authenticated caller who meets every condition.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { AppError, unauthenticatedError } from "../../domain/errors.ts";
import {
  accessAddress,
  type ForwardConditions,
  type ForwardUser,
  identityHeaders,
  pageLoadTarget,
} from "../../domain/meter/forward_auth.ts";
import { withReturnTo } from "../../domain/people/return_to.ts";
import { admitApiKey, admitSession, type KeyConditions, type Meter } from "../../services/meter/mod.ts";
import { noteDenied } from "../permission_denials.ts";
import type { AppContext, AppEnv, AppParts } from "../env.ts";
import { findForwardedSession, sessionActor } from "../session.ts";
import * as schemas from "./schemas/forward_auth.ts";
import { apiKeyAuth } from "../meter/api_key_auth.ts";
import { mount } from "../api/endpoint.ts";

const definition = {
  route: "GET /api/auth/forward",
  tag: "Sign-in",
  operationId: "getAuthForward",
  summary: "Authenticate a request for a reverse proxy",
  description:
    "For nginx `auth_request`, Caddy `forward_auth` and Traefik ForwardAuth. A 200 response identifies the caller in " +
    "headers. All of these headers are always present, empty if there is no value.",
  security: "sessionOrApiKey",
  query: schemas.forwardQuerySchema,
  headers: schemas.forwardedHeadersSchema,
  responses: {
    200: { description: "The request is allowed.", headers: schemas.identityHeaders },
    302: {
      description:
        "A browser loading a page is denied and redirected: to the sign-in page, or, if the user is signed in, to a page " +
        "that explains why they don't have access.",
      headers: {
        "Location": {
          description:
            "The address of that page. With `redirect=401` it comes with the 401 or 403 response instead.",
          example: "https://auth.example.com/sign-in?return_to=https%3A%2F%2Fapp.example.com%2Freports%2F7",
        },
      },
    },
  },
  errors: ["forbidden", "email_unverified", "limit_exceeded"],
} as const;

/** Outside of `/api/auth/`, where every method could carry a cookie, and its preflight would look like permission. */
const keyDefinition = {
  route: "GET /api/v1/keys/forward",
  anyMethod: true,
  tag: "API keys",
  operationId: "forwardApiKey",
  summary: "Authenticate a request with an API key for a gateway",
  description:
    "For gateways that ask with the method of the client's request, such as Envoy's `ext_authz`: any method gets the same " +
    "response. Cookies are ignored. A 200 response identifies the key in headers. All of these headers are always present, " +
    "empty if there is no value.",
  security: "apiKey",
  query: schemas.forwardKeyQuerySchema,
  responses: { 200: { description: "The request is allowed.", headers: schemas.identityHeaders } },
  errors: ["forbidden", "limit_exceeded"],
} as const;

export function forwardRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  mount(app, keyDefinition, {
    ...apiKeyAuth(parts),
    async handle(c, { query: { meter = null, ...conditions } }, keyHash) {
      const options = { client: c.get("client"), conditions, meter };
      return c.body(null, 200, identityHeaders(await admitApiKey(parts.services, keyHash, options)));
    },
  });
  const fromApiKey = apiKeyAdmission(parts);
  const fromSession = sessionAdmission(parts);
  mount(app, definition, {
    // Which credentials are required depends on the query.
    authenticate: () => null,
    handle(c, { query }) {
      const { role, organization, email, user = "id" } = query;
      const { accept = "session", meter = null, permission, redirect = "302" } = query;
      const conditions = { role, organization, email };
      // A request that sends a key, valid or not, is never admitted by its cookie.
      const hasKey = accept === "key" || c.get("headers")["authorization"] !== undefined;
      return accept !== "session" && hasKey
        ? fromApiKey(c, {
          conditions: { ...conditions, permission },
          meter,
          hasLimitStatus: query.limit === "on",
        })
        : fromSession(c, { conditions, permission, user, redirect });
    },
  });
}

function apiKeyAdmission(parts: AppParts) {
  const apiKey = apiKeyAuth(parts);
  return async (
    c: AppContext,
    { hasLimitStatus, ...options }: {
      conditions: KeyConditions;
      meter: Meter | null;
      hasLimitStatus: boolean;
    },
  ) => {
    try {
      const keyHash = await apiKey.authenticate(c);
      const admitted = await admitApiKey(parts.services, keyHash, { client: c.get("client"), ...options });
      return c.body(null, 200, identityHeaders(admitted));
    } catch (error) {
      const isExceeded = error instanceof AppError && error.code === "limit_exceeded";
      // Some proxies turn every other status into 500.
      if (isExceeded && !hasLimitStatus) throw new AppError("forbidden", error.message, { cause: error });
      throw await apiKey.onError(c, error);
    }
  };
}

function sessionAdmission(parts: AppParts) {
  const { baseUrl, cookieDomain, allowedOrigins } = parts.config;
  const isAllowedOrigin = (origin: string) => allowedOrigins.some((allowed) => allowed.matches(origin));
  return async (
    c: AppContext,
    options: {
      conditions: ForwardConditions;
      permission: string | undefined;
      user: ForwardUser;
      redirect: "302" | "401";
    },
  ): Promise<Response> => {
    const { conditions, permission, user, redirect } = options;
    /** Redirects a browser that is loading a page. Every other client gets the error. */
    const deny = (error: AppError, path: (target: string) => string): Response => {
      const target = pageLoadTarget(c.get("headers"), { baseUrl, cookieDomain, isAllowedOrigin });
      if (target === null) throw error;
      const address = baseUrl.origin + path(target);
      if (redirect === "302") {
        noteDenied(c, error, parts);
        return c.redirect(address, 302);
      }
      c.header("Location", address);
      throw error;
    };
    const { session, conflict } = await findForwardedSession(c, parts);
    // Signing in wouldn't help.
    if (permission !== undefined) {
      throw session === null ? unauthenticatedError() : keyRequiredError(permission);
    }
    if (session === null) {
      // The sign-in page may see only one of two conflicting cookies, and would redirect back in a loop.
      const suffix = conflict ? "&conflict=1" : "";
      return deny(unauthenticatedError(), (target) => withReturnTo("/sign-in", target) + suffix);
    }
    try {
      return c.body(null, 200, identityHeaders(admitSession(session, conditions), user));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      // Names the user in the audit log's entry about the denied request.
      sessionActor(c, session);
      return deny(error, (target) => accessAddress(target, conditions));
    }
  };
}

/** The error for sessions where a permission is required: only API keys have permissions. */
function keyRequiredError(permission: string): AppError {
  return new AppError("permission_missing", `This requires an API key with the permission ${permission}.`);
}
