// The pages of a person's own two-step sign-in.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { SessionActor } from "../../../domain/access/actor.ts";
import { AppError } from "../../../domain/errors.ts";
import { isoTime } from "../../../domain/time.ts";
import { turnOffLinkPath } from "../../../domain/people/return_to.ts";
import type { Session } from "../../../domain/access/session.ts";
import {
  beginTotp,
  canTurnOffTwoStep,
  confirmTotp,
  findTotpSetup,
  findTurnOffLink,
  getSignInMethods,
  getTwoStepStatus,
  replaceRecoveryCodes,
  requestTurnOffLink,
  turnOffTwoStep,
  turnOffTwoStepByLink,
} from "../../../services/people/mod.ts";
import { hasRecentAuthentication } from "../../../services/access/mod.ts";
import {
  newRecoveryCodesPage,
  turnOffByLinkPage,
  type TurnOffByLinkState,
  turnOffLinkPage,
  turnOffTwoStepPage,
  twoStepPage,
  twoStepPath as path,
  twoStepSetUpPage,
} from "../../../views/people/two_step.tsx";
import { usableProviders } from "../../../domain/people/identity.ts";
import { readFormBody } from "../../body.ts";
import type { App, AppContext } from "../../env.ts";
import { sessionActor } from "../../session.ts";
import { formError } from "../errors.ts";
import { mountLinkPage } from "../link_page.ts";
import {
  askToReauthenticate,
  gateFrame,
  needsReauthentication,
  portalFrame,
  type PortalParts,
  type PortalRoutes,
  redirect,
  sendPage,
  sensitiveRoutes,
  signedInRoutes,
} from "../page.ts";
import { atField, flashOf, type FormState, mountForm, newForm } from "../form.ts";

const beginPath = `${path}/begin`;
const flashes = {
  "link-sent": "Check your email: the link in it turns off two-step sign-in. Earlier links no longer work.",
  "off": "Two-step sign-in is off. Signing in no longer requires a code.",
};

interface PageState {
  readonly recoveryCodes?: readonly string[];
  readonly flash?: string;
  readonly error?: string;
  readonly status?: ContentfulStatusCode;
}

export function portalTwoStepRoutes(app: App, parts: PortalParts): void {
  const pages = twoStepPages(app, parts);
  signedInRoutes(app, parts).get(path, (c, session) => pages.show(c, session));
  app.get(beginPath, (c) => redirect(c, path));
  setUpRoutes(parts, pages);
  changeRoutes(parts, pages);
  turnOffLinkRoutes(app, parts);
}

type Pages = ReturnType<typeof twoStepPages>;

function twoStepPages(app: App, parts: PortalParts) {
  const { services } = parts;

  async function show(c: AppContext, session: SessionActor, state: PageState = {}): Promise<Response> {
    const { recoveryCodes = null } = state;
    const { totp, recoveryCodesLeft } = await getTwoStepStatus(services, session).catch((error) => {
      if (recoveryCodes === null) throw error;
      // The codes can't be read again, so they are shown in any case.
      const confirmedAt = isoTime(services.clock());
      return { totp: { confirmedAt, lockedAt: null }, recoveryCodesLeft: recoveryCodes.length };
    });
    const view = twoStepPage({
      frame: portalFrame(parts, session),
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

    /** Shows new codes. The address stays that of the page, so that reloading it doesn't create more. */
    async showCodes(c: AppContext, session: SessionActor, state: PageState): Promise<Response> {
      c.header("HX-Push-Url", path);
      return await show(c, session, { ...state, status: 201 });
    },

    /** Mounts pages that require two-step sign-in to be on or off, and a recent authentication. Forms show state errors. */
    routes({ isOn }: { isOn: boolean }): PortalRoutes {
      const { post } = signedInRoutes(app, parts);
      const { get } = sensitiveRoutes(app, parts);
      return {
        get: (page, handler) =>
          get(page, async (c, session) => {
            const { totp } = await getTwoStepStatus(services, session);
            return totp.enabled === isOn ? await handler(c, session) : redirect(c, path);
          }),
        post: (page, handler) =>
          post(page, async (c, session) => {
            try {
              return await handler(c, session);
            } catch (error) {
              if (needsReauthentication(error)) {
                // A recent authentication can be rejected here: see turnOffTwoStep().
                const again = hasRecentAuthentication(session, services.clock());
                return askToReauthenticate(c, page === beginPath ? path : page, { again });
              }
              if (!(error instanceof AppError && error.code === "two_step_state")) throw error;
              return await show(c, session, { error: error.message, status: 409 });
            }
          }),
      };
    },
  };
}

function setUpRoutes(parts: PortalParts, { routes, showCodes }: Pages): void {
  const { services } = parts;
  const { get, post } = routes({ isOn: false });
  const setUpPath = `${path}/set-up`;

  async function showSetUp(c: AppContext, session: SessionActor, form: FormState): Promise<Response> {
    const found = await findTotpSetup(services, session);
    if (found === null) return redirect(c, path);
    const view = twoStepSetUpPage({ frame: portalFrame(parts, session), ...found, form });
    return await sendPage(c, view, form.status);
  }

  post(beginPath, async (c, session) => {
    await beginTotp(services, session);
    return redirect(c, setUpPath);
  });

  get(setUpPath, (c, session) => showSetUp(c, session, newForm));
  post(setUpPath, async (c, session) => {
    const input = await readFormBody(c);
    try {
      const recoveryCodes = await confirmTotp(services, session, input["code"] ?? "");
      const flash = "Two-step sign-in is on. Your next sign-in will ask for a code.";
      return await showCodes(c, session, { recoveryCodes, flash });
    } catch (error) {
      if (!(error instanceof AppError && error.code === "invalid_code")) throw error;
      return await showSetUp(c, session, { ...formError(c, error), input });
    }
  });
}

function changeRoutes(parts: PortalParts, { routes, showCodes }: Pages): void {
  const { services } = parts;
  const { get, post } = routes({ isOn: true });
  const confirmation = async (session: SessionActor) => {
    const { recoveryCodesLeft } = await getTwoStepStatus(services, session);
    return { frame: portalFrame(parts, session), recoveryCodesLeft };
  };

  const codesPath = `${path}/recovery-codes`;
  get(codesPath, async (c, session) => await sendPage(c, newRecoveryCodesPage(await confirmation(session))));
  post(codesPath, async (c, session) => {
    const recoveryCodes = await replaceRecoveryCodes(services, session);
    return await showCodes(c, session, { recoveryCodes, flash: "Your old recovery codes no longer work." });
  });

  const turnOffPath = `${path}/turn-off`;
  get(
    turnOffPath,
    async (c, session) =>
      await canTurnOffTwoStep(services, session)
        ? await sendPage(c, turnOffTwoStepPage(await confirmation(session)))
        : askToReauthenticate(c, turnOffPath, { again: true }),
  );
  post(turnOffPath, async (c, session) => {
    await turnOffTwoStep(services, session);
    return redirect(c, `${path}?done=off`);
  });
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
      const { hasPassword, identities } = await getSignInMethods(services, session);
      const providers = usableProviders(identities);
      const view = turnOffLinkPage({ frame: portalFrame(parts, session), hasPassword, providers, form });
      return await sendPage(c, view, form.status);
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
