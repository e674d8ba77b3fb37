// Forward authentication: a reverse proxy asks here, for each request of an application behind it, who it is from and
// whether to let it through. It never answers 2xx unless somebody is there and meets every condition.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { AppError, unauthenticatedError } from "../../../domain/errors.ts";
import {
  accessAddress,
  type ForwardConditions,
  type ForwardUser,
  identityHeaders,
  pageLoadTarget,
} from "../../../domain/meter/forward_auth.ts";
import { isId } from "../../../domain/id.ts";
import { withReturnTo } from "../../../domain/sign_in/return_to.ts";
import { roles } from "../../../domain/sign_in/session.ts";
import { slugForm } from "../../../domain/meter/usage_record.ts";
import type { Meter } from "../../../services/meter/forward_auth.ts";
import { noteDenied } from "../../permission_denials.ts";
import type { AppContext, AppEnv, AppParts } from "../../env.ts";
import type { ApiKeyLimits } from "../../middleware/api_key_limits.ts";
import { findForwardedSession, sessionActor } from "../../session.ts";
import { apiKeyAuth } from "./api_key_auth.ts";
import { mount } from "../endpoint.ts";
import { exampleId } from "../../schemas/common.ts";

const meterSchema = z.string().transform((text, context): Meter => {
  const [productSlug = "", metric = "", ...rest] = text.split("/");
  const isMeter = rest.length === 0 && [productSlug, metric].every((part) => slugForm.test(part));
  if (isMeter) return { productSlug, metric };
  context.addIssue({ code: "custom", message: "must be a product and a metric such as tiles/requests." });
  return z.NEVER;
});
/** What a session has to meet; also the query of the page that says why it does not. */
export const forwardConditionsShape = {
  role: z.enum(roles, { error: `must be one of ${roles.join(", ")}.` }).optional().openapi({
    description: "At least this role, in `organization` or else in the active organization. A key has none.",
  }),
  organization: z.string().refine((text) => isId("org", text), "must be the id of an organization.")
    .optional()
    .openapi({
      description: "A member, or a key, of this organization; need not be the active one.",
      pattern: "^org_[0-9a-f]{32}$",
    }),
  email: z.enum(["verified"], { error: "must be verified." }).optional().openapi({
    description: "Only people who have confirmed their address; keys have none, and pass.",
  }),
};
/** The query of `/api/auth/forward`. */
export const forwardQuerySchema = z.strictObject({
  ...forwardConditionsShape,
  user: z.enum(["id", "email"], { error: "must be id or email." }).optional().openapi({
    description:
      "What `Remote-User` is: the id, or the email address for applications that know people by it. `email` needs " +
      "`email=verified`. An address can pass to another person; an id can't.",
    default: "id",
  }),
  accept: z.enum(["session", "key", "session,key", "key,session"], {
    error: "must be session, key or session,key.",
  }).optional().openapi({
    description: "With `key`, a request with an `Authorization` header is judged by that alone.",
    default: "session",
  }),
  meter: meterSchema.optional().openapi({
    type: "string",
    pattern: `${slugForm.source.slice(0, -1)}/${slugForm.source.slice(1)}`,
    example: "tiles/requests",
    description:
      "Records 1 under the API key for each request that is let through. Needs `key` in `accept`; what a session " +
      "lets through is not metered.",
  }),
  redirect: z.enum(["302", "401"], { error: "must be 302 or 401." }).optional().openapi({
    description:
      "The status that goes with a `Location`. With 401, for nginx, which can't take a redirect here, it comes with the " +
      "401 or 403.",
    default: "302",
  }),
}).refine(({ user, email }) => user !== "email" || email === "verified", {
  path: ["user"],
  message: "needs email=verified.",
}).refine(({ meter, accept }) => meter === undefined || (accept ?? "session") !== "session", {
  path: ["meter"],
  message: "needs accept=key or accept=session,key.",
});

const forwardedHeaders = z.object({
  "X-Forwarded-Method": z.string().optional().openapi({
    description: "The method of the request that the proxy asks about.",
  }),
  "X-Forwarded-Proto": z.string().optional().openapi({ description: "`BASE_URL`'s when left out." }),
  "X-Forwarded-Host": z.string().optional().openapi({
    description: "The host that was asked for, with its port.",
  }),
  "X-Forwarded-Uri": z.string().optional().openapi({ description: "Path and query." }),
});

