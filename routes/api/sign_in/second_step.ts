// The API of signing in with more than a password: the second step, and passkeys.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { totpWrongCodesMax } from "../../../domain/limits.ts";
import { sessionUser } from "../../../domain/sign_in/session.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { beginSession } from "../../session.ts";
import { mount } from "../endpoint.ts";
import { sessionUserSchema } from "../../schemas/sign_in.ts";
import {
  passkeyOptionsRequestSchema,
  passkeyOptionsSchema,
  passkeySignInSchema,
  secondStepSchema,
} from "../../schemas/two_step.ts";

const path = "/api/auth/sign-in";

/** Mounts `/api/auth/sign-in/second-step` and `/api/auth/sign-in/passkey`. */
export function secondStepRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services: { secondStep } } = parts;
  const nobody = { authenticate: () => null } as const;
  const common = { method: "post", tag: "Sign-in", security: "none" } as const;
  const signedIn = { 200: { description: "Signed in; the cookie is set.", schema: sessionUserSchema } };

  mount(app, {
    ...common,
    path: `${path}/second-step`,
    operationId: "finishSecondStep",
    summary: "The second step of a sign-in: a code",
    description:
      "A code is good once. After five wrong ones, or ten minutes, the password has to be given again (`two_step_state`). " +
      `After ${totpWrongCodesMax} wrong codes of the app in a row it takes none until the password is new (\`codes_locked\`); ` +
      "recovery codes and passkeys still sign in.",
    body: secondStepSchema,
    responses: signedIn,
    errors: ["invalid_code", "codes_locked", "two_step_state", "rate_limited"],
  }, {
    ...nobody,
    async handle(c, { body }) {
      const { session } = await beginSession(c, parts, (client) => secondStep.finishWithCode(body, client));
      return c.json(sessionUser(session));
    },
  });

  mount(app, {
    ...common,
    path: `${path}/passkey/options`,
    operationId: "beginPasskeySignIn",
    summary: "Begin to sign in with a passkey",
    description:
      "Alone, or with a `token` as the second step of that sign-in. The challenge is good once, for five minutes.",
    body: passkeyOptionsRequestSchema,
    bodyOptional: true,
    responses: { 200: { description: "What the browser needs.", schema: passkeyOptionsSchema } },
    errors: ["two_step_state", "rate_limited"],
  }, {
    ...nobody,
    handle: async (c, { body }) =>
      c.json({ options: await secondStep.beginPasskeySignIn(body.token, c.get("client")) }),
  });

  mount(app, {
    ...common,
    path: `${path}/passkey`,
    operationId: "signInWithPasskey",
    summary: "Sign in with a passkey",
    description: "Alone, or with a `token` as the second step of that sign-in.",
    body: passkeySignInSchema,
    responses: signedIn,
    errors: ["invalid_credentials", "two_step_state", "rate_limited"],
  }, {
    ...nobody,
    async handle(c, { body: { response, token } }) {
      const input = { answer: response, token };
      const { session } = await beginSession(
        c,
        parts,
        (client) => secondStep.finishWithPasskey(input, client),
      );
      return c.json(sessionUser(session));
    },
  });
}
