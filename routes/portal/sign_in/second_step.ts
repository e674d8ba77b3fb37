// The pages between the password and the session, and signing in with only a passkey. The token of the pending sign-in is in a
// cookie that only these paths receive.
import { AppError } from "../../../domain/errors.ts";
import type { ClientInfo } from "../../../domain/actor.ts";
import { withReturnTo } from "../../../domain/sign_in/return_to.ts";
import { beginPasskeySignIn, signInWithPasskey } from "../../../services/sign_in/passkey_sign_in.ts";
import { findPendingSignIn, signInWithCode } from "../../../services/sign_in/second_step.ts";
import type { SignedIn } from "../../../services/sign_in/sign_in.ts";
import type { PasskeyAnswer } from "../../../services/sign_in/webauthn.ts";
import { secondStepPage } from "../../../views/sign_in/second_step.tsx";
import { signInPage } from "../../../views/sign_in/sign_in.tsx";
import { check } from "../../schemas/check.ts";
import { passkeyAssertionSchema } from "../../schemas/two_step.ts";
import { readFormBody } from "../../body.ts";
import { secondStepTokens, setSecondStepCookie } from "../../cookies.ts";
import type { App, AppContext } from "../../env.ts";
import { jsonError, toAppError } from "../../errors.ts";
import { beginSession } from "../../session.ts";
import { type FormError, formError } from "../errors.ts";
import { gateFrame, type PortalParts, redirect, sendPage } from "../page.ts";
import { continueTo, returnToOf } from "./sign_in.ts";

const path = "/sign-in/second-step";

/** What a page shows besides the pending sign-in. */
interface PageState {
  readonly code?: string;
  readonly isRecovery?: boolean;
  readonly target: string | null;
  readonly rejected?: FormError;
}

/** Mounts `/sign-in/second-step` and `/sign-in/passkey`. */
export function portalSecondStepRoutes(app: App, parts: PortalParts): void {
  const { config, services } = parts;
  const pages = secondStepPages(parts);

  /** Completes a sign-in, or shows its form again. */
  async function complete(
    c: AppContext,
    signIn: (client: ClientInfo) => Promise<SignedIn>,
    { state, show }: { state: PageState; show: (c: AppContext, state: PageState) => Promise<Response> },
  ): Promise<Response> {
    try {
      await beginSession(c, parts, signIn);
      setSecondStepCookie(c, config, null);
      return continueTo(c, state.target);
    } catch (error) {
      return await show(c, { ...state, rejected: formError(c, error) });
    }
  }

  const target = (text: string | undefined) => returnToOf(text, config);

  app.get(path, (c) =>
    pages.show(c, {
      isRecovery: c.req.query("recovery") === "1",
      target: target(c.req.query("return_to")),
    }));

  app.post(path, async (c) => {
    const { code = "", recovery, return_to } = await readFormBody(c);
    // Without a token, the result is that of an expired sign-in.
    const input = { token: await pages.token(c), code: code.slice(0, 100) };
    const state = { code, isRecovery: recovery === "1", target: target(return_to) };
    return await complete(c, (client) => signInWithCode(services, client, input), {
      state,
      show: pages.show,
    });
  });

  app.post(`${path}/passkey/options`, async (c) => {
    try {
      return c.json({ options: await beginPasskeySignIn(services, c.get("client"), await pages.token(c)) });
    } catch (error) {
      return jsonError(c, toAppError(error, c, parts));
    }
  });

  app.post(`${path}/passkey`, async (c) => {
    const { response, return_to } = await readFormBody(c);
    const token = await pages.token(c);
    const signIn = async (client: ClientInfo) =>
      await signInWithPasskey(services, client, { answer: passkeyAnswer(response), token });
    return await complete(c, signIn, { state: { target: target(return_to) }, show: pages.show });
  });

  app.post("/sign-in/passkey", async (c) => {
    const { response, return_to } = await readFormBody(c);
    const signIn = async (client: ClientInfo) =>
      await signInWithPasskey(services, client, { answer: passkeyAnswer(response) });
    return await complete(c, signIn, { state: { target: target(return_to) }, show: pages.startOver });
  });

  // Reloading the page of a rejected passkey shows the form again.
  app.get(`${path}/passkey`, (c) => redirect(c, path));
  app.get("/sign-in/passkey", (c) => redirect(c, "/sign-in"));
}

function secondStepPages(parts: PortalParts) {
  const { config, services } = parts;
  const frame = gateFrame(parts);
  const findPending = (c: AppContext) =>
    findPendingSignIn(services, secondStepTokens(c.get("headers")["cookie"]));

  /** Shows the page of the second step or, if no sign-in is pending, asks for the password. */
  async function show(c: AppContext, state: PageState): Promise<Response> {
    const { code = "", isRecovery = false, target: returnTo, rejected } = state;
    const found = await findPending(c);
    if (found === null) {
      setSecondStepCookie(c, config, null);
      return rejected === undefined
        ? redirect(c, withReturnTo("/sign-in", returnTo))
        : await startOver(c, state);
    }
    const { email, hasPasskeys } = found;
    const values = { code, returnTo };
    const view = secondStepPage({ frame, email, hasPasskeys, isRecovery, values, rejected });
    return await sendPage(c, view, rejected?.status);
  }

  async function startOver(c: AppContext, { target: returnTo, rejected }: PageState): Promise<Response> {
    const message = rejected?.message ?? "Too many wrong codes. Enter your password again.";
    const view = signInPage({ frame, values: { email: "", returnTo }, rejected: { message, fields: {} } });
    return await sendPage(c, view, rejected?.status);
  }

  return { show, startOver, token: async (c: AppContext) => (await findPending(c))?.token ?? "" };
}

/** @returns The answer of a passkey in a form. @throws {AppError} `invalid_credentials` if a passkey can't have sent this. */
export function passkeyAnswer(text: string | undefined): PasskeyAnswer {
  try {
    return check(passkeyAssertionSchema, JSON.parse(text ?? ""), "body");
  } catch (error) {
    const message = "Your browser's response couldn't be read. Try again, or sign in another way.";
    throw new AppError("invalid_credentials", message, { cause: error });
  }
}
