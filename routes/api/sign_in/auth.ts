// The API of signing up, in and out, and of a user's own sessions.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { isoTime } from "../../../domain/time.ts";
import { sessionUser } from "../../../domain/access/session.ts";
import { sessionsPerUserMax } from "../../../domain/limits.ts";
import { endOtherSessions, endSession, listSessions, signIn, signUp } from "../../../services/people/mod.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { beginSession } from "../../session.ts";
import { endSessions } from "../../sign_out.ts";
import { mount, publicRoutes, sessionRoutes } from "../endpoint.ts";
import { sessionParamsSchema, sessionsSchema } from "../../schemas/people.ts";
import * as schemas from "../../schemas/sign_in.ts";

export function authRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  signInRoutes(app, parts);

  mount(app, {
    tag: "Sign-in",
    security: "maybeSession",
    route: "POST /api/auth/sign-out",
    operationId: "signOut",
    summary: "Sign out",
    description: "Ends the session and clears the cookie.",
    responses: { 204: { description: "Signed out, or no one was signed in." } },
  }, { authenticate: () => null, handle: (c) => endSessions(c, parts) });
}

function signInRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = publicRoutes(app, { tag: "Sign-in" });

  route({
    route: "POST /api/auth/sign-up",
    operationId: "signUp",
    summary: "Create an account and an organization, and sign in",
    body: schemas.signUpSchema,
    responses: { 201: { description: "Signed in. The cookie is set.", schema: schemas.sessionUserSchema } },
    errors: [
      "sso_required",
      "sign_up_closed",
      "organization_suspended",
      "invalid_token",
      "email_taken",
      "limit_reached",
      "rate_limited",
    ],
  }, async (c, { body }) => {
    const { session } = await beginSession(c, parts, (client) => signUp(services, client, body));
    return sessionUser(session);
  });

  route({
    route: "POST /api/auth/sign-in",
    operationId: "signIn",
    summary: "Sign in with email and password",
    body: schemas.signInSchema,
    description:
      "If two-step sign-in is on, `authenticated` is false, no cookie is set, and `secondStep` has the token for the second step.",
    responses: {
      200: {
        description: "Signed in, and the cookie is set; or a second step is required.",
        schema: schemas.signInResponseSchema,
      },
    },
    errors: ["sso_required", "invalid_credentials", "rate_limited"],
  }, async (c, { body }) => {
    const result = await beginSession(c, parts, (client) => signIn(services, client, body));
    if (!("secondStep" in result)) return sessionUser(result.session);
    const { token, expiresAt } = result.secondStep;
    return { ...sessionUser(null), secondStep: { token, expiresAt: isoTime(expiresAt) } };
  });
}

export function ownSessionRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = sessionRoutes(app, parts, { tag: "Sign-in" });
  const ended = { 204: { description: "Ended." } };

  route({
    route: "GET /api/auth/sessions",
    operationId: "listSessions",
    summary: "List your sessions",
    description:
      `There are at most ${sessionsPerUserMax}: one more sign-in ends the least recently used session.`,
    responses: { 200: { description: "Your sessions, last used first.", schema: sessionsSchema } },
  }, async (_c, _input, actor) => ({ sessions: await listSessions(services, actor) }));

  route({
    route: "DELETE /api/auth/sessions/{id}",
    operationId: "endSession",
    summary: "End one of your sessions",
    description: "Takes effect immediately. It may be the current session.",
    params: sessionParamsSchema,
    responses: ended,
  }, (_c, { params }, actor) => endSession(services, actor, params.id));

  route({
    route: "DELETE /api/auth/sessions",
    operationId: "endOtherSessions",
    summary: "End all of your other sessions",
    responses: ended,
  }, (_c, _input, actor) => endOtherSessions(services, actor));
}
