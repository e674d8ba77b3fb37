// Signing in with more than a password: the API and pages of the second step, and of passkeys. In the portal, the token of the pending
// sign-in is in a cookie that only these paths receive.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { ClientInfo } from "../../domain/access/actor.ts";
import { sessionUser } from "../../domain/access/session.ts";
import { AppError } from "../../domain/errors.ts";
import { totpWrongCodesMax } from "../../domain/limits.ts";
import { withReturnTo } from "../../domain/people/return_to.ts";
import {
  beginPasskeySignIn,
  findPendingSignIn,
  type PasskeyAnswer,
  type SignedIn,
  signInWithCode,
  signInWithPasskey,
} from "../../services/people/mod.ts";
import { SubmitButton } from "../../views/components/button.tsx";
import { TextField } from "../../views/components/field.tsx";
import { returnField, type ShownForm, typed } from "../../views/components/form.tsx";
import { GateCard } from "../../views/components/gate_card.tsx";
import type { GateFrame } from "../../views/layout.tsx";
import { PasskeyForm, PasskeysMissing } from "../../views/people/passkey_form.tsx";
import { publicRoutes } from "../api/endpoint.ts";
import { secondStepTokens, setSecondStepCookie } from "../cookies.ts";
import type { App, AppContext, AppEnv, AppParts } from "../env.ts";
import { jsonError, toAppError } from "../errors.ts";
import { type FormState, mountForm, mountTarget } from "../portal/form.ts";
import { gateFrame, openRoutes, type PortalParts, redirect, sendPage } from "../portal/page.ts";
import { check } from "../schemas/check.ts";
import { beginSession } from "../session.ts";
import { sessionUserSchema } from "./schemas/sign_in.ts";
import * as schemas from "./schemas/two_step.ts";
import { continueTo, noteOtherMethod, returnToOf, showSignIn } from "./sign_in.tsx";

const apiPath = "/api/auth/sign-in";

