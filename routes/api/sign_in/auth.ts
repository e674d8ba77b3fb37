// The sign-in API.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { isoTime } from "../../../domain/meter/usage_window.ts";
import { sessionUser } from "../../../domain/sign_in/session.ts";
import { signUp } from "../../../services/account/sign_up.ts";
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
  const nobody = { authenticate: () => null } as const;

  mount(app, {
    method: "post",
    path: "/api/auth/sign-up",
    tag: "Sign-in",
    operationId: "signUp",
    summary: "Make an account and an organization, and sign in",
    security: "none",
    body: signUpSchema,
    responses: { 201: { description: "Signed in; the cookie is set.", schema: sessionUserSchema } },
    errors: ["sign_up_closed", "invalid_token", "email_taken", "rate_limited"],
  }, {
    ...nobody,
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
    summary: "Sign in with an address and a password",
    security: "none",
    body: signInSchema,
    description:
      "With two-step sign-in on, `authenticated` is false, there is no cookie, and `secondStep` has what the second step takes.",
    responses: {
      200: {
        description: "Signed in, and the cookie is set; or half signed in.",
        schema: signInResponseSchema,
      },
    },
    errors: ["invalid_credentials", "rate_limited"],
  }, {
    ...nobody,
    async handle(c, { body }) {
      const result = await beginSession(c, parts, (client) => services.signIn.signIn(body, client));
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
    summary: "End the session on the server and clear the cookie",
    security: "maybeSession",
    responses: { 204: { description: "Signed out; also when nobody was signed in." } },
  }, {
    ...nobody,
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
    summary: "Who is signed in",
    description: "Nobody is an answer, not an error: `authenticated` is then false.",
    security: "maybeSession",
    responses: { 200: { description: "The session user.", schema: sessionUserSchema } },
  }, {
    authenticate: (c) => findSession(c, parts),
    handle: (c, _input, session) => c.json(sessionUser(session)),
  });
}
