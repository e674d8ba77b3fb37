// The pages between the password and the session, and the way in with a passkey alone. The token of the waiting sign-in is in a
// cookie that only these addresses get.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { AppError } from "../../../domain/errors.ts";
import type { ClientInfo } from "../../../domain/actor.ts";
import { withReturnTo } from "../../../domain/sign_in/return_to.ts";
import type { SignedIn } from "../../../services/sign_in/sign_in.ts";
import type { PasskeyAnswer } from "../../../services/sign_in/webauthn.ts";
import type { Assets } from "../../../views/layout.tsx";
import { secondStepPage } from "../../../views/sign_in/second_step.tsx";
import { signInPage } from "../../../views/sign_in/sign_in.tsx";
import { check } from "../../schemas/check.ts";
import { passkeyAnswerSchema } from "../../schemas/two_step.ts";
import { readFormBody } from "../../body.ts";
import { clearSecondStepCookie, secondStepTokens } from "../../cookies.ts";
import type { App, AppContext, AppParts } from "../../env.ts";
import { jsonError, toAppError } from "../../errors.ts";
import { beginSession } from "../../session.ts";
import { formError } from "../errors.ts";
import { gateFrame, redirect, sendPage } from "../page.ts";
import { goOn, wayBack } from "./sign_in.ts";

const path = "/sign-in/second-step";

/** Why a form of these pages was refused. */
interface Refusal {
  readonly error: string | null;
  readonly fieldErrors: Record<string, string>;
  readonly status: ContentfulStatusCode;
}

/** What of a page is not in its cookie. */
interface Shown {
  readonly code?: string;
  readonly isRecovery?: boolean;
  readonly target: string | null;
  readonly refusal?: Refusal;
}

/** Mounts `/sign-in/second-step` and `/sign-in/passkey`. */
export function portalSecondStepRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { config, services: { secondStep } } = parts;
  const frame = gateFrame(parts, assets);
  const waiting = (c: AppContext) => secondStep.findWaiting(secondStepTokens(c.get("headers")["cookie"]));

  const returnTo = (text: string | undefined) => wayBack(text, config);

  /** The page, or where there is nothing to take a second step of, the one that asks for the password. */
  async function show(c: AppContext, shown: Shown): Promise<Response> {
    const { code = "", isRecovery = false, target, refusal } = shown;
    const found = await waiting(c);
    if (found === null) {
      clearSecondStepCookie(c, config);
      return refusal === undefined ? redirect(c, withReturnTo("/sign-in", target)) : startOver(c, shown);
    }
    const view = secondStepPage({
      frame,
      email: found.email,
      hasPasskeys: found.hasPasskeys,
      isRecovery,
      values: { code, returnTo: target },
      error: refusal?.error ?? null,
      fieldErrors: refusal?.fieldErrors ?? {},
    });
    return await sendPage(c, view, refusal?.status);
  }

  function startOver(c: AppContext, { target, refusal }: Shown): Response | Promise<Response> {
    const error = refusal?.error ?? "There were too many wrong codes. Enter your password again.";
    const values = { email: "", returnTo: target };
    return sendPage(c, signInPage({ frame, values, error, fieldErrors: {}, notice: null }), refusal?.status);
  }

  async function signedIn(
    c: AppContext,
    signIn: (client: ClientInfo) => Promise<SignedIn>,
    target: string | null,
  ): Promise<Response> {
    await beginSession(c, parts, signIn);
    clearSecondStepCookie(c, config);
    return goOn(c, target);
  }

  app.get(path, (c) =>
    show(c, {
      isRecovery: c.req.query("recovery") === "1",
      target: returnTo(c.req.query("return_to")),
    }));

  app.post(path, async (c) => {
    const { code = "", recovery, return_to } = await readFormBody(c);
    const target = returnTo(return_to);
    const found = await waiting(c);
    try {
      // Without a token the answer is that of one that is over.
      const input = { token: found?.token ?? "", code: code.slice(0, 100) };
      return await signedIn(c, (client) => secondStep.finishWithCode(input, client), target);
    } catch (error) {
      const refusal = refusalOf(c, error);
      return await show(c, { code, isRecovery: recovery === "1", target, refusal });
    }
  });

  app.post(`${path}/passkey/options`, async (c) => {
    try {
      const found = await waiting(c);
      const options = await secondStep.beginPasskeySignIn(found?.token ?? "", c.get("client"));
      return c.json({ options });
    } catch (error) {
      return jsonError(c, toAppError(error, c, parts));
    }
  });

  app.post(`${path}/passkey`, async (c) => {
    const form = await readFormBody(c);
    const target = returnTo(form["return_to"]);
    const found = await waiting(c);
    try {
      const input = { answer: passkeyAnswer(form["response"]), token: found?.token ?? "" };
      return await signedIn(c, (client) => secondStep.finishWithPasskey(input, client), target);
    } catch (error) {
      return await show(c, { target, refusal: refusalOf(c, error) });
    }
  });

  app.post("/sign-in/passkey", async (c) => {
    const form = await readFormBody(c);
    const target = returnTo(form["return_to"]);
    try {
      const answer = passkeyAnswer(form["response"]);
      return await signedIn(c, (client) => secondStep.finishWithPasskey({ answer }, client), target);
    } catch (error) {
      return await startOver(c, { target, refusal: refusalOf(c, error) });
    }
  });

  // Whoever loads the page of a refused passkey anew gets the page with the form.
  app.get(`${path}/passkey`, (c) => redirect(c, path));
  app.get("/sign-in/passkey", (c) => redirect(c, "/sign-in"));
}

function refusalOf(c: AppContext, error: unknown): Refusal {
  const { message, fields, status } = formError(c, error);
  return { error: message, fieldErrors: fields, status };
}

/** @throws {AppError} `invalid_credentials` for what is no answer of a passkey. */
function passkeyAnswer(text: string | undefined): PasskeyAnswer {
  try {
    return check(passkeyAnswerSchema, JSON.parse(text ?? ""), "body") as PasskeyAnswer;
  } catch (error) {
    const message = "Your browser's answer could not be read. Try again, or another way.";
    throw new AppError("invalid_credentials", message, { cause: error });
  }
}
