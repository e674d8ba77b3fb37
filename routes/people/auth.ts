// The API of signing up, in and out.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { isoTime } from "../../domain/time.ts";
import { sessionUser } from "../../domain/access/session.ts";
import { signIn, signUp } from "../../services/people/mod.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { beginSession } from "../session.ts";
import { endSessions } from "../sign_out.ts";
import { mount, publicRoutes } from "../api/endpoint.ts";
import * as schemas from "./schemas/sign_in.ts";

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
