// The sign-in API.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { isoTime } from "../../../domain/time.ts";
import { sessionUser } from "../../../domain/sign_in/session.ts";
import { signUp } from "../../../services/account/sign_up.ts";
import { signIn } from "../../../services/sign_in/sign_in.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { beginSession, endSessions, findSession } from "../../session.ts";
import { mount } from "../endpoint.ts";
import {
  sessionUserSchema,
  signInResponseSchema,
  signInSchema,
  signUpSchema,
} from "../../schemas/sign_in.ts";

/** Mounts `/api/auth/*`. */
export function authRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const anonymous = { authenticate: () => null } as const;

  mount(app, {
    method: "post",
    path: "/api/auth/sign-up",
    tag: "Sign-in",
    operationId: "signUp",
    summary: "Create an account and an organization, and sign in",
    security: "none",
    body: signUpSchema,
    responses: { 201: { description: "Signed in. The cookie is set.", schema: sessionUserSchema } },
    errors: ["sign_up_closed", "invalid_token", "email_taken", "rate_limited"],
  }, {
    ...anonymous,
    async handle(c, { body }) {
      const { session } = await beginSession(c, parts, (client) => signUp(services, client, body));
      return c.json(sessionUser(session), 201);
    },
  });

  mount(app, {
    method: "post",
    path: "/api/auth/sign-in",
    tag: "Sign-in",
    operationId: "signIn",
    summary: "Sign in with email and password",
    security: "none",
    body: signInSchema,
    description:
      "If two-step sign-in is on, `authenticated` is false, no cookie is set, and `secondStep` has the token for the second step.",
    responses: {
      200: {
        description: "Signed in, and the cookie is set; or a second step is required.",
        schema: signInResponseSchema,
      },
    },
    errors: ["invalid_credentials", "rate_limited"],
  }, {
    ...anonymous,
    async handle(c, { body }) {
      const result = await beginSession(c, parts, (client) => signIn(services, client, body));
      if ("secondStep" in result) {
        const { token, expiresAt } = result.secondStep;
        return c.json({ ...sessionUser(null), secondStep: { token, expiresAt: isoTime(expiresAt) } });
      }
      return c.json(sessionUser(result.session));
    },
  });

  mount(app, {
    method: "post",
    path: "/api/auth/sign-out",
    tag: "Sign-in",
    operationId: "signOut",
    summary: "Sign out",
    description: "Ends the session and clears the cookie.",
    security: "maybeSession",
    responses: { 204: { description: "Signed out, or nobody was signed in." } },
  }, {
    ...anonymous,
    async handle(c) {
      await endSessions(c, parts);
      return c.body(null, 204);
    },
  });

  mount(app, {
    method: "get",
    path: "/api/auth/me",
    tag: "Sign-in",
    operationId: "getSessionUser",
    summary: "Get the signed-in user",
    description: "If nobody is signed in, `authenticated` is false; that is not an error.",
    security: "maybeSession",
    responses: { 200: { description: "The signed-in user.", schema: sessionUserSchema } },
  }, {
    authenticate: (c) => findSession(c, parts),
    handle: (c, _input, session) => c.json(sessionUser(session)),
  });
}