const identityHeaderTexts = {
  "Remote-User": {
    description:
      "The person's id: it never changes, and no one else gets it. With `user=email` their confirmed email address, encoded " +
      "like the next header. Empty for a key.",
    example: exampleId("usr"),
  },
  "Remote-Email": {
    description:
      "The person's address, percent-encoded where it is not printable ASCII, and `%` as `%25`. Anybody can sign up with " +
      "any address: take it for the truth only with `email=verified`, or when the next header says so.",
    example: "ada@example.com",
  },
  "Remote-Email-Verified": {
    description: "`true` or `false`: whether the address is confirmed. Empty for a key.",
    example: "true",
  },
  "Remote-Name": {
    description: "The person's name, for showing, encoded like the address.",
    example: "Ada Lovelace",
  },
  "Remote-Organization": {
    description: "The organization that was asked for, else the active one, or the key's.",
    example: exampleId("org"),
  },
  "Remote-Role": { description: "The person's role in it. Empty for a key.", example: "ADMIN" },
  "Remote-Api-Key": { description: "The key's id. Empty for a person.", example: exampleId("key") },
} as const;

/** Mounts `/api/auth/forward`. */
export function forwardRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts, limits: ApiKeyLimits): void {
  const { forwardAuth } = parts.services;
  const apiKey = apiKeyAuth(parts, limits);
  const { baseUrl, cookieDomain, allowedOrigins } = parts.config;
  const bounds = {
    baseUrl,
    cookieDomain,
    isAllowedOrigin: (origin: string) => allowedOrigins.some((allowed) => allowed.matches(origin)),
  };

  async function admitApiKey(
    c: AppContext,
    options: { conditions: ForwardConditions; meter: Meter | null },
  ): Promise<Response> {
    try {
      const keyHash = await apiKey.authenticate(c);
      return c.body(null, 200, identityHeaders(await forwardAuth.admitApiKey(keyHash, options)));
    } catch (error) {
      throw await apiKey.onError(c, error);
    }
  }

  /** Sends a browser that loads a page to a page of ours; to everything else the error is the answer. */
  function reject(
    c: AppContext,
    { error, redirect, path }: {
      error: AppError;
      redirect: "302" | "401";
      path: (target: string) => string;
    },
  ): Response {
    const target = pageLoadTarget(c.get("headers"), bounds);
    if (target === null) throw error;
    const address = baseUrl.origin + path(target);
    if (redirect === "302") {
      noteDenied(c, error, parts);
      return c.redirect(address, 302);
    }
    c.header("Location", address);
    throw error;
  }

  async function admitSession(
    c: AppContext,
    options: { conditions: ForwardConditions; user: ForwardUser; redirect: "302" | "401" },
  ): Promise<Response> {
    const { conditions, user, redirect } = options;
    const { session, conflict } = await findForwardedSession(c, parts);
    if (session === null) {
      // The sign-in page may get only one of two people's cookies, and would send its browser back at once, to and fro.
      const path = (target: string) => withReturnTo("/sign-in", target) + (conflict ? "&conflict=1" : "");
      return reject(c, { error: unauthenticatedError(), redirect, path });
    }
    try {
      return c.body(null, 200, identityHeaders(forwardAuth.admitSession(session, conditions), user));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      // The audit log tells of attempts like this.
      sessionActor(c, session);
      return reject(c, { error, redirect, path: (target) => accessAddress(target, conditions) });
    }
  }

  mount(app, {
    method: "get",
    path: "/api/auth/forward",
    tag: "Sign-in",
    summary: "Who a request is from, for reverse proxies",
    description:
      "For nginx `auth_request`, Caddy `forward_auth` and Traefik ForwardAuth. 200 says in headers who it is; each of them " +
      "is always there, empty where there is no value.",
    security: "sessionOrApiKey",
    query: forwardQuerySchema,
    headers: forwardedHeaders,
    responses: {
      200: { description: "Let it through.", headers: identityHeaderTexts },
      302: {
        description:
          "A browser loads a page and is rejected: to the sign-in page, and back; or, when someone is signed in, to a page " +
          "that says why they have no access and what to do.",
        headers: {
          "Location": {
            description: "That page of ours; with `redirect=401` it is in that 401 or 403.",
            example: "https://auth.example.com/sign-in?return_to=https%3A%2F%2Fapp.example.com%2Freports%2F7",
          },
        },
      },
    },
    errors: ["forbidden", "email_unverified"],
  }, {
    // Who has to be there depends on what the proxy asks for.
    authenticate: () => null,
    handle(c, { query }) {
      const { role, organization, email, user = "id" } = query;
      const { accept = "session", meter = null, redirect = "302" } = query;
      const conditions = { role, organization, email };
      // A request that shows a key, whatever it is, is never let through for its cookie.
      const showsKey = accept === "key" || c.get("headers")["authorization"] !== undefined;
      return accept !== "session" && showsKey
        ? admitApiKey(c, { conditions, meter })
        : admitSession(c, { conditions, user, redirect });
    },
  });
}
