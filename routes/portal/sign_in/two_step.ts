// The pages of one's own two-step sign-in.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { SessionActor } from "../../../domain/actor.ts";
import { AppError } from "../../../domain/errors.ts";
import type { Assets } from "../../../views/layout.tsx";
import { twoStepPage, twoStepPath as path } from "../../../views/sign_in/two_step.tsx";
import { newRecoveryCodesPage, turnOffTwoStepPage } from "../../../views/sign_in/two_step_acts.tsx";
import { twoStepSetUpPage } from "../../../views/sign_in/two_step_set_up.tsx";
import { readFormBody } from "../../body.ts";
import type { App, AppContext, AppParts } from "../../env.ts";
import { formError } from "../errors.ts";
import {
  askToReauthenticate,
  portalFrame,
  reauthenticationIfNeeded,
  redirect,
  sendPage,
  signedIn,
} from "../page.ts";

const flashes: ReadonlyMap<string, string> = new Map([
  ["link-sent", "Check your email: the link in it turns off two-step sign-in. Earlier links no longer work."],
  ["off", "Two-step sign-in is off. Your password alone signs you in."],
]);

/** What the page shows beyond how things stand. */
interface Shown {
  readonly recoveryCodes?: readonly string[];
  readonly flash?: string;
  readonly error?: string;
  readonly status?: ContentfulStatusCode;
}

/** Mounts `/portal/account/two-step`. */
export function portalTwoStepRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { twoStep } = parts.services;
  const frameOf = (session: SessionActor) => portalFrame(parts, assets, session);

  async function show(c: AppContext, session: SessionActor, shown: Shown = {}): Promise<Response> {
    const { totp, recoveryCodesLeft } = await twoStep.getTwoStep(session);
    const view = twoStepPage({
      frame: frameOf(session),
      confirmedAt: totp.confirmedAt,
      lockedAt: totp.lockedAt,
      recoveryCodesLeft,
      recoveryCodes: shown.recoveryCodes ?? null,
      flash: shown.flash ?? flashes.get(c.req.query("done") ?? "") ?? null,
      error: shown.error ?? null,
    });
    return await sendPage(c, view, shown.status);
  }

  /** Shows codes on the page itself: going back to it, or loading it again, must not ask to make more. */
  async function showCodes(
    c: AppContext,
    session: SessionActor,
    shown: Shown & { recoveryCodes: readonly string[] },
  ): Promise<Response> {
    c.header("HX-Push-Url", path);
    return await show(c, session, { ...shown, status: 201 });
  }

  /** A form's handler: asks for the password where the proof is too old, and says what does not go any more. */
  function acts(page: string, act: (c: AppContext, session: SessionActor) => Promise<Response>) {
    return signedIn(parts, async (c, session) => {
      try {
        return await act(c, session);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        if (error.code === "proof_required") {
          // A proof of a short time ago is not enough here.
          return askToReauthenticate(c, page, {
            again: reauthenticationIfNeeded(c, parts, session) === null,
          });
        }
        if (error.code !== "two_step_state") throw error;
        return await show(c, session, { error: error.message, status: 409 });
      }
    });
  }

  /** A page that asks, for people who gave the password a short time ago. */
  function asks(isOn: boolean, page: (c: AppContext, session: SessionActor) => Promise<Response>) {
    return signedIn(parts, async (c, session) => {
      const proof = reauthenticationIfNeeded(c, parts, session);
      if (proof !== null) return proof;
      const { totp } = await twoStep.getTwoStep(session);
      return totp.enabled === isOn ? await page(c, session) : redirect(c, path);
    });
  }

  app.get(path, signedIn(parts, (c, session) => show(c, session)));

  app.post(
    `${path}/begin`,
    acts(path, async (c, session) => {
      await twoStep.beginTotp(session);
      return redirect(c, `${path}/set-up`);
    }),
  );
  app.get(`${path}/begin`, (c) => redirect(c, path));

  async function setUp(
    c: AppContext,
    session: SessionActor,
    typed: { value: string; error?: unknown } = { value: "" },
  ): Promise<Response> {
    const refusal = typed.error === undefined ? null : formError(c, typed.error);
    const found = await twoStep.findTotpSetUp(session);
    if (found === null) return redirect(c, path);
    const view = twoStepSetUpPage({
      frame: frameOf(session),
      ...found,
      value: typed.value,
      fieldErrors: refusal?.fields ?? {},
      error: refusal?.message ?? null,
    });
    return await sendPage(c, view, refusal?.status);
  }

  app.get(`${path}/set-up`, asks(false, (c, session) => setUp(c, session)));

  app.post(
    `${path}/set-up`,
    acts(`${path}/set-up`, async (c, session) => {
      const { code: value = "" } = await readFormBody(c);
      try {
        const recoveryCodes = await twoStep.confirmTotp(session, value);
        const flash = "Two-step sign-in is on. You are asked for a code from your next sign-in on.";
        return await showCodes(c, session, { recoveryCodes, flash });
      } catch (error) {
        if (!(error instanceof AppError && error.code === "invalid_code")) throw error;
        return await setUp(c, session, { value, error });
      }
    }),
  );

  const asked = async (session: SessionActor) => ({
    frame: frameOf(session),
    recoveryCodesLeft: (await twoStep.getTwoStep(session)).recoveryCodesLeft,
  });

  app.get(
    `${path}/recovery-codes`,
    asks(true, async (c, session) => await sendPage(c, newRecoveryCodesPage(await asked(session)))),
  );
  app.post(
    `${path}/recovery-codes`,
    acts(`${path}/recovery-codes`, async (c, session) => {
      const recoveryCodes = await twoStep.replaceRecoveryCodes(session);
      return await showCodes(c, session, { recoveryCodes, flash: "The old recovery codes have ended." });
    }),
  );

  app.get(
    `${path}/turn-off`,
    asks(true, async (c, session) => {
      const isProved = await twoStep.hasProofToTurnOff(session);
      if (!isProved) return askToReauthenticate(c, `${path}/turn-off`, { again: true });
      return await sendPage(c, turnOffTwoStepPage(await asked(session)));
    }),
  );
  app.post(
    `${path}/turn-off`,
    acts(`${path}/turn-off`, async (c, session) => {
      await twoStep.turnOffTotp(session);
      return redirect(c, `${path}?done=off`);
    }),
  );
}
