// The pages between the password and the session, and signing in with only a passkey. The token of the pending sign-in is in a
// cookie that only these paths receive.
import { AppError } from "../../domain/errors.ts";
import type { ClientInfo } from "../../domain/access/actor.ts";
import { withReturnTo } from "../../domain/people/return_to.ts";
import {
  beginPasskeySignIn,
  findPendingSignIn,
  type PasskeyAnswer,
  type SignedIn,
  signInWithCode,
  signInWithPasskey,
} from "../../services/people/mod.ts";
import { secondStepPage } from "../../views/people/second_step.tsx";
import { signInPage } from "../../views/people/sign_in.tsx";
import { check } from "../schemas/check.ts";
import { passkeyAssertionSchema } from "./schemas/two_step.ts";
import { secondStepTokens, setSecondStepCookie } from "../cookies.ts";
import type { App, AppContext } from "../env.ts";
import { jsonError, toAppError } from "../errors.ts";
import { beginSession } from "../session.ts";
import { type FormState, mountForm, mountTarget } from "../portal/form.ts";
import { gateFrame, openRoutes, type PortalParts, redirect, sendPage } from "../portal/page.ts";
import { noteOtherMethod, providerOffer } from "./provider_offer.ts";
import { continueTo, returnToOf } from "./sign_in_pages.ts";

const path = "/sign-in/second-step";

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
    const { email, hasPasskeys } = found;
    const isRecovery = recovery === "1";
    const view = secondStepPage({ frame, email, hasPasskeys, isRecovery, returnTo, form });
    return await sendPage(c, view, form.status);
  }

  async function startOver(c: AppContext, _actor: null, { input, ...form }: FormState): Promise<Response> {
    const returnTo = returnToOf(input?.["return_to"], config);
    const message = form.message ?? "Too many wrong codes. Sign in again.";
    return await sendPage(
      c,
      signInPage({
        frame,
        returnTo,
        providers: await providerOffer(c, parts),
        form: { message, fields: {} },
      }),
      form.status,
    );
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
    return check(passkeyAssertionSchema, JSON.parse(text ?? ""), "body");
  } catch (error) {
    const message = "Your browser's response couldn't be read. Try again, or sign in another way.";
    throw new AppError("invalid_credentials", message, { cause: error });
  }
}
