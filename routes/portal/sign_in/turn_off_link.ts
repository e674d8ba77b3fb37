// The pages of the link that turns two-step sign-in off, for people who lost the device and the recovery codes.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { SessionActor } from "../../../domain/actor.ts";
import { AppError, type ErrorCode } from "../../../domain/errors.ts";
import type { Session } from "../../../domain/sign_in/session.ts";
import {
  findTurnOffLink,
  requestTurnOffLink,
  turnOffTwoStepByLink,
} from "../../../services/sign_in/turn_off_link.ts";
import { getTwoStepStatus } from "../../../services/sign_in/two_step.ts";
import type { Assets } from "../../../views/layout.tsx";
import {
  turnOffByLinkPage,
  type TurnOffByLinkState,
  turnOffLinkPage,
} from "../../../views/sign_in/turn_off_link.tsx";
import { turnOffLinkPath, twoStepPath } from "../../../views/sign_in/two_step.tsx";
import { readFormBody } from "../../body.ts";
import type { App, AppContext, AppParts } from "../../env.ts";
import { findSession, sessionActor } from "../../session.ts";
import { gateFrame, portalFrame, redirect, sendPage, signedIn, withoutReferrer } from "../page.ts";
import { passwordFormError } from "./confirm_password.ts";

const path = "/turn-off-two-step";
/** What the page behind the link has words for. */
const shownHere: ReadonlySet<ErrorCode> = new Set(["invalid_token", "wrong_account", "unauthenticated"]);

/** Mounts `/portal/account/two-step/turn-off-link` and `/turn-off-two-step`. */
export function portalTurnOffLinkRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { services } = parts;
  const frame = gateFrame(parts, assets);
  const frameOf = (session: SessionActor) => portalFrame(parts, assets, session);

  app.get(
    turnOffLinkPath,
    signedIn(parts, async (c, session) => {
      const { totp } = await getTwoStepStatus(services, session);
      return totp.enabled
        ? await sendPage(c, turnOffLinkPage({ frame: frameOf(session) }))
        : redirect(c, twoStepPath);
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

  const show = (c: AppContext, state: TurnOffByLinkState, status?: ContentfulStatusCode) =>
    sendPage(c, turnOffByLinkPage({ frame, ...state }), status ?? (state.state === "dead" ? 404 : 200));

  app.get(
    path,
    withoutReferrer(async (c) =>
      await show(c, await stateOf(c.req.query("token") ?? "", await findSession(c, parts)))
    ),
  );

  app.post(
    path,
    withoutReferrer(async (c) => {
      const { token = "" } = await readFormBody(c);
      const session = await findSession(c, parts);
      const state = await stateOf(token, session);
      if (session === null || state.state !== "ready") return await show(c, state);
      try {
        await turnOffTwoStepByLink(services, sessionActor(c, session), token);
        return redirect(c, `${twoStepPath}?done=off`);
      } catch (error) {
        if (!(error instanceof AppError) || !shownHere.has(error.code)) throw error;
        return await show(c, { state: "dead" }, error.status as ContentfulStatusCode);
      }
    }),
  );
}
