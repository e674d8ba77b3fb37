// The pages of a person's own two-step sign-in.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { SessionActor } from "../../../domain/actor.ts";
import { AppError } from "../../../domain/errors.ts";
import { isoTime } from "../../../domain/time.ts";
import type { Session } from "../../../domain/sign_in/session.ts";
import { hasRecentAuthentication } from "../../../services/sign_in/recent_authentication.ts";
import {
  beginTotp,
  canTurnOffTwoStep,
  confirmTotp,
  findTotpSetup,
  findTurnOffLink,
  getTwoStepStatus,
  replaceRecoveryCodes,
  requestTurnOffLink,
  turnOffTwoStep,
  turnOffTwoStepByLink,
} from "../../../services/sign_in/two_step.ts";
import {
  newRecoveryCodesPage,
  turnOffByLinkPage,
  type TurnOffByLinkState,
  turnOffLinkPage,
  turnOffLinkPath,
  turnOffTwoStepPage,
  twoStepPage,
  twoStepPath as path,
  twoStepSetUpPage,
} from "../../../views/sign_in/two_step.tsx";
import { readFormBody } from "../../body.ts";
import type { App, AppContext } from "../../env.ts";
import { sessionActor } from "../../session.ts";
import { formError } from "../errors.ts";
import { mountLinkPage } from "../link_page.ts";
import {
  askToReauthenticate,
  gateFrame,
  portalFrame,
  type PortalHandler,
  type PortalParts,
  reauthenticationIfNeeded,
  redirect,
  sendPage,
  signedIn,
  signedInRoutes,
} from "../page.ts";
import { atField, flashOf, type FormState, mountForm, newForm } from "../form.ts";

const flashes = {
  "link-sent": "Check your email: the link in it turns off two-step sign-in. Earlier links no longer work.",
  "off": "Two-step sign-in is off. Your password alone signs you in.",
};

interface PageState {
  readonly recoveryCodes?: readonly string[];
  readonly flash?: string;
  readonly error?: string;
  readonly status?: ContentfulStatusCode;
}

export function portalTwoStepRoutes(app: App, parts: PortalParts): void {
  const { get } = signedInRoutes(app, parts);
  const pages = twoStepPages(parts);
  get(path, (c, session) => pages.show(c, session));
  setUpRoutes(app, parts, pages);
  recoveryCodeRoutes(app, parts, pages);
  turnOffRoutes(app, parts, pages);
  turnOffLinkRoutes(app, parts);
}

type Pages = ReturnType<typeof twoStepPages>;

function twoStepPages(parts: PortalParts) {
  const { services } = parts;
  const frameOf = (session: SessionActor) => portalFrame(parts, session);

  async function show(c: AppContext, session: SessionActor, state: PageState = {}): Promise<Response> {
    const { recoveryCodes = null } = state;
    const { totp, recoveryCodesLeft } = await getTwoStepStatus(services, session).catch((error) => {
      if (recoveryCodes === null) throw error;
      // The codes can't be read again, so they are shown in any case.
      const confirmedAt = isoTime(services.clock());
      return { totp: { confirmedAt, lockedAt: null }, recoveryCodesLeft: recoveryCodes.length };
    });
    const view = twoStepPage({
      frame: frameOf(session),
      confirmedAt: totp.confirmedAt,
      lockedAt: totp.lockedAt,
      recoveryCodesLeft,
      recoveryCodes,
      flash: state.flash ?? flashOf(c, flashes),
      error: state.error ?? null,
    });
    return await sendPage(c, view, state.status);
  }

  return {
    show,
    frameOf,

    /** Shows new codes. The address stays that of the page, so that reloading it doesn't create more. */
    async showCodes(c: AppContext, session: SessionActor, state: PageState): Promise<Response> {
      c.header("HX-Push-Url", path);
      return await show(c, session, { ...state, status: 201 });
    },

    async confirmation(session: SessionActor) {
      const { recoveryCodesLeft } = await getTwoStepStatus(services, session);
      return { frame: frameOf(session), recoveryCodesLeft };
    },

    /**
     * Returns a form's handler, which asks for the password if the authentication isn't recent enough, and shows state errors.
     */
    form(page: string, handler: PortalHandler) {
      return signedIn(parts, async (c, session) => {
        try {
          return await handler(c, session);
        } catch (error) {
          if (!(error instanceof AppError)) throw error;
          if (error.code === "proof_required") {
            // A recent authentication can be rejected here: see turnOffTwoStep().
            return askToReauthenticate(c, page, {
              again: hasRecentAuthentication(session, services.clock()),
            });
          }
          if (error.code !== "two_step_state") throw error;
          return await show(c, session, { error: error.message, status: 409 });
        }
      });
    },

    /** Returns the handler of a page that requires a recent authentication, and that two-step sign-in is on or off. */
    page({ isOn }: { isOn: boolean }, handler: PortalHandler) {
      return signedIn(parts, async (c, session) => {
        const reauthentication = reauthenticationIfNeeded(c, parts, session);
        if (reauthentication !== null) return reauthentication;
        const { totp } = await getTwoStepStatus(services, session);
        return totp.enabled === isOn ? await handler(c, session) : redirect(c, path);
      });
    },
  };
}

