// The pages of the link that turns off two-step sign-in, for people who lost their device and their recovery codes.
import type { SessionActor } from "../../../domain/actor.ts";
import type { Session } from "../../../domain/sign_in/session.ts";
import {
  findTurnOffLink,
  getTwoStepStatus,
  requestTurnOffLink,
  turnOffTwoStepByLink,
} from "../../../services/sign_in/two_step.ts";
import type { Assets } from "../../../views/layout.tsx";
import {
  turnOffByLinkPage,
  type TurnOffByLinkState,
  turnOffLinkPage,
  turnOffLinkPath,
  twoStepPath,
} from "../../../views/sign_in/two_step.tsx";
import { readFormBody } from "../../body.ts";
import type { App, AppParts } from "../../env.ts";
import { sessionActor } from "../../session.ts";
import { mountLinkPage } from "../link_page.ts";
import { gateFrame, portalFrame, redirect, sendPage, signedIn } from "../page.ts";
import { passwordFormError } from "./confirm_password.ts";

/** Mounts `/portal/account/two-step/turn-off-link` and `/turn-off-two-step`. */
export function portalTurnOffLinkRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { services } = parts;
  const frame = gateFrame(parts, assets);
  const frameOf = (session: SessionActor) => portalFrame(parts, assets, session);

  app.get(
    turnOffLinkPath,
    signedIn(parts, async (c, session) => {
      const { totp } = await getTwoStepStatus(services, session);
      if (!totp.enabled) return redirect(c, twoStepPath);
      return await sendPage(c, turnOffLinkPage({ frame: frameOf(session) }));
    }),
  );

  app.post(
    turnOffLinkPath,
    signedIn(parts, async (c, session) => {
      const { password = "" } = await readFormBody(c);
      try {
        await requestTurnOffLink(services, session, password);
        return redirect(c, `${twoStepPath}?done=link-sent`);
      } catch (error) {
        const rejected = passwordFormError(c, error);
        return await sendPage(c, turnOffLinkPage({ frame: frameOf(session), rejected }), rejected.status);
      }
    }),
  );

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
      return redirect(c, `${twoStepPath}?done=off`);
    },
    stateAfter: ({ code }) => {
      const isExplained = ["invalid_token", "wrong_account", "unauthenticated"].includes(code);
      return Promise.resolve(isExplained ? { state: "dead" } : null);
    },
  });
}