export function secondStepRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = publicRoutes(app, { tag: "Sign-in" });
  const signedIn = { 200: { description: "Signed in. The cookie is set.", schema: sessionUserSchema } };

  route({
    route: `POST ${apiPath}/second-step`,
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
    route: `POST ${apiPath}/passkey/options`,
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
    route: `POST ${apiPath}/passkey`,
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

const path = "/sign-in/second-step";
/** The length of a field for codes; recovery codes have hyphens. */
export const codeCharactersMax = 40;

export function portalSecondStepRoutes(app: App, parts: PortalParts): void {
  const { config, services } = parts;
  const frame = gateFrame(parts);
  const routes = openRoutes(app);
  const findPending = (c: AppContext) =>
    findPendingSignIn(services, secondStepTokens(c.get("headers")["cookie"]));
  // Without a token, the result is that of an expired sign-in.
  const tokenOf = async (c: AppContext) => (await findPending(c))?.token ?? "";

  /** Shows the page of the second step or, if no sign-in is pending, asks for the password. */
  async function show(c: AppContext, _actor: null, form: FormState): Promise<Response> {
    const { return_to, recovery } = form.input ?? c.req.query();
    const returnTo = returnToOf(return_to, config);
    const found = await findPending(c);
    if (found === null) {
      setSecondStepCookie(c, config, null);
      return form.input === undefined
        ? redirect(c, withReturnTo("/sign-in", returnTo))
        : await startOver(c, null, form);
    }
    const page = secondStepPage(frame, { ...form, ...found, isRecovery: recovery === "1", returnTo });
    return await sendPage(c, page, form.status);
  }

  async function startOver(c: AppContext, _actor: null, { input, status, ...form }: FormState) {
    const returnTo = returnToOf(input?.["return_to"], config);
    const message = form.message ?? "Too many wrong codes. Sign in again.";
    return await showSignIn(c, parts, { returnTo, message, fields: {}, status });
  }

  async function complete(
    c: AppContext,
    signIn: (client: ClientInfo) => Promise<SignedIn>,
    returnTo: string | undefined,
  ): Promise<Response> {
    await beginSession(c, parts, signIn);
    setSecondStepCookie(c, config, null);
    return continueTo(c, returnToOf(returnTo, config));
  }

  mountForm(routes, {
    path,
    show,
    async submit(c, _actor, { code = "", return_to }) {
      const input = { token: await tokenOf(c), code: code.slice(0, 100) };
      return await complete(c, (client) => signInWithCode(services, client, input), return_to);
    },
  });

  app.post(`${path}/passkey/options`, async (c) => {
    try {
      return c.json({ options: await beginPasskeySignIn(services, c.get("client"), await tokenOf(c)) });
    } catch (error) {
      return jsonError(c, toAppError(error, c, parts));
    }
  });

  mountTarget(routes, {
    path: `${path}/passkey`,
    show,
    async submit(c, _actor, { response, return_to }) {
      const input = { token: await tokenOf(c), answer: parsePasskeyResponse(response) };
      return await complete(c, (client) => signInWithPasskey(services, client, input), return_to);
    },
  });

  mountTarget(routes, {
    path: "/sign-in/passkey",
    show: startOver,
    async submit(c, _actor, { response, return_to }) {
      const input = { answer: parsePasskeyResponse(response) };
      return await complete(c, async (client) => {
        const signedIn = await signInWithPasskey(services, client, input);
        noteOtherMethod(c, config, "passkey");
        return signedIn;
      }, return_to);
    },
  });

  // Reloading the page of a rejected passkey shows the form again.
  app.get(`${path}/passkey`, (c) => redirect(c, path));
  app.get("/sign-in/passkey", (c) => redirect(c, "/sign-in"));
}

/** Parses a passkey's response in a form. @throws {AppError} `invalid_credentials` if a passkey can't have sent this. */
export function parsePasskeyResponse(text: string | undefined): PasskeyAnswer {
  try {
    return check(schemas.passkeyAssertionSchema, JSON.parse(text ?? ""), "body");
  } catch (error) {
    const message = "Your browser's response couldn't be read. Try again, or sign in another way.";
    throw new AppError("invalid_credentials", message, { cause: error });
  }
}

/** @param form `returnTo`: the next page, checked by the caller. */
function secondStepPage(
  frame: GateFrame,
  { email, hasPasskeys, isRecovery, returnTo, ...form }:
    & ShownForm
    & Readonly<Record<"hasPasskeys" | "isRecovery", boolean>>
    & { email: string; returnTo: string | null },
) {
  const passkey = hasPasskeys && (
    <div>
      <PasskeyForm
        assets={frame.assets}
        ceremony="get"
        options={`${path}/passkey/options`}
        action={`${path}/passkey`}
        returnTo={returnTo}
        submit="Use a passkey"
      />
      <PasskeysMissing />
    </div>
  );
  return (
    <GateCard
      frame={frame}
      title="Two-step sign-in"
      text={
        <>
          Signing in as <bdi>{email}</bdi>.
        </>
      }
      action={path}
      hidden={{ ...returnField(returnTo), ...(isRecovery ? { recovery: "1" } : {}) }}
      error={form.message}
      first={passkey}
    >
      <TextField
        label={isRecovery ? "Recovery code" : "Code"}
        name="code"
        {...typed(form, "code")}
        hint={isRecovery
          ? "One of the codes you saved, such as 7KQ2-MXFB-0D9T-HE4W. Each works once."
          : "The six digits in your authenticator app."}
        autocomplete={isRecovery ? "off" : "one-time-code"}
        inputmode={isRecovery ? "text" : "numeric"}
        required
        maxlength={codeCharactersMax}
        autofocus
      />
      <SubmitButton>Sign in</SubmitButton>
      <p class="small muted">
        <a href={href(path, { ...(isRecovery ? {} : { recovery: "1" }), ...returnField(returnTo) })}>
          {isRecovery ? "Use a code from the app" : "Use a recovery code"}
        </a>
        {" · "}
        <a href={href("/sign-in", returnField(returnTo))}>Start over</a>
      </p>
    </GateCard>
  );
}

function href(base: string, query: Record<string, string>): string {
  const text = new URLSearchParams(query).toString();
  return text === "" ? base : `${base}?${text}`;
}