function setUpRoutes(app: App, { services }: PortalParts, { form, frameOf, page, showCodes }: Pages): void {
  const setUpPath = `${path}/set-up`;

  async function showSetUp(
    c: AppContext,
    session: SessionActor,
    form: FormState = newForm,
  ): Promise<Response> {
    const found = await findTotpSetup(services, session);
    if (found === null) return redirect(c, path);
    const view = twoStepSetUpPage({ frame: frameOf(session), ...found, form });
    return await sendPage(c, view, form.status);
  }

  app.post(
    `${path}/begin`,
    form(path, async (c, session) => {
      await beginTotp(services, session);
      return redirect(c, setUpPath);
    }),
  );
  app.get(`${path}/begin`, (c) => redirect(c, path));

  app.get(setUpPath, page({ isOn: false }, (c, session) => showSetUp(c, session)));
  app.post(
    setUpPath,
    form(setUpPath, async (c, session) => {
      const input = await readFormBody(c);
      try {
        const recoveryCodes = await confirmTotp(services, session, input["code"] ?? "");
        const flash = "Two-step sign-in is on. Your next sign-in will ask for a code.";
        return await showCodes(c, session, { recoveryCodes, flash });
      } catch (error) {
        if (!(error instanceof AppError && error.code === "invalid_code")) throw error;
        return await showSetUp(c, session, { ...formError(c, error), input });
      }
    }),
  );
}

function recoveryCodeRoutes(app: App, { services }: PortalParts, pages: Pages): void {
  const codesPath = `${path}/recovery-codes`;
  app.get(
    codesPath,
    pages.page(
      { isOn: true },
      async (c, session) => await sendPage(c, newRecoveryCodesPage(await pages.confirmation(session))),
    ),
  );
  app.post(
    codesPath,
    pages.form(codesPath, async (c, session) => {
      const recoveryCodes = await replaceRecoveryCodes(services, session);
      return await pages.showCodes(c, session, {
        recoveryCodes,
        flash: "Your old recovery codes no longer work.",
      });
    }),
  );
}

function turnOffRoutes(app: App, { services }: PortalParts, pages: Pages): void {
  const turnOffPath = `${path}/turn-off`;
  app.get(
    turnOffPath,
    pages.page(
      { isOn: true },
      async (c, session) =>
        await canTurnOffTwoStep(services, session)
          ? await sendPage(c, turnOffTwoStepPage(await pages.confirmation(session)))
          : askToReauthenticate(c, turnOffPath, { again: true }),
    ),
  );
  app.post(
    turnOffPath,
    pages.form(turnOffPath, async (c, session) => {
      await turnOffTwoStep(services, session);
      return redirect(c, `${path}?done=off`);
    }),
  );
}

/** The link that turns off two-step sign-in, for people who lost their device and their recovery codes. */
function turnOffLinkRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  const frame = gateFrame(parts);

  mountForm(signedInRoutes(app, parts), {
    path: turnOffLinkPath,
    async show(c, session, state) {
      const { totp } = await getTwoStepStatus(services, session);
      if (!totp.enabled && state.input === undefined) return redirect(c, path);
      const form = atField(state, "invalid_credentials", "password");
      return await sendPage(c, turnOffLinkPage({ frame: portalFrame(parts, session), form }), form.status);
    },
    async submit(c, session, { password = "" }) {
      await requestTurnOffLink(services, session, password);
      return redirect(c, `${path}?done=link-sent`);
    },
  });

  async function stateOf(token: string, session: Session | null): Promise<TurnOffByLinkState> {
    const link = await findTurnOffLink(services, token);
    if (link === null) return { state: "dead" };
    return session?.user.id === link.userId
      ? { state: "ready", token, email: session.user.email }
      : { state: "other" };
  }

  mountLinkPage<TurnOffByLinkState>(app, parts, {
    path: "/turn-off-two-step",
    view: (state) => turnOffByLinkPage({ frame, ...state }),
    stateOf,
    async use(c, token, session) {
      const state = await stateOf(token, session);
      if (session === null || state.state !== "ready") return state;
      await turnOffTwoStepByLink(services, sessionActor(c, session), token);
      return redirect(c, `${path}?done=off`);
    },
    stateAfter: ({ code }) => {
      const isExplained = ["invalid_token", "wrong_account", "unauthenticated"].includes(code);
      return Promise.resolve(isExplained ? { state: "dead" } : null);
    },
  });
}
