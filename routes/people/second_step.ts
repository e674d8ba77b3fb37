// The API of signing in with more than a password: the second step, and passkeys.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { totpWrongCodesMax } from "../../domain/limits.ts";
import type { ClientInfo } from "../../domain/access/actor.ts";
import { sessionUser } from "../../domain/access/session.ts";
import { beginPasskeySignIn, signInWithCode, signInWithPasskey } from "../../services/people/mod.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { beginSession } from "../session.ts";
import { publicRoutes } from "../api/endpoint.ts";
import { sessionUserSchema } from "./schemas/sign_in.ts";
import * as schemas from "./schemas/two_step.ts";

const path = "/api/auth/sign-in";

export function secondStepRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = publicRoutes(app, { tag: "Sign-in" });
  const signedIn = { 200: { description: "Signed in. The cookie is set.", schema: sessionUserSchema } };

  route({
    route: `POST ${path}/second-step`,
    operationId: "finishSecondStep",
    summary: "Complete a sign-in with a code",
    description:
      "Each code works once. After 5 incorrect codes, or 10 minutes, the password is required again (`two_step_state`). " +
      `After ${totpWrongCodesMax} incorrect codes in a row, the app's codes are rejected until the password is changed or reset (\`codes_locked\`); ` +
      "recovery codes and passkeys still work.",
    body: schemas.secondStepSchema,
    responses: signedIn,
    errors: ["invalid_code", "codes_locked", "two_step_state", "rate_limited"],
  }, async (c, { body }) => {
    const { session } = await beginSession(c, parts, (client) => signInWithCode(services, client, body));
    return sessionUser(session);
  });

  route({
    route: `POST ${path}/passkey/options`,
    operationId: "beginPasskeySignIn",
    summary: "Start a sign-in with a passkey",
    description: "The passkey signs in alone or, with a `token`, completes that sign-in. " +
      "The challenge works once, for 5 minutes.",
    body: schemas.passkeyOptionsRequestSchema,
    bodyOptional: true,
    responses: { 200: { description: "The options for the browser.", schema: schemas.passkeyOptionsSchema } },
    errors: ["two_step_state", "rate_limited"],
  }, async (c, { body: { token } }) => ({
    options: await beginPasskeySignIn(services, c.get("client"), token),
  }));

  route({
    route: `POST ${path}/passkey`,
    operationId: "signInWithPasskey",
    summary: "Sign in with a passkey",
    description: "The passkey signs in alone or, with a `token`, completes that sign-in.",
    body: schemas.passkeySignInSchema,
    responses: signedIn,
    errors: ["sso_required", "invalid_credentials", "two_step_state", "rate_limited"],
  }, async (c, { body: { response, token } }) => {
    const signIn = (client: ClientInfo) => signInWithPasskey(services, client, { answer: response, token });
    const { session } = await beginSession(c, parts, signIn);
    return sessionUser(session);
  });
}
